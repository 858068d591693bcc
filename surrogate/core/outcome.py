"""Outcomes of runs as values: a failed run never stops a campaign."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Budget(StrEnum):
    """Which of the three allowances a failure is charged to."""

    INFRASTRUCTURE = "infrastructure"
    SOLVER = "solver"
    PHYSICS = "physics"


class FailureKind(StrEnum):
    """What went wrong with a run. Each kind is charged to one budget."""

    NODE_LOST = "node_lost"
    WALLTIME = "walltime"
    PREEMPTED = "preempted"
    LAUNCHER = "launcher"
    DISK_FULL = "disk_full"
    INTERRUPTED = "interrupted"
    EXIT_STATUS = "exit_status"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    UNCONVERGED = "unconverged"
    NO_END_MARKER = "no_end_marker"
    OUTPUT_MISSING = "output_missing"
    OUTPUT_UNREADABLE = "output_unreadable"
    NOT_FINITE = "not_finite"
    WRONG_SHAPE = "wrong_shape"
    WRONG_INPUTS = "wrong_inputs"
    OUT_OF_BOUNDS = "out_of_bounds"
    NOT_PHYSICAL = "not_physical"

    @property
    def budget(self) -> Budget:
        """The allowance that this kind is charged to."""
        return _BUDGETS[self]


_INFRASTRUCTURE = ("NODE_LOST", "WALLTIME", "PREEMPTED", "LAUNCHER", "DISK_FULL", "INTERRUPTED")
_PHYSICS = ("NOT_FINITE", "WRONG_SHAPE", "WRONG_INPUTS", "OUT_OF_BOUNDS", "NOT_PHYSICAL")
_BUDGETS = {
    kind: Budget.INFRASTRUCTURE
    if kind.name in _INFRASTRUCTURE
    else Budget.PHYSICS
    if kind.name in _PHYSICS
    else Budget.SOLVER
    for kind in FailureKind
}


@dataclass(frozen=True, slots=True)
class Success:
    """A run that wrote an admissible run file.

    Attributes:
        run_id: Identity of the run.
        path: Run file, relative to the working directory of the campaign.
        size: Bytes of the run file.
        sha256: Hash of the run file's bytes.
        mtime_ns: Modification time of the run file, nanoseconds.
        samples: Number of samples in it.
        seconds: Wall-clock seconds of the simulation.
        host: Where it ran.
        launch_line: The command that was started.
        attempt: 1 for the first execution.
    """

    run_id: str
    path: str
    size: int
    sha256: str
    mtime_ns: int
    samples: int
    seconds: float
    host: str
    launch_line: tuple[str, ...]
    attempt: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping with `"outcome": "success"`."""
        return {"outcome": "success", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that gave nothing to learn from.

    Attributes:
        run_id: Identity of the run.
        kind: What went wrong.
        message: A sentence for a scientist.
        retryable: Whether running it again can help.
        remedy: Name of the wrapper's remedy to apply to the next attempt, or None.
        remedy_text: What a person can do, as a sentence; may be empty.
        log: Kept output, relative to the working directory of the campaign; may be empty.
        seconds: Wall-clock seconds that were spent.
        host: Where it ran.
        launch_line: The command that was started; empty when it never was.
        attempt: 1 for the first execution.
        details: JSON-ready facts of this kind.
    """

    run_id: str
    kind: FailureKind
    message: str
    retryable: bool = True
    remedy: str | None = None
    remedy_text: str = ""
    log: str = ""
    seconds: float = 0.0
    host: str = ""
    launch_line: tuple[str, ...] = ()
    attempt: int = 1
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def budget(self) -> Budget:
        """The allowance that this failure is charged to."""
        return self.kind.budget

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping with `"outcome": "failure"`."""
        return {"outcome": "failure", **asdict(self), "kind": self.kind.value}


Outcome = Success | Failure


def outcome_from_json(record: dict[str, Any]) -> Outcome:
    """Rebuild an outcome from `to_json`.

    Args:
        record: The mapping; it is not changed.

    Raises:
        KeyError: If the mapping is not one of `to_json`'s.
        ValueError: If its kind is unknown.
    """
    values = dict(record)
    values["launch_line"] = tuple(values["launch_line"])
    if values.pop("outcome") == "success":
        return Success(**values)
    values["kind"] = FailureKind(values["kind"])
    return Failure(**values)
