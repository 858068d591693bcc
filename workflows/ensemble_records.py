"""The words in which the parts of an ensemble speak to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from sim_wrappers.protocol import RunRequest
from surrogate.core.outcome import Budget
from surrogate.data.writer import DESIGN_STRATUM, Packed
from workflows.budgets import Account
from workflows.journal_records import Run as JournalRun
from workflows.journal_records import RunStatus

Keep = Literal["failed", "all"]


class Recorder(Protocol):
    """Where events are recorded; see `workflows.journal.Journal`."""

    def append(self, event: Mapping[str, Any]) -> int:
        """Take in an event."""
        ...

    def commit(self) -> int:
        """Make everything that was taken in durable."""
        ...


class Packer(Protocol):
    """Where admitted runs are packed; see `surrogate.data.writer.DatasetWriter`."""

    @property
    def packed(self) -> frozenset[str]:
        """Runs that are in shards."""
        ...

    @property
    def waiting(self) -> tuple[str, ...]:
        """Runs that were added and are in no shard yet."""
        ...

    def add_run(self, run_id: str, path: Path, stratum: str = DESIGN_STRATUM) -> bool:
        """Add an admitted run."""
        ...

    def flush(self) -> tuple[Packed, ...]:
        """Write what waits, and return what was packed since the last call."""
        ...


@dataclass(frozen=True, slots=True)
class Counts:
    """How far an ensemble is.

    Attributes:
        total: Runs of the ensemble.
        finished: Runs that were admitted, in this or an earlier session.
        failed: Runs that were given up.
        quarantined: Runs whose result was not physical.
        running: Runs that are with the workers.
        executed: Executions that this session saw end, whatever their end.
        adopted: Executions that had ended while nobody was listening.
        losses: Executions that the infrastructure lost in this session.
        solver_failures: Executions in which the solver failed in this session.
    """

    total: int = 0
    finished: int = 0
    failed: int = 0
    quarantined: int = 0
    running: int = 0
    executed: int = 0
    adopted: int = 0
    losses: int = 0
    solver_failures: int = 0


@dataclass(slots=True, eq=False)
class EnsembleRun:
    """One run on its way through this session.

    Attributes:
        request: What is asked.
        account: What it has used up.
        recorded: Number of the last attempt whose end the journal knows.
        stratum: `design`, or where else the point came from.
        known: What the journal knew of it when the session began.
    """

    request: RunRequest
    account: Account
    recorded: int
    stratum: str
    known: JournalRun | None

    @property
    def status(self) -> RunStatus:
        """Where the journal knew it when the session began."""
        return self.known.status if self.known is not None else RunStatus.PLANNED

    @classmethod
    def of(cls, request: RunRequest, known: JournalRun | None) -> EnsembleRun:
        """Begin where the journal left a run."""
        if known is None:
            return cls(request, Account(), 0, DESIGN_STRATUM, None)
        recorded = known.attempts - (1 if known.status is RunStatus.RUNNING else 0)
        account = Account(
            attempts=recorded,
            losses=known.charged_to(Budget.INFRASTRUCTURE),
            solver_failures=known.charged_to(Budget.SOLVER),
            remedies=known.remedies,
        )
        return cls(request, account, recorded, known.stratum, known)


@dataclass(frozen=True, slots=True)
class Again:
    """A run that is to be executed once more.

    Attributes:
        run: The run.
        delay_s: Seconds to wait before.
    """

    run: EnsembleRun
    delay_s: float = 0.0
