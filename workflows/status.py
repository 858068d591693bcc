"""How a campaign stands, for people and programs, without its lock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surrogate.core.checked import read_checked
from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.holder import Holder, Presence
from surrogate.core.lock import read_holder
from workflows import journal_events
from workflows.journal import SKIPPED, Entry, JournalState, Loaded, RunStatus, read_state, tail
from workflows.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FailureLine:
    """One of the latest failures.

    Attributes:
        run_id: Run.
        attempt: 1 for the first execution.
        kind: Value of a FailureKind.
        message: What happened, as a sentence.
        remedy: What a person can do, as a sentence; may be empty.
        log: Kept output, relative to the working directory; may be empty.
        at: When, seconds since 1970.
    """

    run_id: str
    attempt: int
    kind: str
    message: str
    remedy: str
    log: str
    at: float


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage: where it stands, and the seconds that it took (0 while it has not ended)."""

    name: str
    status: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Status:
    """How a campaign stands.

    Attributes:
        workdir: Its working directory.
        campaign: Its name.
        active: Whether somebody works on it, as far as can be seen from here.
        holder: Who holds it, as half a sentence; empty for nobody.
        presence: What can be seen of the holder: `alive`, `suspended`, `gone`, `elsewhere`, or empty.
        stage: The stage that is running or was the last to run; empty before the first.
        stages: All stages in order.
        runs: Status → number of runs.
        total: All runs.
        samples: Samples of admitted runs.
        shards: Shards of the dataset.
        executions: Outcome (`success`, `failure`) → number of executions.
        failures: Kind → number of failures, retried ones included.
        recent_failures: The latest failures, newest first.
        seconds_per_run: Mean wall-clock seconds of a successful execution, or None.
        runs_per_hour: Rate of the current session, or None.
        eta_s: Seconds until the planned runs have ended at that rate, or None.
        requests: Requests that the holder has not acted on yet.
        notes: What was found damaged or was repaired.
        verdict: verdict.json, or None.
        updated_at: When the last event was journalled, seconds since 1970.
    """

    workdir: str
    campaign: str
    active: bool
    holder: str
    presence: str
    stage: str
    stages: tuple[StageLine, ...]
    runs: dict[str, int]
    total: int
    samples: int
    shards: int
    executions: dict[str, int]
    failures: dict[str, int]
    recent_failures: tuple[FailureLine, ...]
    seconds_per_run: float | None
    runs_per_hour: float | None
    eta_s: float | None
    requests: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    verdict: dict[str, Any] | None
    updated_at: float

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return asdict(self)


class Follower:
    """The journal's state, kept up to date by reading only what is new.

    Attributes:
        loaded: The journal, with a sparse state; it changes in place, or is replaced when events were missed.
    """

    def __init__(self, workdir: Path) -> None:
        """Read the whole state once.

        Raises:
            ConfigError: If there is no campaign.
            IntegrityError, DataError: As `read_state`.
        """
        self._workdir = workdir
        self.loaded = _load(workdir)

    def refresh(self) -> list[Entry]:
        """Take in what is new; return it, or an empty list when all had to be read again."""
        entries, position = tail(Workspace(self._workdir).journal, self.loaded.position)
        if position is None or any(entry.event["event"] == SKIPPED for entry in entries):
            self.loaded = _load(self._workdir)
            return []
        for entry in entries:
            journal_events.apply(self.loaded.state, entry.event, entry.at)
        self.loaded.position = position
        return entries


def status(workdir: Path) -> Status:
    """Return how the campaign in a working directory stands.

    Raises:
        ConfigError: If there is no campaign.
        IntegrityError: If the journal is damaged: which file, where, and what to do.
        DataError: If a newer version of this program wrote it.
    """
    return _status(workdir, _load(workdir))


def watch(workdir: Path, every_s: float = 1.0) -> Iterator[Status]:
    """Yield how the campaign stands, again and again, for as long as the caller asks.

    Args:
        workdir: Its working directory.
        every_s: Seconds between two looks.

    Raises:
        ConfigError, IntegrityError, DataError: As `status`.
    """
    follower = Follower(workdir)
    while True:
        yield _status(workdir, follower.loaded)
        time.sleep(every_s)
        follower.refresh()


