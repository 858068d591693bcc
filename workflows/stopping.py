"""Stopping on request: Ctrl-C and SIGTERM become one event, and an exception where nothing has to be wound up first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from surrogate.core.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Turns signals into a request to stop.

    Attributes:
        event: Set once somebody asked to stop.
    """

    def __init__(self) -> None:
        """Nothing is installed yet; see `listening`."""
        self.event = threading.Event()
        self._at_once = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[Stopping]:
        """Handle SIGINT and SIGTERM inside the context; outside the main thread nothing is installed."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
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
        if self.event.is_set():
            raise Interrupted("Interrupted.")

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.event.set()
        if self._at_once:
            self._at_once = False
            raise Interrupted(f"Interrupted by {signal.Signals(number).name}.")
