"""`surrogate doctor`: look at this environment and say in sentences what works, what is missing and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from workflows.doctor_check import Check
from workflows.mpi_library import installed_version

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Check", "checks", "render"]

DISTRIBUTION = "surrogate-hpc"
OWN_NAMES = ("surrogate", "workflows", "sim_wrappers", "site_configs")
BASE = ("numpy", "scipy", "h5py", "mpi4py", "parsl")
TRAIN = ("keras", "onnx", "onnxruntime", "scikit-learn")
GIB = 1024**3
FEW_CORES = 2
LITTLE_MEMORY = 4 * GIB
LITTLE_DISK = 5 * GIB
LITTLE_SHARED_MEMORY = 64 * 1024**2
SYMBOLS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}
# A second process asks for the lock that the first one holds.
SECOND_WRITER = """
import sys, h5py
try:
    h5py.File(sys.argv[1], "r+").close()
except OSError:
    sys.exit(3)
"""


def checks(folder: Path | None = None) -> list[Check]:
    """Run all checks.

    Args:
        folder: Where a campaign would work: its file locks and free space are looked at. The current folder by default.

    Returns:
        One or more findings of each check, in a fixed order. A check that breaks is a finding, too.
    """
    place = folder or Path.cwd()
    steps: tuple[tuple[str, Callable[[], Check | Iterable[Check]]], ...] = (
        ("Python", check_python),
        ("Import names", check_names),
        ("Packages", lambda: check_packages(installed_version)),
        ("MPI", lambda: _mpi(place)),
        ("Horovod", lambda: _horovod(place)),
        ("File locks", lambda: check_locks(place)),
        ("Cores and memory", check_machine),
        ("Shared memory", check_shared_memory),
        ("Disk", lambda: check_disk(place)),
    )
    found: list[Check] = []
    for name, step in steps:
        try:
            result = step()
        except Exception as error:  # noqa: BLE001 - a broken check must not hide the others
            result = Check(name, "fail", f"The check itself broke: {type(error).__name__}: {error}.")
        found.extend([result] if isinstance(result, Check) else result)
    return found


def render(found: Sequence[Check], console: Console | None = None) -> None:
    """Print the findings as a table, and a sentence of summary.

    Args:
        found: What `checks` returned.
        console: Where to print; stdout by default.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = console or Console()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in found:
        symbol, colour = SYMBOLS[check.state]
        table.add_row(Text(symbol, style=colour), Text(check.name), Text(check.sentence))
    console.print(table)
    failed = sum(check.state == "fail" for check in found)
    warned = sum(check.state == "warn" for check in found)
    if failed:
        console.print(f"\n{failed} of {len(found)} checks failed.")
    elif warned:
        console.print(f"\nEverything works; {warned} of {len(found)} checks have a remark.")
    else:
        console.print("\nEverything works.")


def _mpi(folder: Path) -> Iterable[Check]:
    """Start ranks. Imported late: another distribution's `site_configs` would break the import, and must be told."""
    from workflows.doctor_mpi import check_mpi

    return check_mpi(folder)


def _horovod(folder: Path) -> Check:
    """Let ranks reduce a number; imported late for the same reason."""
    from workflows.doctor_mpi import check_horovod

    return check_horovod(folder)


