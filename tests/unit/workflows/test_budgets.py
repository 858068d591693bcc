"""Each kind of failure is charged to its budget, and each budget has its end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_wrappers.protocol import RunRequest
from surrogate.core.outcome import Budget, Failure, FailureKind
from workflows.budgets import Account, Budgets, Ruling, delay_s, rule

BUDGETS = Budgets(infrastructure=3, solver=2)


def failure(kind: FailureKind, attempt: int = 1, **more) -> Failure:
    return Failure("r", kind, "It failed.", attempt=attempt, **more)


def rulings(kinds, budgets=BUDGETS):
    account, found = Account(), []
    for number, kind in enumerate(kinds, start=1):
        one = failure(kind, number)
        account = account.charged(one)
        found.append(rule(one, account, budgets))
    return account, found


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([FailureKind.NODE_LOST] * 4, ["again", "again", "again", "given_up"]),
        ([FailureKind.TIMEOUT] * 3, ["again", "again", "given_up"]),
        ([FailureKind.NOT_FINITE], ["quarantined"]),
        (
            [FailureKind.NODE_LOST, FailureKind.EXIT_STATUS, FailureKind.NODE_LOST, FailureKind.EXIT_STATUS],
            ["again"] * 4,
        ),
        ([FailureKind.EXIT_STATUS, FailureKind.NODE_LOST, FailureKind.NOT_PHYSICAL], ["again", "again", "quarantined"]),
    ],
)
def test_the_three_budgets(kinds, expected):
    assert rulings(kinds)[1] == [Ruling(word) for word in expected]


@settings(deadline=None)
@given(st.lists(st.sampled_from(FailureKind), max_size=12))
def test_every_failure_is_charged_once_and_to_its_own_budget(kinds):
    account, _ = rulings(kinds)
    assert account.attempts == len(kinds)
    assert account.losses == sum(kind.budget is Budget.INFRASTRUCTURE for kind in kinds)
    assert account.solver_failures == sum(kind.budget is Budget.SOLVER for kind in kinds)


@settings(deadline=None)
@given(st.lists(st.sampled_from([kind for kind in FailureKind if kind.budget is not Budget.PHYSICS]), max_size=40))
def test_no_run_goes_on_for_ever(kinds):
    again = [ruling is Ruling.AGAIN for ruling in rulings(kinds)[1]]
    assert sum(again) <= BUDGETS.infrastructure + BUDGETS.solver


def test_what_cannot_be_helped_is_not_tried_again():
    one = failure(FailureKind.UNCONVERGED, retryable=False)
    assert rule(one, Account().charged(one), BUDGETS) is Ruling.GIVEN_UP


def test_remedies_pile_up_in_order_and_once():
    account = Account()
    for attempt, remedy in enumerate(["damping", None, "smaller_step", "damping"], start=1):
        account = account.charged(failure(FailureKind.UNCONVERGED, attempt, remedy=remedy))
    request = account.request(RunRequest("r", "scripted", {}, {"x": 1.0}))
    assert request.remedies == ("damping", "smaller_step")
    assert request.attempt == 5


def test_losses_leave_remedies_and_the_solvers_budget_alone():
    account = Account().charged(failure(FailureKind.UNCONVERGED, remedy="damping"))
    lost = account.charged(failure(FailureKind.WALLTIME, 2))
    assert (lost.remedies, lost.solver_failures, lost.losses, lost.attempts) == (("damping",), 1, 1, 2)


def test_a_run_that_is_lost_again_and_again_waits_longer():
    account, delays = Account(), []
    for attempt in range(1, 12):
        one = failure(FailureKind.NODE_LOST, attempt)
        account = account.charged(one)
        delays.append(delay_s(one, account))
    assert delays == sorted(delays)
    assert 0.0 < delays[0] < 1.0
    assert delays[-1] == 30.0
    solver = failure(FailureKind.EXIT_STATUS)
    assert delay_s(solver, Account().charged(solver)) == 0.0
