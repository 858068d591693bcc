"""The three allowances of an ensemble, and what each failure is charged to. Pure decisions, no I/O.

Infrastructure lost: the run goes again and is charged nothing, but a storm of losses ends the ensemble. Solver failed:
the run goes again a few times, with the remedy that its wrapper names. Bad physics: the run is quarantined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from sim_wrappers.protocol import RunRequest
from surrogate.core.outcome import Budget, Failure

_FIRST_DELAY_S = 0.25
_LONGEST_DELAY_S = 30.0


@dataclass(frozen=True, slots=True)
class Budgets:
    """How often what may be tried again.

    Attributes:
        infrastructure: Losses of one run after which it is given up. A run that takes its node down with it looks like
            a lost node, so that even this has an end.
        solver: Further attempts of one run after failures of the solver.
        storm: Losses in a row, over all runs and beyond two for each worker, after which the ensemble stops.
    """

    infrastructure: int = 10
    solver: int = 2
    storm: int = 6


class Ruling(StrEnum):
    """What becomes of a run that failed."""

    AGAIN = "again"
    GIVEN_UP = "given_up"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Account:
    """What a run has used up so far.

    Attributes:
        attempts: Executions that ended, whatever their end.
        losses: Those that the infrastructure lost.
        solver_failures: Those in which the solver failed.
        remedies: Remedies that the next attempt applies, oldest first.
    """

    attempts: int = 0
    losses: int = 0
    solver_failures: int = 0
    remedies: tuple[str, ...] = ()

    def request(self, request: RunRequest) -> RunRequest:
        """Return the next attempt at a run."""
        return replace(request, attempt=self.attempts + 1, remedies=self.remedies)

    def charged(self, failure: Failure) -> Account:
        """Return the account after one more failure."""
        account = replace(self, attempts=max(self.attempts + 1, failure.attempt))
        if failure.budget is Budget.INFRASTRUCTURE:
            return replace(account, losses=self.losses + 1)
        if failure.budget is Budget.SOLVER:
            remedies = self.remedies
            if failure.remedy is not None and failure.remedy not in remedies:
                remedies = (*remedies, failure.remedy)
            return replace(account, solver_failures=self.solver_failures + 1, remedies=remedies)
        return account


def rule(failure: Failure, account: Account, budgets: Budgets) -> Ruling:
    """Decide what becomes of a run.

    Args:
        failure: Its last failure.
        account: Its account, that failure included.
        budgets: What may be tried again.
    """
    if failure.budget is Budget.PHYSICS:
        return Ruling.QUARANTINED
    if failure.budget is Budget.INFRASTRUCTURE:
        return Ruling.AGAIN if account.losses <= budgets.infrastructure else Ruling.GIVEN_UP
    if not failure.retryable or account.solver_failures > budgets.solver:
        return Ruling.GIVEN_UP
    return Ruling.AGAIN


def delay_s(failure: Failure, account: Account) -> float:
    """Return the seconds to wait before the next attempt: longer with each loss of the same run."""
    if failure.budget is not Budget.INFRASTRUCTURE:
        return 0.0
    return float(min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2.0 ** (account.losses - 1)))
