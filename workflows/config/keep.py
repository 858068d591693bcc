"""A campaign in its working directory: the file as it was given, and copies of the files that it names."""

from __future__ import annotations

from pathlib import Path

from surrogate.core.errors import ConfigError
from surrogate.core.files import write_bytes, write_text
from workflows.config.campaign import CampaignConfig, kept_name

CAMPAIGN_FILE = "campaign.toml"
KEPT_FILES = "campaign-files"


def named_files(campaign: CampaignConfig) -> tuple[str, ...]:
    """Return the paths that the campaign file names, as it writes them."""
    return (campaign.design.path,) if campaign.design is not None and campaign.design.path else ()


def save_campaign(campaign: CampaignConfig, workdir: Path) -> Path:
    """Keep a campaign in its working directory, so that a resume needs nothing from outside.

    The campaign's text goes to `campaign.toml` unchanged, what it names (tables of points) to `campaign-files/`.

    Args:
        campaign: A campaign that was read from a file.
        workdir: Its working directory.

    Returns:
        The campaign file in the working directory; `load_campaign` reads it with the kept copies.

    Raises:
        ConfigError: If the campaign was not read from a file, or a file that it names is missing.
    """
    if campaign.text is None:
        raise ConfigError(f"The campaign '{campaign.name}' was not read from a file, so that there is none to keep.")
    for name in named_files(campaign):
        source = campaign.resolve(name)
        try:
            content = source.read_bytes()
        except OSError as error:
            raise ConfigError(f"{source}, which {campaign.where} names, cannot be read: {error.strerror}.") from error
        write_bytes(workdir / KEPT_FILES / kept_name(name), content)
    write_text(workdir / CAMPAIGN_FILE, campaign.text)
    return workdir / CAMPAIGN_FILE
