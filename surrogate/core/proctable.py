"""The table of processes, read from /proc.

A process is known by its pid *and* its start time, so that a pid which the kernel gave away again is never mistaken for
the one that was meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the process table.

    Attributes:
        parent: Pid of its parent.
        session: Id of its session.
        start: Start time in clock ticks since the machine's start.
    """

    parent: int
    session: int
    start: int


def process_table() -> dict[int, Entry]:
    """Return all living processes; those that ended and wait for their parent are not living."""
    table = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208 - names are all that is wanted
        if (entry := read_entry(int(name))) is not None:
            table[int(name)] = entry
    return table


def read_entry(pid: int) -> Entry | None:
    """Return a living process's line, or None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as source:  # noqa: PTH123 - read for every process of the machine
            fields = source.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return Entry(int(fields[1]), int(fields[3]), int(fields[19]))


def start_time(pid: int) -> int | None:
    """Return when a living process started, in clock ticks since the machine's start, or None when there is none."""
    entry = read_entry(pid)
    return None if entry is None else entry.start


def is_alive(pid: int, start: int | None = None) -> bool:
    """Return whether a process lives; with `start`, whether it is the one that started then."""
    found = start_time(pid)
    return found is not None and (start is None or found == start)


def find_tagged(variable: str, value: str) -> list[int]:
    """Return the pids of all living processes of ours that were started with `variable=value` in their environment.

    The calling process is left out.
    """
    wanted = f"{variable}={value}".encode()
    return [pid for pid in process_table() if pid != os.getpid() and has_tag(pid, wanted)]


def has_tag(pid: int, wanted: bytes) -> bool:
    """Return whether a process of ours was started with `wanted`, as `VARIABLE=value`, in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as source:  # noqa: PTH123 - read for every process of the machine
            return wanted in source.read().split(b"\0")
    except OSError:  # gone meanwhile, or another user's
        return False


def with_descendants(roots: Iterable[int], table: Mapping[int, Entry]) -> set[int]:
    """Return pids and all that descend from them.

    Args:
        roots: Pids.
        table: `process_table()`.
    """
    children: dict[int, list[int]] = {}
    for pid, entry in table.items():
        children.setdefault(entry.parent, []).append(pid)
    found, waiting = set(), list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found
