"""Signals to a worker and to the job around it, passed on to the program that the worker runs."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

from site_configs.allocation import Allocation
from surrogate.core.process import RUN_VARIABLE, find_tagged, kill_tagged
from surrogate.core.proctable import process_table

_GRACE_S = 0.5
_LOOK_S = 0.5
_LAST_S, _LAST_LOOK_S = 0.25, 0.02


@contextlib.contextmanager
def warning(around: Allocation | None, tag: str) -> Iterator[None]:
    """Pass the warning of the job around a command on to its launcher, which hands it to all ranks.

    Args:
        around: The job, or None where there is none or nothing is to be passed on.
        tag: Value of `RUN_VARIABLE` in the command's environment.
    """
    if around is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            if around.warned:
                table = process_table()
                for pid in find_tagged(RUN_VARIABLE, tag):
                    if pid in table and table[pid].parent == os.getpid():
                        os.kill(pid, signal.SIGUSR1)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def guard(tag: str, over: Callable[[], bool] = lambda: False) -> None:
    """Let SIGTERM end this worker with the program that it is about to run.

    Parsl gives a worker one second between SIGTERM and SIGKILL; the program must be gone by then.

    Args:
        tag: Value of `RUN_VARIABLE` in the program's environment.
        over: Whether the program has ended, so that the worker had better finish; SIGKILL ends it soon enough. One that
            is just ending gets the moment that it takes to leave MPI.
    """

    def leave(number: int, frame: object) -> None:
        del frame
        deadline = time.monotonic() + _LAST_S
        while not over():
            if time.monotonic() > deadline:
                break
            time.sleep(_LAST_LOOK_S)
        else:
            return
        # A second one must not interrupt the first one's work.
        signal.signal(number, signal.SIG_IGN)
        kill_tagged(RUN_VARIABLE, tag, grace_s=_GRACE_S)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
