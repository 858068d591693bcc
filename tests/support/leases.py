"""Leases that other processes hold, and what lies in their folder."""

from __future__ import annotations

from pathlib import Path

from surrogate.core.claim import claims

QUICK = {"heartbeat_s": 0.05, "stale_s": 0.4}


def names(folder: Path) -> list[str]:
    """Return what lies in a folder."""
    return [path.name for path in folder.iterdir()]


def only(folder: Path) -> Path:
    """Return the one claim in a folder."""
    (name,) = claims(folder).values()
    return folder / name
