"""A watch over ranks that wait for each other: when nothing moves for too long, this process ends, and with it all.

Horovod's own stall check asks the other ranks' background threads, and waits for ever when a process is frozen or its
node is gone. This one needs nobody's answer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

_LOOK_S = 0.5


class Watchdog:
    """Watches sections in which this rank depends on others.

    Within a section a number is looked at that grows while work goes on, for example steps done. When it has not
    changed for `seconds`, `give_up` is called, once, from the watching thread.
    """

    def __init__(self, seconds: float, give_up: Callable[[], None]) -> None:
        """Begin; nothing is watched yet.

        Args:
            seconds: How long nothing may move.
            give_up: What then happens; the watched thread cannot be woken, so that it must end the process.
        """
        self.seconds = seconds
        self._give_up = give_up
        self._changed = threading.Condition()
        self._progress: Callable[[], float] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="surrogate-watchdog", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def section(self, progress: Callable[[], float] | None = None) -> Iterator[None]:
        """Watch the block.

        Args:
            progress: Returns the number that grows; None where the whole block must end within the time.
        """
        with self._changed:
            self._progress = progress or (lambda: 0.0)
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._progress = None
                self._changed.notify()

    def close(self) -> None:
        """Watch no longer."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _watch(self) -> None:
        """Look twice a second while a section is open."""
        seen: tuple[Callable[[], float], float] | None = None
        since = time.monotonic()
        while True:
            with self._changed:
                if self._closed:
                    return
                progress = self._progress
                if progress is None:
                    seen = None
                    self._changed.wait()
                    continue
            value = progress()
            if seen is None or seen[0] is not progress or seen[1] != value:
                seen, since = (progress, value), time.monotonic()
            elif time.monotonic() - since > self.seconds:
                self._give_up()
                return
            with self._changed:
                self._changed.wait(_LOOK_S)
