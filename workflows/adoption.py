"""What the folders of runs tell: who still works in them, and what was finished while nobody was listening."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from sim_wrappers.folders import RECEIPT
from surrogate.core.checked import read_checked
from surrogate.core.errors import IntegrityError
from surrogate.core.outcome import Outcome, Success, outcome_from_json
from surrogate.data import shards
from surrogate.data.manifest import Manifest
from surrogate.data.sealed import open_sealed
from surrogate.data.writer import Packed

_LOOK_S = 0.05
HANDOVER_S = 1.0
"""Seconds within which a run that was handed to a worker has its lock."""


def run_folder(workdir: Path, run_id: str) -> Path:
    """Return the folder of a run."""
    return workdir / "runs" / run_id[:2] / run_id


def run_lock(workdir: Path, run_id: str) -> Path:
    """Return the file that is locked while somebody executes the run."""
    return workdir / "runs" / run_id[:2] / f"{run_id}.lock"


def is_worked_on(workdir: Path, run_id: str) -> bool:
    """Tell whether somebody executes the run at this moment."""
    try:
        handle = os.open(run_lock(workdir, run_id), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)


def worked_on(workdir: Path, run_ids: Iterable[str] | None = None) -> Iterator[str]:
    """Yield the runs that somebody executes at this moment.

    Args:
        workdir: Working directory of the campaign.
        run_ids: Runs to look at; all that ever had a lock when None.
    """
    if run_ids is None:
        run_ids = [path.stem for path in sorted((workdir / "runs").glob("??/*.lock"))]
    for run_id in run_ids:
        if is_worked_on(workdir, run_id):
            yield run_id


def wait_for_workers(
    workdir: Path, run_ids: Iterable[str] | None, wait_s: float, at_least_s: float = 0.0
) -> tuple[set[str], set[str]]:
    """Wait until nobody executes any of these runs.

    Args:
        workdir: Working directory of the campaign.
        run_ids: The runs; all that have a lock when None.
        wait_s: The longest time to wait.
        at_least_s: The shortest time to look: a run that was just handed to a worker has no lock yet.

    Returns:
        The runs that were seen to be executed, and those that still are.
    """
    begin = time.monotonic()
    seen: set[str] = set()
    candidates = None if run_ids is None else list(run_ids)
    while True:
        waiting = set(worked_on(workdir, candidates))
        seen |= waiting
        elapsed = time.monotonic() - begin
        if elapsed >= wait_s or (not waiting and elapsed >= at_least_s):
            return seen, waiting
        time.sleep(_LOOK_S)


def read_receipt(workdir: Path, run_id: str) -> Outcome | None:
    """Return the outcome that a finished execution left, or None when there is none to rely on.

    A success whose run file is not there with the size and time that the receipt names is no success.
    """
    try:
        outcome = outcome_from_json(read_checked(run_folder(workdir, run_id) / RECEIPT, ""))
    except (IntegrityError, KeyError, TypeError, ValueError):
        return None
    if outcome.run_id != run_id or (isinstance(outcome, Success) and not is_intact(workdir, outcome)):
        return None
    return outcome


def is_intact(workdir: Path, success: Success) -> bool:
    """Tell whether a run file still has the size and the modification time that were recorded."""
    try:
        status = (workdir / success.path).stat()
    except OSError:
        return False
    return status.st_size == success.size and status.st_mtime_ns == success.mtime_ns


def packed_where(dataset: Path, run_ids: Collection[str]) -> Iterator[Packed]:
    """Yield the shards of a dataset that hold one of these runs, each with all of its runs.

    Args:
        dataset: Folder of the dataset.
        run_ids: Runs to look for.

    Raises:
        IntegrityError: If the manifest or a shard is damaged.
    """
    for record in Manifest.read(dataset).shards:
        path = dataset / shards.FOLDER / record.file
        with open_sealed(path, shards.KIND, shards.FORMAT_VERSION, shards.WAY_OUT, verify=False) as (file, _):
            runs = tuple(shards.read_run_ids(file))
        if not set(runs).isdisjoint(run_ids):
            yield Packed(record.file, record.sha256, runs)


def remove_run(workdir: Path, run_id: str) -> None:
    """Remove the folder and the lock of a run that nobody works on."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(run_folder(workdir, run_id))
    run_lock(workdir, run_id).unlink(missing_ok=True)


def folders(workdir: Path) -> Iterator[str]:
    """Yield the runs that have a folder."""
    for path in (workdir / "runs").glob("??/*/"):
        yield path.name


def prune(workdir: Path) -> None:
    """Remove the locks of runs without a folder, and empty folders; nobody may be working."""
    runs = workdir / "runs"
    if not runs.is_dir():
        return
    for group in [path for path in runs.iterdir() if path.is_dir()]:
        for lock in group.glob("*.lock"):
            if not lock.with_suffix("").is_dir():
                lock.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            group.rmdir()
