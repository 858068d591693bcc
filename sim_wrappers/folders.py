"""The folder of a run: who holds it, a fresh start in it, its receipt, its kept output."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sim_wrappers.protocol import RunRequest
from surrogate.core.checked import read_checked
from surrogate.core.errors import IntegrityError
from surrogate.core.files import sha256_file
from surrogate.core.identity import digest
from surrogate.core.outcome import Budget, Failure, FailureKind, Outcome, Success, outcome_from_json
from surrogate.core.process import RUN_VARIABLE, kill_tagged

RUN_FILE = "run.h5"
RECEIPT = "receipt.json"
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.5


def log_name(attempt: int) -> str:
    """Return the name of the file that keeps an attempt's output; it stays the attempt's for ever."""
    return "stdout.txt" if attempt == 1 else f"stdout-{attempt}.txt"


@contextlib.contextmanager
def hold(folder: Path, wait_s: float) -> Iterator[bool]:
    """Hold the lock of a run, `<folder>.lock`, so that nobody else executes it meanwhile.

    The lock file is removed at the end: whoever waited for it sees that and takes the new one.

    Args:
        folder: Folder of the run; its parent is made when missing.
        wait_s: Seconds to wait for another holder.

    Yields:
        Whether the lock was got.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f"{folder.name}.lock")
    deadline, pause = time.monotonic() + wait_s, _FIRST_PAUSE_S
    while (handle := _try_lock(path)) is None:
        if time.monotonic() > deadline:
            yield False
            return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _try_lock(path: Path) -> int | None:
    """Return an open, locked file that still has its name, or None."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == path.stat().st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None


def run_tag(folder: Path) -> str:
    """Return the tag (hex, 32 characters) that every process of a run carries in `RUN_VARIABLE`.

    It is made of the run's folder: the same run of another working directory is somebody else's.

    Args:
        folder: Folder of the run.
    """
    return digest("run", str(folder.resolve()))[:32]


def renew(folder: Path) -> Path | None:
    """Make the folder of a run anew, empty; end what a dead worker left running for it.

    Args:
        folder: Folder of the run; the caller holds its lock.

    Returns:
        Where what stood there before waits to be removed, or None.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        kill_tagged(RUN_VARIABLE, run_tag(folder))
        previous = folder.with_name(f".{folder.name}.old")
        shutil.rmtree(previous, ignore_errors=True)
        folder.rename(previous)
        folder.mkdir()
        return previous
    return None


def keep_logs(previous: Path, folder: Path) -> None:
    """Move the kept output of earlier attempts to the new folder and remove the rest."""
    for log in previous.glob("stdout*.txt"):
        target = folder / log.name
        if not target.exists():
            log.rename(target)
    shutil.rmtree(previous, ignore_errors=True)


def put_back(previous: Path, folder: Path, patterns: Sequence[str]) -> None:
    """Move the files by which a run goes on from where it stopped to its new folder.

    They are moved after a loss and after a timeout. A run whose solver failed begins anew: its restart files hold what
    made it fail.

    Args:
        previous: Folder of the earlier attempt.
        folder: The new one, empty.
        patterns: Names of files, or patterns of names.
    """
    if not patterns or not _was_only_stopped(previous):
        return
    for pattern in patterns:
        for source in sorted(previous.glob(pattern)):
            target = folder / source.relative_to(previous)
            if source.is_file() and not source.is_symlink():
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)


def _was_only_stopped(previous: Path) -> bool:
    """Return whether an attempt ended by no fault of its own: nobody says how, or it was lost, or its time was up."""
    try:
        outcome = outcome_from_json(read_checked(previous / RECEIPT, ""))
    except (IntegrityError, KeyError, TypeError, ValueError):
        return True
    if isinstance(outcome, Success):
        return False
    return outcome.budget is Budget.INFRASTRUCTURE or outcome.kind is FailureKind.TIMEOUT


def read_receipt(request: RunRequest, folder: Path, workdir: Path) -> Outcome | None:
    """Return the outcome of a finished execution that answers this request, or None.

    A success counts when the run file has the size and the hash that the receipt names. A failure counts when it is
    this very attempt's and not the infrastructure's, which asks for another try.

    Args:
        request: What is asked.
        folder: Folder of the run.
        workdir: Working directory of the campaign.
    """
    try:
        outcome = outcome_from_json(read_checked(folder / RECEIPT, ""))
    except (IntegrityError, KeyError, TypeError, ValueError):
        return None
    if outcome.run_id != request.run_id:
        return None
    if isinstance(outcome, Success):
        return outcome if _whole(workdir / outcome.path, outcome) else None
    return outcome if _same_attempt(outcome, request) else None


def _whole(path: Path, success: Success) -> bool:
    try:
        status = path.stat()
        same = status.st_size == success.size and sha256_file(path) == success.sha256
        if same and status.st_mtime_ns != success.mtime_ns:
            os.utime(path, ns=(success.mtime_ns, success.mtime_ns))  # copied: the same bytes, another time
    except OSError:
        return False
    return same


def _same_attempt(failure: Failure, request: RunRequest) -> bool:
    asked = (request.attempt, list(request.remedies))
    return failure.budget is not Budget.INFRASTRUCTURE and asked == (failure.attempt, failure.details.get("remedies"))


def keep_ends(path: Path, limit: int) -> None:
    """Cut a log that is longer than `limit` bytes down to its two ends, a quarter and three quarters of that.

    Args:
        path: The log; a missing one is no error.
        limit: Bytes to keep, about.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if size <= limit:
        return
    with path.open("r+b") as log:
        head = log.read(limit // 4)
        log.seek(size - (limit - limit // 4))
        tail = log.read()
        log.seek(0)
        log.write(head + f"\n[… {size - len(head) - len(tail)} bytes were left out here …]\n".encode() + tail)
        log.truncate()


def tail(path: Path, characters: int) -> str:
    """Return the last characters of a log; empty when there is none."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - 4 * characters))
            return log.read().decode("utf-8", errors="replace")[-characters:]
    except OSError:
        return ""


def flushed(path: Path) -> os.stat_result:
    """Flush an admitted file, which already has its name, to disk; return its status.

    One flush a run: it takes the new name with it, where flushing first and renaming then would take three.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        return os.fstat(handle)
    finally:
        os.close(handle)
