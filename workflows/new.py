"""`surrogate new`: a campaign that runs as it is, in a folder of its own, to be changed into one's own."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim_wrappers.external.linkage import check_launcher
from site_configs.mpiexec import detect_dialect
from surrogate.core.errors import ConfigError, nearest
from workflows.config import load_campaign
from workflows.fortran_mpi import INSTALL, find_fortran_mpi

CAMPAIGN = "campaign.toml"
DEFAULT = "python-mpi"
_SHELF = Path(__file__).parent / "templates"
_BUILD_S = 300
_SHOWN_LINES = 6


@dataclass(frozen=True, slots=True)
class NewCampaign:
    """A campaign that was made.

    Attributes:
        folder: Where.
        name: Its name, and of the working directory that it will have.
        example: Inputs of one point, as `surrogate predict` takes them.
    """

    folder: Path
    name: str
    example: tuple[str, ...]


def templates() -> dict[str, str]:
    """Return the templates, name → what it is in one line."""
    return {folder.name: _first_line(folder / CAMPAIGN) for folder in sorted(_SHELF.iterdir()) if folder.is_dir()}


def _first_line(campaign: Path) -> str:
    return campaign.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()


def new_campaign(
    folder: Path, template: str = DEFAULT, *, report: Callable[[str], None] = lambda _: None
) -> NewCampaign:
    """Make a campaign in a folder; its program is built when it needs to be.

    Args:
        folder: Where; it must not exist yet, or be empty.
        template: Which, one of `templates()`.
        report: Told what takes a while.

    Raises:
        ConfigError: If there is no such template, the folder is not empty, or the program cannot be built here; nothing
            is left behind then.
    """
    known = templates()
    if template not in known:
        raise ConfigError(f"There is no template '{template}'; there are {', '.join(known)}.{nearest(template, known)}")
    folder = folder.absolute()
    if not _is_free(folder):
        raise ConfigError(f"{folder} exists and is not empty. Name a folder that does not exist yet.")
    name = _name(folder, template)
    words = {"NAME": name}
    if template == "fortran-mpi":
        mpi = find_fortran_mpi()
        words |= {"MPIF90": str(mpi.compiler), "MPIEXEC": str(mpi.mpiexec)}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name[:40]}-", dir=folder.parent) as scratch:
            made = Path(scratch) / "new"
            _fill(_SHELF / template, made, words)
            if (made / "Makefile").is_file():
                report(f"Building the program with {words['MPIF90']} …")
                _build(made, words)
            made.rename(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}.") from error
    return NewCampaign(folder, name, tuple(_example(folder)))


def _is_free(folder: Path) -> bool:
    """Return whether a folder can be made or filled.

    Raises:
        ConfigError: If the system does not even look, as for a name that is too long.
    """
    try:
        return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}.") from error


def _name(folder: Path, template: str) -> str:
    """Return a name for the campaign: the folder's, unless a file of the template has it."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-._")[:50] or "campaign"
    taken = {path.stem for path in (_SHELF / template).iterdir()}
    return f"{name}-campaign" if name in taken else name


def _fill(source: Path, target: Path, words: Mapping[str, str]) -> None:
    """Copy a template; `@WORD@` is filled in every file."""
    target.mkdir()
    for path in sorted(source.iterdir()):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for word, value in words.items():
                text = text.replace(f"@{word}@", value)
            (target / path.name).write_text(text, encoding="utf-8")
            shutil.copymode(path, target / path.name)


def _build(folder: Path, words: Mapping[str, str]) -> None:
    """Build the program and look whether it belongs to the launcher that is to start it.

    Raises:
        ConfigError: If it cannot be built.
    """
    if shutil.which("make") is None:
        raise ConfigError(f"'make' was not found, which builds the program. {INSTALL}")
    try:
        done = subprocess.run(
            ["make", "--no-print-directory", "-C", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=_BUILD_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{words['MPIF90']} did not build the program within {_BUILD_S} s.") from error
    if done.returncode != 0:
        said = " / ".join(done.stdout.strip().splitlines()[-_SHOWN_LINES:])
        raise ConfigError(f"{words['MPIF90']} could not build the program; it said: {said}. {INSTALL}")
    check_launcher(folder / "heat", detect_dialect(words["MPIEXEC"]), words["MPIEXEC"])


def _example(folder: Path) -> Iterator[str]:
    """Yield the inputs of a point in the middle of the campaign's space."""
    space = load_campaign(folder / CAMPAIGN).input_space(None)
    for name, value in space.from_unit(np.full((1, space.dimensions), 0.5))[0].items():
        yield f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
