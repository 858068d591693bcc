"""What the journal keeps of a run, a stage and a shard: lean records, since there may be 100,000 runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from surrogate.core.outcome import Budget, Failure, FailureKind, Outcome, Success

BUDGETS = tuple(Budget)


class RunStatus(StrEnum):
    """Where a run stands."""

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    PACKED = "packed"


ADMITTED = (RunStatus.DONE, RunStatus.PACKED)


class RunFile(NamedTuple):
    """What is known of the run file of a run that is done and not packed yet."""

    path: str
    size: int
    sha256: str
    mtime_ns: int


class FailureNote(NamedTuple):
    """The last failure of a run, without what the run itself tells."""

    kind: str
    message: str
    retryable: bool
    remedy: str | None
    remedy_text: str
    log: str
    details: dict[str, Any] | None

    @property
    def budget(self) -> Budget:
        """The allowance that it is charged to."""
        return FailureKind(self.kind).budget


@dataclass(slots=True, eq=False)
class Run:
    """One run as the journal knows it; do not change it, append an event.

    Attributes:
        run_id: Identity.
        names: Names of the inputs; one tuple is shared by all runs that have the same.
        values: Their canonical values.
        stratum: `design`, or where else the point came from.
        status: Where it stands.
        attempts: Executions that were started.
        charged: Failures charged to infrastructure, solver and physics.
        remedies: Remedies that failures asked for, oldest first.
        samples: Samples that it yielded.
        seconds: Wall-clock seconds of the last execution.
        host: Where that was.
        file: Its run file while it is done and not packed.
        failure: Its last failure, until it is done.
        shard: Shard that holds it once it is packed.
    """

    run_id: str
    names: tuple[str, ...]
    values: tuple[Any, ...]
    stratum: str
    status: RunStatus = RunStatus.PLANNED
    attempts: int = 0
    charged: tuple[int, int, int] = (0, 0, 0)
    remedies: tuple[str, ...] = ()
    samples: int = 0
    seconds: float = 0.0
    host: str = ""
    file: RunFile | None = None
    failure: FailureNote | None = None
    shard: str = ""

    @property
    def inputs(self) -> dict[str, Any]:
        """The point."""
        return dict(zip(self.names, self.values, strict=True))

    def charged_to(self, budget: Budget) -> int:
        """Return how many of its failures were charged to a budget."""
        return self.charged[BUDGETS.index(budget)]

    def outcome(self) -> Outcome | None:
        """Return the last outcome without its launch line; None before the first one and once the run is packed."""
        if self.file is not None:
            return Success(
                self.run_id, *self.file, samples=self.samples, seconds=self.seconds, host=self.host, launch_line=(),
                attempt=self.attempts,
            )  # fmt: skip
        if self.failure is None:
            return None
        note = self.failure
        return Failure(
            self.run_id, FailureKind(note.kind), note.message, note.retryable, note.remedy, note.remedy_text, note.log,
            self.seconds, self.host, (), self.attempts, dict(note.details or {}),
        )  # fmt: skip


class Stage(NamedTuple):
    """The latest execution of a stage: its key says what it was computed from, its record what came out."""

    key: str
    status: str
    started_at: float
    ended_at: float
    record: dict[str, Any]


class Shard(NamedTuple):
    """A shard of the dataset: hash of its file, and how many runs it holds."""

    sha256: str
    runs: int


class LastFailure(NamedTuple):
    """One of the latest failures, whatever became of the run since."""

    at: float
    run_id: str
    attempt: int
    kind: str
    message: str
    remedy_text: str
    log: str
