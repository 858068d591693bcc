"""Watching a campaign until nobody works on it any more: live on a terminal, one line for each change elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from surrogate.core.errors import ConfigError
from workflows.journal import read_state
from workflows.status import FailureLine, Status, status, watch
from workflows.workspace import Workspace

_NEW_FAILURES = 5


def follow(workdir: Path, every_s: float = 1.0) -> Iterator[Status]:
    """Yield how a campaign stands, until nobody works on it; the last look is made after everything was written.

    Args:
        workdir: Its working directory.
        every_s: Seconds between two looks.

    Raises:
        ConfigError, IntegrityError, DataError: As `workflows.status.status`.
    """
    for look in watch(workdir, every_s):
        if not look.active:
            # Its holder may have written and left between the reading of the journal and that of the lock.
            yield status(workdir)
            return
        yield look


def await_campaign(workdir: Path, every_s: float, tell: Callable[[str], None]) -> None:
    """Return when a campaign has begun in a folder; the one who watches may be earlier than the one who starts it.

    Args:
        workdir: Its working directory; it need not exist.
        every_s: Seconds between two looks.
        tell: Is given a sentence when there is something to wait for.

    Raises:
        ConfigError: If the path is no folder.
        IntegrityError: If there is a campaign, and its journal is damaged.
    """
    if _begun(workdir):
        return
    if workdir.exists() and not workdir.is_dir():
        raise ConfigError(f"{workdir} is no folder, and a campaign's working directory is one.")
    tell(f"There is no campaign in {workdir} yet; waiting until one begins there. Ctrl-C ends the waiting.")
    while not _begun(workdir):
        time.sleep(every_s)


def _begun(workdir: Path) -> bool:
    space = Workspace(workdir.resolve())
    if not (space.campaign_file.is_file() and space.facts_file.is_file()):
        return False
    return read_state(space.journal, sparse=True) is not None


def watch_live(workdir: Path, every_s: float) -> None:
    """Draw the status again and again on this terminal; what was drawn last stays there.

    Raises:
        As `follow`.
    """
    from rich.console import Console
    from rich.live import Live

    from workflows.status_view import render

    with Live(console=Console(), auto_refresh=False, vertical_overflow="crop") as screen:
        for look in follow(workdir, every_s):
            screen.update(render(look), refresh=True)


def watch_lines(workdir: Path, every_s: float, put: Callable[[str], None]) -> None:
    """Give a line for every look at which something has changed, and one for every new failure.

    Args:
        workdir: Its working directory.
        every_s: Seconds between two looks.
        put: Is given the lines.

    Raises:
        As `follow`.
    """
    before, told_until = "", time.time()
    for look in follow(workdir, every_s):
        for failure in _newer(look, told_until):
            put(_failure(failure))
            told_until = max(told_until, failure.at)
        now = line(look)
        if now != before:
            put(f"{time.strftime('%H:%M:%S')}  {now}")
        before = now


def watch_json(workdir: Path, every_s: float, put: Callable[[str], None]) -> None:
    """Give the whole status as one line of JSON at every look.

    Raises:
        As `follow`.
    """
    for look in follow(workdir, every_s):
        put(json.dumps(look.to_json(), allow_nan=False))


def line(look: Status) -> str:
    """Return a status as one line."""
    runs = look.runs
    ended = look.total - runs["planned"] - runs["running"]
    parts = [f"{look.stage or 'beginning'}: {ended:,} of {look.total:,} runs ended"]
    counted = (
        ("in the dataset", runs["packed"]),
        ("admitted", runs["done"]),
        ("failed", runs["failed"]),
        ("quarantined", runs["quarantined"]),
        ("running", runs["running"]),
    )
    parts += [f"{number:,} {words}" for words, number in counted if number]
    if look.runs_per_hour is not None and ended < look.total:
        parts.append(f"{look.runs_per_hour:,.0f} runs/h")
    if look.eta_s is not None:
        from workflows.estimate import duration

        parts.append(f"{duration(look.eta_s)} left")
    if not look.active:
        parts.append(_ending(look))
    return ", ".join(parts)


def _ending(look: Status) -> str:
    """Say why a watched campaign is not watched any longer."""
    if look.presence == "gone":
        return f"its holder has died; go on with: surrogate resume {look.workdir}"
    if look.verdict is not None and all(stage.status == "finished" for stage in look.stages):
        return "the verdict is " + ("pass" if look.verdict.get("passed") else "fail") + "; nobody works on it now"
    return "nobody works on it now"


def _newer(look: Status, than: float) -> list[FailureLine]:
    """Return the failures after a time, oldest first, a few at most."""
    return [failure for failure in reversed(look.recent_failures) if failure.at > than][-_NEW_FAILURES:]


def _failure(failure: FailureLine) -> str:
    remedy = f" {failure.remedy}" if failure.remedy else ""
    return (
        f"          {failure.kind} in run {failure.run_id[:12]}, attempt {failure.attempt}: {failure.message}{remedy}"
    )
