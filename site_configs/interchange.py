"""Parsl's interchange as its own session, ending with the driver that started it.

Started plainly it shares the driver's process group, so that a Ctrl-C meant for the driver kills it first and leaves
the driver nobody to shut down; and it outlives a driver that was killed, and goes on handing out the tasks it holds.

    python -m site_configs.interchange < configuration that Parsl writes
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time

from site_configs.steady import hold_clock

WATCH_S = 0.25


def main() -> None:
    """Become a session of one's own, watch the driver, and run the interchange."""
    hold_clock()
    driver = os.getppid()
    with contextlib.suppress(PermissionError):
        os.setsid()
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()

    from site_configs.burying import BuryingInterchange

    # The pipe from Parsl's own executor in the parent process, no file and no network.
    settings = pickle.load(sys.stdin.buffer)  # noqa: S301
    BuryingInterchange(**settings).start()


def _end_with(driver: int) -> None:
    """Leave as soon as the parent is another process than the driver."""
    while os.getppid() == driver:
        time.sleep(WATCH_S)
    os._exit(1)


if __name__ == "__main__":
    main()
