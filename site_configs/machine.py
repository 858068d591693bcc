"""What this machine has: cores and memory that a process may really use, not what is built in."""

from __future__ import annotations

import math
import os
from pathlib import Path

_ROOT = Path("/")


def count_cores(root: Path = _ROOT, affinity: int | None = None) -> int:
    """Return how many cores this process may use: its affinity, cut by the quota of its control groups.

    Args:
        root: Where `proc` and `sys` are looked up; tests give a folder of their own.
        affinity: Number of cores in the affinity mask; asked from the system when None.
    """
    allowed = affinity if affinity is not None else len(os.sched_getaffinity(0))
    for folder in _group_folders(root, "cpu"):
        quota = _cpu_quota(folder)
        if quota is not None:
            allowed = min(allowed, max(1, math.floor(quota)))
    return max(1, allowed)


def count_memory_mib(root: Path = _ROOT) -> int:
    """Return the memory in MiB that this process may use: the machine's, cut by the limit of its control groups.

    Args:
        root: Where `proc` and `sys` are looked up.
    """
    total = 0
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            total = int(line.split()[1]) * 1024
    for folder in _group_folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _first_word(folder / name)
            if limit.isdigit():
                total = min(total, int(limit))
    return max(1, total // 2**20)


def _group_folders(root: Path, controller: str) -> list[Path]:
    """Return the folders of the control groups that limit this process, innermost first, in version 2 and 1."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    base = root / "sys/fs/cgroup"
    folders: list[Path] = []
    for line in lines:
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        if parts[1] == "":
            top = base
        elif controller in parts[1].split(","):
            top = base / controller if (base / controller).is_dir() else base / parts[1]
        else:
            continue
        group = top / parts[2].lstrip("/")
        folders += [group, *(parent for parent in group.parents if parent == top or top in parent.parents)]
    return folders


def _cpu_quota(folder: Path) -> float | None:
    """Return the quota of a control group in cores, or None for no limit."""
    try:
        words = (folder / "cpu.max").read_text().split()
    except OSError:
        words = [_first_word(folder / "cpu.cfs_quota_us"), _first_word(folder / "cpu.cfs_period_us")]
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]) > 0:
        return int(words[0]) / int(words[1])
    return None


def _first_word(path: Path) -> str:
    """Return the first word of a file, or an empty string when there is none."""
    try:
        words = path.read_text().split()
    except OSError:
        return ""
    return words[0] if words else ""