def check_python() -> Check:
    """Look at the interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.prefix == sys.base_prefix:
        return Check(
            "Python",
            "warn",
            f"{version} at {sys.executable}, outside a virtual environment: other packages may interfere.",
        )
    return Check("Python", "ok", f"{version} in {sys.prefix}.")


def check_names(owners: Mapping[str, Sequence[str]] | None = None) -> Check:
    """Look whether another distribution owns one of our import names.

    Args:
        owners: Import name → distributions that install it; asked of the environment by default.
    """
    owners = metadata.packages_distributions() if owners is None else owners
    strangers = {
        name: sorted(set(owners.get(name, ())) - {DISTRIBUTION})
        for name in OWN_NAMES
        if set(owners.get(name, ())) - {DISTRIBUTION}
    }
    if strangers:
        told = "; ".join(f"'{name}' is also installed by {', '.join(names)}" for name, names in strangers.items())
        return Check("Import names", "fail", f"{told}. Uninstall that, or give Surrogate an environment of its own.")
    home = Path(__file__).resolve().parents[1]
    for name in OWN_NAMES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return Check("Import names", "fail", f"'{name}' cannot be imported. Install {DISTRIBUTION} anew.")
        if not Path(spec.origin).resolve().is_relative_to(home):
            return Check(
                "Import names",
                "fail",
                f"'{name}' is imported from {spec.origin}, not from {home}. Look at PYTHONPATH and the current folder.",
            )
    return Check("Import names", "ok", f"{', '.join(OWN_NAMES)} are Surrogate's own, from {home}.")


def check_packages(version_of: Callable[[str], str | None]) -> list[Check]:
    """List versions; what the base needs must be there, what training needs may be.

    Args:
        version_of: Gives the version of an installed distribution, or None.
    """
    base = {name: version_of(name) for name in BASE}
    missing = [name for name, version in base.items() if version is None]
    found = [
        Check("Base packages", "fail", f"{', '.join(missing)} missing. Install {DISTRIBUTION} anew.")
        if missing
        else Check("Base packages", "ok", _listed(base))
    ]
    train = {"tensorflow": version_of("tensorflow-cpu") or version_of("tensorflow")}
    train |= {name: version_of(name) for name in TRAIN}
    missing = [name for name, version in train.items() if version is None]
    if missing:
        found.append(
            Check(
                "Training packages",
                "warn",
                f"{', '.join(missing)} missing: simulations run and data is assembled here, and nothing is trained. "
                f"To train: pip install '{DISTRIBUTION}[train]'",
            )
        )
    else:
        found.append(Check("Training packages", "ok", _listed(train)))
    return found


def _listed(versions: Mapping[str, str | None]) -> str:
    """Return names and versions as a sentence."""
    return ", ".join(f"{name} {version}" for name, version in versions.items()) + "."


def check_locks(folder: Path) -> Check:
    """Check that HDF5's file locks work in a folder: a second writer must be refused.

    Args:
        folder: A folder that can be written to.
    """
    import h5py

    name = "File locks"
    if not os.access(folder, os.W_OK):
        return Check(name, "warn", f"The folder {folder} cannot be written to, so its file locks were not tried.")
    with tempfile.TemporaryDirectory(prefix=".surrogate-doctor-", dir=folder) as scratch:
        path = Path(scratch) / "lock.h5"
        try:
            with h5py.File(path, "w"):
                second = subprocess.run(
                    [sys.executable, "-c", SECOND_WRITER, str(path)], capture_output=True, timeout=60, check=False
                )
        except OSError as error:
            return Check(
                name,
                "fail",
                f"HDF5 cannot lock files in {folder} ({error}). Use another file system for campaigns, or set "
                "HDF5_USE_FILE_LOCKING=FALSE.",
            )
    if second.returncode == 0:
        return Check(
            name,
            "warn",
            f"HDF5's locks have no effect in {folder}: two writers of one file would not be stopped. Surrogate writes "
            "each file once and renames it, so campaigns are safe; your own programs may not be.",
        )
    return Check(name, "ok", f"HDF5's file locks work in {folder}.")


def check_machine() -> Check:
    """Count the cores and the memory that this process may use."""
    cores = len(os.sched_getaffinity(0))
    memory = psutil.virtual_memory().total
    sentence = f"{cores} cores and {memory / GIB:.1f} GiB may be used."
    if cores < FEW_CORES or memory < LITTLE_MEMORY:
        return Check("Cores and memory", "warn", f"{sentence} Training beside simulations will be slow.")
    return Check("Cores and memory", "ok", sentence)


def check_shared_memory(folder: Path = Path("/dev/shm")) -> Check:  # noqa: S108 - looked at, not written to
    """Look at the space through which ranks of one machine talk.

    Args:
        folder: Where shared memory is mounted.
    """
    if not folder.is_dir():
        return Check("Shared memory", "warn", f"{folder} is missing; ranks of one machine will talk more slowly.")
    free = shutil.disk_usage(folder).free
    sentence = f"{free / GIB:.1f} GiB free in {folder}."
    if free < LITTLE_SHARED_MEMORY:
        return Check("Shared memory", "warn", f"{sentence} MPI may fail to start; a container takes --shm-size=1g.")
    return Check("Shared memory", "ok", sentence)


def check_disk(folder: Path) -> Check:
    """Look at the free space for a campaign.

    Args:
        folder: Where the campaign would work.
    """
    free = shutil.disk_usage(folder).free
    sentence = f"{free / GIB:.1f} GiB free in {folder}."
    if free < LITTLE_DISK:
        return Check("Disk", "warn", f"{sentence} A campaign of many runs may need more.")
    return Check("Disk", "ok", sentence)