def _load(workdir: Path) -> Loaded:
    """Read the journal of a working directory."""
    loaded = read_state(Workspace(workdir).journal, sparse=True)
    if loaded is None:
        raise ConfigError(
            f"There is no campaign in {workdir}: it has no journal. Name the folder that was given as --workdir, or "
            "start one with: surrogate run CAMPAIGN --workdir DIR"
        )
    return loaded


def _status(workdir: Path, loaded: Loaded) -> Status:
    """Put together what is known."""
    state = loaded.state
    notes = [*state.notes, *loaded.repaired]
    found = read_holder(Workspace(workdir).lock)
    active = found is not None and found[1] is not Presence.GONE
    if loaded.torn and not active:
        notes.append(f"The last {loaded.torn} bytes of the journal are torn; resuming will drop them.")
    notes += [
        f"The campaign stopped before '{name}': {stage.record['sentence']}"
        for name, stage in state.stages.items()
        if stage.status == "failed" and "sentence" in stage.record
    ]
    verdict, problem = _verdict(workdir)
    notes += problem
    rate = _rate(state, time.time()) if active else None
    left = state.counts[RunStatus.PLANNED] + state.counts[RunStatus.RUNNING]
    successes = state.ended["success"]
    return Status(
        workdir=str(workdir),
        campaign=str(state.campaign.get("name", "")),
        active=active,
        holder=_holder(found),
        presence=found[1].value if found else "",
        stage=_stage(state),
        stages=_stages(state),
        runs={status.value: state.counts[status] for status in RunStatus},
        total=state.total,
        samples=state.samples,
        shards=len(state.shards),
        executions=dict(state.ended),
        failures=dict(sorted(state.failures.items(), key=lambda item: -item[1])),
        recent_failures=_recent(state),
        seconds_per_run=state.seconds["success"] / successes if state.seconds["success"] else None,
        runs_per_hour=rate * 3600 if rate else None,
        eta_s=left / rate if rate and left else None,
        requests=tuple({"id": name, **request} for name, request in state.requests.items()),
        notes=tuple(notes),
        verdict=verdict,
        updated_at=state.updated_at,
    )


def _verdict(workdir: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the verdict if there is one, and what is wrong with its file."""
    path = Workspace(workdir).verdict
    if not path.exists():
        return None, []
    again = f"Write it again with: surrogate validate {workdir}"
    try:
        return read_checked(path, again), []
    except IntegrityError as error:
        return None, [str(error)]


def _holder(found: tuple[Holder, Presence] | None) -> str:
    """Return who holds the campaign, as half a sentence."""
    if found is None:
        return ""
    holder, presence = found
    remarks = {
        Presence.SUSPENDED: ", which is suspended",
        Presence.GONE: ", which has died: resume the campaign",
        Presence.ELSEWHERE: ", which cannot be seen from here",
    }
    return holder.describe() + remarks.get(presence, "")


def _rate(state: JournalState, now: float) -> float | None:
    """Return the ends of runs per second in this session, or None before the second one.

    Args:
        state: The journal's.
        now: Seconds since 1970; a clock that was set back makes it count for nothing.
    """
    ends = [at for at in state.recent_ends if at >= state.opened_at]
    if len(ends) < 2:
        return None
    seconds = max(ends[-1], now) - ends[0]
    return (len(ends) - 1) / seconds if seconds > 0 else None


def _stage(state: JournalState) -> str:
    """Return the stage that is running, or was the last to run."""
    for name, stage in state.stages.items():
        if stage.status == "started":
            return name
    return max(state.stages, key=lambda name: state.stages[name].ended_at, default="")


def _stages(state: JournalState) -> tuple[StageLine, ...]:
    """Return all stages in order."""
    return tuple(
        StageLine(name, stage.status, max(0.0, stage.ended_at - stage.started_at) if stage.ended_at else 0.0)
        for name, stage in state.stages.items()
    )


def _recent(state: JournalState) -> tuple[FailureLine, ...]:
    """Return the latest failures, newest first."""
    return tuple(
        FailureLine(f.run_id, f.attempt, f.kind, f.message, f.remedy_text, f.log, f.at)
        for f in reversed(state.recent_failures)
    )
