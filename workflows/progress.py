"""Telling a person how far long work is: bars on a terminal, plain lines in a log. All of it goes to stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, Self, TextIO

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress(Protocol):
    """What long work reports to."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage of `total` steps, or of unknown length."""
        ...

    def update(self, done: int, note: str = "") -> None:
        """Say that `done` steps of the stage are finished."""
        ...

    def say(self, message: str) -> None:
        """Say something that stays on the screen."""
        ...


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Do nothing."""

    def update(self, done: int, note: str = "") -> None:
        """Do nothing."""

    def say(self, message: str) -> None:
        """Do nothing."""


class Lines:
    """Plain lines with the time since the start, at most one update in `interval_s`."""

    def __init__(self, stream: TextIO | None = None, interval_s: float = 5.0) -> None:
        """Write to `stream`, stderr by default."""
        self._stream = stream or sys.stderr
        self._interval = interval_s
        self._start = time.monotonic()
        self._last = 0.0
        self._name = ""
        self._total: int | None = None

    def say(self, message: str) -> None:
        """Write one line."""
        seconds = time.monotonic() - self._start
        self._stream.write(f"[{seconds:7.1f} s] {message}\n")
        self._stream.flush()

    def stage(self, name: str, total: int | None = None) -> None:
        """Write one line for the stage."""
        self._name, self._total, self._last = name, total, time.monotonic()
        self.say(f"{name}" + (f": {total} to do" if total else ""))

    def update(self, done: int, note: str = "") -> None:
        """Write one line, unless one was written a moment ago."""
        now = time.monotonic()
        if now - self._last < self._interval and done != self._total:
            return
        self._last = now
        of = f" of {self._total}" if self._total else ""
        self.say(f"{self._name}: {done}{of}" + (f", {note}" if note else ""))


class Bars:
    """One live bar a stage."""

    def __init__(self) -> None:
        """Prepare the terminal."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichBars

        columns = (
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._bars: RichProgress = RichBars(*columns, console=Console(stderr=True), transient=False)
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a bar; the one before is left as it is."""
        self._finish()
        self._task = self._bars.add_task(name, total=total, note="")

    def update(self, done: int, note: str = "") -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.update(self._task, completed=done, note=note)

    def say(self, message: str) -> None:
        """Print above the bars."""
        self._bars.console.print(message, markup=False, highlight=False)

    def _finish(self) -> None:
        if self._task is not None:
            task = self._bars.tasks[self._task]
            if task.total is None:
                self._bars.update(self._task, total=max(task.completed, 1), completed=max(task.completed, 1))
            self._bars.stop_task(self._task)
