"""Shared memory that MPI libraries and Python's worker processes leave behind when they are killed."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from surrogate.core.proctable import process_table

SHARED_MEMORY = ("mpich_shm_*", "ucx_shm_posix_*", "vader_segment.*", "sm_segment.*")
"""Names below /dev/shm that MPI libraries leave when their ranks are killed."""

SEMAPHORES = ("sem.mp-*",)
"""Names of the semaphores of Python's multiprocessing, which stay when the process that keeps account is killed, too.
They are other programs' as well, so only those are removed that were seen in use by a process that was then ended."""

_SHM = Path("/dev/shm")  # noqa: S108 - named to be cleaned, nothing is created there
_SECOND_LOOK_S = 0.2
_CLOCKS_DIFFER_S = 1.0  # files carry the time of a coarser clock


def segments_of(pids: Iterable[int]) -> set[Path]:
    """Return the shared memory of MPI libraries and the semaphores of Python that these processes map."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError), Path(f"/proc/{pid}/maps").open(encoding="utf-8", errors="replace") as maps:
            for line in maps:
                name = line.rstrip("\n").partition(f" {_SHM}/")[2].removesuffix(" (deleted)")
                if any(fnmatch.fnmatchcase(name, pattern) for pattern in (*SHARED_MEMORY, *SEMAPHORES)):
                    found.add(_SHM / name)
    return found


def _unmapped(paths: Iterable[Path]) -> set[Path]:
    candidates = set(paths)
    return candidates - segments_of(process_table()) if candidates else candidates


def _remove(paths: Iterable[Path]) -> int:
    removed = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError, PermissionError):
            path.unlink()
            removed += 1
    return removed


def remove_unmapped(paths: Iterable[Path]) -> int:
    """Remove those segments that no process maps; return how many."""
    return _remove(_unmapped(paths))


def segments_now() -> frozenset[Path]:
    """Return this user's segments that exist at this moment, for `sweep_new`."""
    return frozenset(path for path, _ in _own_segments())


def sweep_shared_memory(minimum_age_s: float = 30.0) -> int:
    """Remove what killed MPI ranks left in /dev/shm and no process maps; return how many segments.

    Args:
        minimum_age_s: Younger ones stay: a rank that just starts may have made its segment and not mapped it yet. One
            from the future was made before the clock was set back.
    """
    now = time.time()
    newest = now - minimum_age_s
    return remove_unmapped(
        path for path, changed in _own_segments() if changed <= newest or changed > now + _CLOCKS_DIFFER_S
    )


def sweep_new(known: Collection[Path]) -> int:
    """Remove the segments that were not there before and that no process maps; return how many.

    For the end of a program that failed: ranks that abort leave their segment. Another program's rank may have made one
    and not mapped it yet, so each is looked at twice. Names are compared and no times: the clock may have been set.

    Args:
        known: What `segments_now` gave before the program was started.
    """
    found = _unmapped(segments_now().difference(known))
    if found:
        time.sleep(_SECOND_LOOK_S)
    return _remove(_unmapped(found))


def _own_segments() -> Iterator[tuple[Path, float]]:
    """Yield this user's segments and when they were last changed, seconds since the epoch."""
    for pattern in SHARED_MEMORY:
        for path in _SHM.glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                if status.st_uid == os.getuid():
                    yield path, max(status.st_mtime, status.st_ctime)
