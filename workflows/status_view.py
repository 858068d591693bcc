"""The status of a campaign on a terminal."""

from __future__ import annotations

from datetime import timedelta

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from workflows.status import Status

_STYLES = {"packed": "green", "done": "green", "running": "cyan", "failed": "red", "quarantined": "magenta"}
_MEANS = {
    "planned": "waiting to run",
    "running": "running, or waiting for a free worker",
    "done": "admitted, not packed yet",
    "packed": "admitted, in the dataset",
    "failed": "gave no data; tried again as the budgets allow",
    "quarantined": "result is not physical; never run again",
}


def render(status: Status, failures: int = 5) -> Group:
    """Return what a terminal shows.

    Args:
        status: How the campaign stands.
        failures: Number of the latest failures to show.
    """
    parts: list[RenderableType] = [_head(status)]
    if status.total:
        parts += [_bar(status), _runs(status)]
    if status.stages:
        parts.append(_stages(status))
    if status.failures:
        parts.append(_failures(status, failures))
    if status.runs.get("failed") and not status.active and any(stage.name == "simulate" for stage in status.stages):
        way_on = f"surrogate resume {status.workdir} --retry-failed"
        parts.append(Text(f"Failed runs can be tried again when their cause is mended: {way_on}", style="cyan"))
    if status.verdict is not None:
        passed = bool(status.verdict.get("passed"))
        word = "passed" if passed else "did not pass"
        parts.append(Text(f"Verdict: the surrogate {word} its gate.", style="bold green" if passed else "bold red"))
    parts += [
        Text(f"Waiting for the holder: {request['kind']} (asked by {request['user']})") for request in status.requests
    ]
    parts += [Text(f"Note: {note}", style="yellow") for note in status.notes]
    return Group(*parts)


def _head(status: Status) -> Text:
    """Return the first lines: which campaign, who works on it, how fast."""
    text = Text.from_markup(f"[bold]{escape(status.campaign or 'Campaign')}[/bold] in {escape(status.workdir)}\n")
    text.append(f"Held by {status.holder}." if status.holder else "Nobody works on it now.")
    if status.stage:
        text.append(f"\nStage: {status.stage}")
    if status.runs_per_hour is not None:
        text.append(f"\n{status.runs_per_hour:,.0f} runs/h in this session")
    if status.seconds_per_run is not None:
        text.append(f"\n{status.seconds_per_run:,.2f} s for a run, on average")
    if status.eta_s is not None:
        text.append(f"\n{duration(status.eta_s)} until the planned runs have ended")
    return text


def _bar(status: Status) -> RenderableType:
    """Return how much of the ensemble has ended."""
    left = status.runs["planned"] + status.runs["running"]
    grid = Table.grid()
    grid.add_row(ProgressBar(total=status.total, completed=status.total - left, width=60))
    return grid


def _runs(status: Status) -> Table:
    """Return the runs by status."""
    table = Table("Runs", "Number", "", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, count in status.runs.items():
        if count:
            interrupted = name == "running" and not status.active
            means = "executed again when the campaign is resumed" if interrupted else _MEANS[name]
            shown = Text("interrupted" if interrupted else name, style=_STYLES.get(name, ""))
            table.add_row(shown, f"{count:,}", Text(means, style="dim"))
    table.add_row(
        "all", f"{status.total:,}", Text(f"{status.samples:,} samples, {status.shards:,} shards", style="dim")
    )
    return table


def _stages(status: Status) -> Table:
    """Return the stages with their times."""
    table = Table("Stage", "", "Time", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for stage in status.stages:
        state = "interrupted" if stage.status == "started" and not status.active else stage.status
        table.add_row(stage.name, state, duration(stage.seconds) if stage.seconds else "")
    return table


def _failures(status: Status, number: int) -> Group:
    """Return failures by kind, and the latest ones with what can be done."""
    table = Table("Failures", "Number", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for kind, count in status.failures.items():
        table.add_row(kind, f"{count:,}")
    lines: list[RenderableType] = [table]
    for failure in status.recent_failures[:number]:
        text = Text(f"{failure.run_id[:12]} attempt {failure.attempt}: {failure.message}")
        if failure.remedy:
            text.append(f" {failure.remedy}", style="cyan")
        if failure.log:
            text.append(f" See {failure.log}.", style="dim")
        lines.append(text)
    return Group(*lines)


def duration(seconds: float) -> str:
    """Return seconds as people say them: `3.2 s`, or hours, minutes and seconds."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return str(timedelta(seconds=round(seconds)))
