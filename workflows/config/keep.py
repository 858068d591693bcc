"""A campaign in its working directory: the file as it was given, and copies of the files that it names."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.files import atomic_path, read_json, remove_partial, write_json, write_text
from workflows.config.campaign import CampaignConfig, kept_name

CAMPAIGN_FILE = "campaign.toml"
KEPT_FILES = "campaign-files"
_HOME = "home.json"
_SCRATCH = ".folder-"


def named_files(campaign: CampaignConfig) -> tuple[str, ...]:
    """Return the paths that the campaign file names, as it writes them."""
    design, space = campaign.design, campaign.space
    points = (design.path,) if design is not None and design.path else ()
    hessians = design.hessians if design is not None else ()
    return (*points, *hessians, *(space.files if space is not None else ()))


def save_campaign(campaign: CampaignConfig, workdir: Path, files: Iterable[str] | None = None) -> Path:
    """Keep a campaign in its working directory, so that a resume needs nothing from outside.

    The campaign's text goes to `campaign.toml` unchanged, what it names (tables of points, the simulator's own files)
    to `campaign-files/`.

    Args:
        campaign: A campaign that was read from a file.
        workdir: Its working directory.
        files: Files and folders that the simulator's options name, as they write them; None when they can name none.
            What is not copied, such as a program, is found from the folder in which the campaign was begun.

    Returns:
        The campaign file in the working directory; `load_campaign` reads it with the kept copies.

    Raises:
        ConfigError: If the campaign was not read from a file, or a file that it names is missing.
    """
    if campaign.text is None:
        raise ConfigError(f"The campaign '{campaign.name}' was not read from a file, so that there is none to keep.")
    kept = workdir / KEPT_FILES
    for name in (*named_files(campaign), *(files or ())):
        source = campaign.resolve(name)
        try:
            _read_a_little(source)
        except OSError as error:
            raise ConfigError(f"{source}, which {campaign.where} names, cannot be read: {error.strerror}.") from error
        _keep(source, kept / kept_name(name))
    if files is not None:
        write_json(kept / _HOME, {"home": str(campaign.home.absolute())})
    write_text(workdir / CAMPAIGN_FILE, campaign.text)
    return workdir / CAMPAIGN_FILE


def _read_a_little(source: Path) -> None:
    """Find out whether a file or folder can be read.

    Raises:
        OSError: If it cannot.
    """
    if source.is_dir():
        next(source.iterdir(), None)
    else:
        with source.open("rb") as opened:
            opened.read(1)


def _keep(source: Path, target: Path) -> None:
    """Copy a file with its permissions, or a folder."""
    if source.resolve() == target.resolve():
        return  # a resumed campaign names its own copies
    if not source.is_dir():
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
        target.chmod(source.stat().st_mode | 0o200)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=target.parent) as scratch:
        shutil.copytree(source, Path(scratch) / "new")
        if target.exists():
            target.rename(Path(scratch) / "old")
        (Path(scratch) / "new").rename(target)


def remove_half_kept(kept: Path) -> None:
    """Remove what a `save_campaign` that was killed has left half copied.

    Args:
        kept: The folder of kept files; it may be absent.
    """
    remove_partial(kept)
    for scratch in kept.glob(f"{_SCRATCH}*"):
        shutil.rmtree(scratch, ignore_errors=True)


def kept_home(kept: Path) -> Path | None:
    """Return the folder in which the campaign of a working directory was begun, or None when that is not known.

    Args:
        kept: The folder of kept files.

    Raises:
        IntegrityError: If what says so is damaged.
    """
    if not (kept / _HOME).is_file():
        return None
    record = read_json(kept / _HOME)
    if not isinstance(record, dict) or not isinstance(record.get("home"), str):
        raise IntegrityError(
            f"The file {kept / _HOME} is damaged. Run the campaign again from its own file with the same --workdir; "
            "what was simulated is kept."
        )
    return Path(record["home"])
