"""Outcomes survive JSON, and each kind of failure has its budget."""

from __future__ import annotations

import json

import pytest

from surrogate.core.outcome import Budget, Failure, FailureKind, Success, outcome_from_json

SUCCESS = Success("r", "runs/r/run.h5", 10, "ab", 1, 2, 0.5, "host", ("mpiexec", "-n", "2"))
FAILURE = Failure(
    "r", FailureKind.UNCONVERGED, "It did not converge.", remedy="smaller", launch_line=("x",), details={"n": 1}
)


@pytest.mark.parametrize("outcome", [SUCCESS, FAILURE])
def test_json_round_trip(outcome: Success | Failure) -> None:
    record = json.loads(json.dumps(outcome.to_json()))
    assert outcome_from_json(record) == outcome
    assert record == outcome.to_json() | {"launch_line": list(outcome.launch_line)}


def test_every_kind_has_a_budget() -> None:
    by_budget = {budget: {kind for kind in FailureKind if kind.budget is budget} for budget in Budget}
    assert FailureKind.NODE_LOST in by_budget[Budget.INFRASTRUCTURE]
    assert FailureKind.UNCONVERGED in by_budget[Budget.SOLVER]
    assert by_budget[Budget.PHYSICS] == {
        FailureKind.NOT_FINITE, FailureKind.WRONG_SHAPE, FailureKind.WRONG_INPUTS, FailureKind.OUT_OF_BOUNDS,
        FailureKind.NOT_PHYSICAL,
    }  # fmt: skip
    assert FAILURE.budget is Budget.SOLVER


def test_what_is_no_outcome_is_an_error() -> None:
    with pytest.raises(KeyError):
        outcome_from_json({"run_id": "r"})
    with pytest.raises(ValueError, match="bad luck"):
        outcome_from_json(FAILURE.to_json() | {"kind": "bad luck"})
