"""The site that a working directory was used with last, also where its file lay beside the campaign."""

from __future__ import annotations

from pathlib import Path

from site_configs.load import find_site, is_found_everywhere
from surrogate.core.files import write_bytes
from workflows.config import CampaignConfig
from workflows.config.keep import KEPT_FILES
from workflows.workspace import Workspace


def site_name(name_or_path: str, campaign: CampaignConfig) -> str:
    """Return a name or path by which the site is found from anywhere on this machine.

    Args:
        name_or_path: The site as a person named it.
        campaign: The campaign; sites may lie beside its file.

    Raises:
        ConfigError: If there is no such site.
    """
    path = find_site(name_or_path, [campaign.file.parent] if campaign.file else [])
    return path.stem if is_found_everywhere(path) else str(path.absolute())


def keep_site(site: str, workspace: Workspace) -> None:
    """Keep a copy of a site file that is found by its path only.

    Args:
        site: What `site_name` returned.
        workspace: The working directory.
    """
    path, copy = Path(site), _copy(site, workspace)
    if path.is_absolute() and path != copy:
        write_bytes(copy, path.read_bytes())


def known_site(site: str, workspace: Workspace) -> str:
    """Return the site of the last time: its own file while that is there, else the copy that was kept.

    Args:
        site: What `site_name` returned then.
        workspace: The working directory.
    """
    lost = Path(site).is_absolute() and not Path(site).is_file()
    return str(_copy(site, workspace)) if lost and _copy(site, workspace).is_file() else site


def _copy(site: str, workspace: Workspace) -> Path:
    return workspace.root / KEPT_FILES / Path(site).name
