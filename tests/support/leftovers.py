"""Find what a test left behind: processes, shared memory, files outside its own folder.

A process belongs to this session when the session's tag stands in its environment, or when it descends from the
process that runs the tests (a fork shows the environment of its parent's start, so the tag alone is not enough).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

TAG = "SURROGATE_TEST_SESSION"
GRACE_S = 5.0
# Helpers of Python itself that live as long as the interpreter and end with it.
INTERPRETERS_OWN = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "loky.backend.resource_tracker")
# Made by TensorFlow for each converted function, removed by it when the interpreter ends.
LIBRARIES_OWN = ("__autograph_generated_file",)


@dataclass(frozen=True)
class Snapshot:
    """What existed at one moment.

    Attributes:
        processes: (pid, start time) of every process of this session.
        segments: Files of shared memory made by MPI.
        files: Paths in the watched folders.
    """

    processes: frozenset[tuple[int, float]] = frozenset()
    segments: frozenset[Path] = frozenset()
    files: frozenset[Path] = frozenset()


@dataclass(frozen=True)
class Leftovers:
    """What exists after a test and did not before.

    Attributes:
        processes: pid → command line.
        segments: Unmapped files of shared memory.
        files: Files and folders outside the test's own folder.
    """

    processes: dict[int, str] = field(default_factory=dict)
    segments: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.processes or self.segments or self.files)

    def sentence(self) -> str:
        """Say what was left behind."""
        parts = [f"process {pid} ({command})" for pid, command in sorted(self.processes.items())]
        parts += [f"shared memory {path}" for path in self.segments]
        parts += [f"file {path}" for path in self.files]
        return "The test left behind: " + "; ".join(parts) + "."


def session_processes(tag: str) -> list[psutil.Process]:
    """Return the live processes of the session `tag`, this one left out."""
    own = psutil.Process()
    found = {process.pid: process for process in own.children(recursive=True)}
    needle = f"{TAG}={tag}".encode()
    for pid in psutil.pids():
        if pid in found or pid == own.pid:
            continue
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            if needle in environment.split(b"\0"):
                found[pid] = psutil.Process(pid)
        except (OSError, psutil.Error):
            continue
    return [process for process in found.values() if _matters(process)]


def _matters(process: psutil.Process) -> bool:
    """Tell whether a process still runs and is not the interpreter's own helper."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        command = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return not any(name in command for name in INTERPRETERS_OWN)


def shared_segments() -> frozenset[Path]:
    """Return the files that MPICH keeps in shared memory."""
    return frozenset(Path("/dev/shm").glob("mpich_shm*"))


def unmapped(segments: Iterable[Path]) -> tuple[Path, ...]:
    """Return those of `segments` that no process maps: their job is over."""
    wanted = {str(path) for path in segments}
    if not wanted:
        return ()
    mapped: set[str] = set()
    for pid in psutil.pids():
        try:
            text = Path(f"/proc/{pid}/maps").read_text(errors="replace")
        except OSError:
            continue
        mapped.update(name for name in wanted if name in text)
    return tuple(Path(name) for name in sorted(wanted - mapped) if Path(name).exists())


def folder_files(folders: Iterable[Path]) -> frozenset[Path]:
    """Return everything that stands in `folders`, at any depth."""
    return frozenset(
        path
        for folder in folders
        if folder.is_dir()
        for path in folder.rglob("*")
        if not path.name.startswith(LIBRARIES_OWN)
    )


def snapshot(tag: str, folders: Iterable[Path]) -> Snapshot:
    """Record what exists now."""
    started = []
    for process in session_processes(tag):
        try:
            started.append((process.pid, process.create_time()))
        except psutil.Error:
            continue
    return Snapshot(frozenset(started), shared_segments(), folder_files(folders))


def leftovers(tag: str, folders: Iterable[Path], before: Snapshot, grace_s: float = GRACE_S) -> Leftovers:
    """Compare now with `before`; what is just ending gets `grace_s` seconds to end.

    A process whose ancestor stood in `before` is that ancestor's business (a daemon of a wider fixture).
    """
    folders = tuple(folders)
    deadline = time.monotonic() + grace_s
    while True:
        found = _difference(tag, folders, before)
        if not found or time.monotonic() >= deadline:
            return found
        time.sleep(0.05)


def _difference(tag: str, folders: tuple[Path, ...], before: Snapshot) -> Leftovers:
    """Return what exists now and did not in `before`."""
    processes: dict[int, str] = {}
    for process in session_processes(tag):
        try:
            line = [process, *process.parents()]
            if any((one.pid, one.create_time()) in before.processes for one in line):
                continue
            processes[process.pid] = " ".join(process.cmdline()) or process.name()
        except psutil.Error:
            continue
    segments = unmapped(shared_segments() - before.segments)
    files = tuple(sorted(folder_files(folders) - before.files))
    return Leftovers(processes, segments, files)


def end(found: Leftovers) -> None:
    """Kill the processes and remove the files that were left, so that the next test starts clean."""
    for pid in found.processes:
        try:
            psutil.Process(pid).kill()
        except psutil.Error:
            continue
    for path in sorted(found.files, reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not os.listdir(path):  # noqa: PTH208 - emptiness, not names
                path.rmdir()
        else:
            path.unlink(missing_ok=True)
