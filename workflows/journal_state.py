"""What the journal's events add up to: runs, stages, shards, failures and timings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workflows.journal_records import ADMITTED, LastFailure, Run, RunStatus, Shard, Stage

RECENT_FAILURES = 20
RECENT_TIMES = 500
SEEN_REQUESTS = 1000


@dataclass(slots=True, eq=False)
class JournalState:
    """Everything that the journal's events add up to.

    Attributes:
        seq: Number of the last event.
        campaign: The last `campaign.opened`.
        uids: Every driver's uid so far, oldest first: what an earlier driver left running carries one of them.
        opened_at: When the last driver opened the campaign, seconds since 1970.
        updated_at: When the last event was appended, seconds since 1970.
        runs: Run id → run, in the order of planning.
        counts: Status → number of runs.
        samples: Samples of the runs that are done or packed.
        running: Run id → when it was started, seconds since 1970.
        failures: Kind → number of failures, retried ones included.
        recent_failures: The latest failures, oldest first.
        recent_ends: When the latest runs ended for good or bad, seconds since 1970.
        seconds: Outcome (`success`, `failure`) → wall-clock seconds of all executions.
        ended: Outcome (`success`, `failure`) → number of executions.
        launch_lines: Launch line with the run's id replaced by `{run_id}` → number of executions.
        training_losses: Kind → number of attempts at the training that were lost.
        stages: Name → latest execution, in the order of their first start.
        shards: Name → shard.
        requests: Id → request that was taken and is not done.
        requests_seen: Ids of the latest requests that were taken.
        notes: What was repaired in the journal, as sentences.
        unknown: Events of kinds that this version does not know: [when, event].
    """

    seq: int = 0
    campaign: dict[str, Any] = field(default_factory=dict)
    uids: list[str] = field(default_factory=list)
    opened_at: float = 0.0
    updated_at: float = 0.0
    runs: dict[str, Run] = field(default_factory=dict, repr=False)
    counts: dict[RunStatus, int] = field(default_factory=lambda: dict.fromkeys(RunStatus, 0))
    samples: int = 0
    running: dict[str, float] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    recent_failures: deque[LastFailure] = field(default_factory=lambda: deque(maxlen=RECENT_FAILURES))
    recent_ends: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_TIMES))
    seconds: dict[str, float] = field(default_factory=lambda: {"success": 0.0, "failure": 0.0})
    ended: dict[str, int] = field(default_factory=lambda: {"success": 0, "failure": 0})
    launch_lines: dict[str, int] = field(default_factory=dict)
    training_losses: dict[str, int] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    shards: dict[str, Shard] = field(default_factory=dict)
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests_seen: deque[str] = field(default_factory=lambda: deque(maxlen=SEEN_REQUESTS))
    notes: list[str] = field(default_factory=list)
    unknown: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    shared: dict[Any, Any] = field(default_factory=dict, repr=False)

    def with_status(self, *statuses: RunStatus) -> Iterator[Run]:
        """Yield the runs that stand at one of these, in the order of planning."""
        return (run for run in self.runs.values() if run.status in statuses)

    def share(self, value: Any) -> Any:
        """Return the one copy of an equal tuple that is kept, for tuples that many runs have."""
        return self.shared.setdefault(value, value)

    @property
    def total(self) -> int:
        """Number of runs, also where `runs` is sparse."""
        return sum(self.counts.values())

    def move(self, run: Run, status: RunStatus, samples: int | None = None) -> None:
        """Put a run to another status.

        Args:
            run: The run.
            status: Where it stands now.
            samples: Samples that it has yielded, or None to keep their number.
        """
        if run.status in ADMITTED:
            self.samples -= run.samples
        run.samples = run.samples if samples is None else samples
        if status in ADMITTED:
            self.samples += run.samples
        self.counts[run.status] -= 1
        self.counts[status] += 1
        run.status = status
        self.running.pop(run.run_id, None)

    def add(self, run: Run) -> None:
        """Take in a run that is not known yet."""
        self.runs[run.run_id] = run
        self.counts[run.status] += 1
