"""A clock for Parsl's own processes that nobody sets.

Parsl measures its heartbeats by the wall clock. When that is set back by an hour, managers are silent for an hour and
nobody misses a manager that died; when it jumps ahead, as on a laptop that wakes up, all managers are lost at once.
"""

from __future__ import annotations

import time


def hold_clock() -> None:
    """Let `time.time` of this process go on from now by the monotonic clock, whatever becomes of the wall clock."""
    begun = time.time() - time.monotonic()

    def steady() -> float:
        return begun + time.monotonic()

    time.time = steady
