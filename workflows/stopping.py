"""Stopping on request: Ctrl-C and SIGTERM become one event, and an exception where nothing has to be wound up first.

A driver that is itself a job is warned by SIGUSR1 ahead of its end: it begins nothing more, and what has begun may end.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from surrogate.core.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_WARNING = signal.SIGUSR1


class Stopping:
    """Turns signals into a request to stop.

    Attributes:
        event: Set once somebody asked to stop.
        draining: Set once nothing more is to be begun.
    """

    def __init__(self) -> None:
        """Nothing is installed yet; see `listening`."""
        self.event = threading.Event()
        self.draining = threading.Event()
        self._at_once = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[Stopping]:
        """Handle SIGINT, SIGTERM and SIGUSR1 inside the context; outside the main thread nothing is installed."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self._handle) for number in (*_SIGNALS, _WARNING)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside this context a request to stop raises Interrupted wherever the main thread is.

        Only work whose files are written atomically, and that starts no processes, may stand in it.

        Raises:
            Interrupted: If somebody asked before, or asks meanwhile.
        """
        self.check()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def check(self) -> None:
        """Raise when somebody asked to stop.

        Raises:
            Interrupted: If so.
        """
        if self.event.is_set() or self.draining.is_set():
            raise Interrupted("Interrupted.")

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number == _WARNING:
            # What goes on now may still come to its end before the job does.
            self.draining.set()
            return
        self.event.set()
        if self._at_once:
            self._at_once = False
            raise Interrupted(f"Interrupted by {signal.Signals(number).name}.")
