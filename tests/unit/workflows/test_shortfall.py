"""What is said when runs gave too little: everything at once, as a failure and not as bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.core.errors import DataError, SplitError
from surrogate.core.outcome import Failure, FailureKind
from surrogate.data.split import SplitCount
from tests.support.campaigns import write_campaign
from workflows.checked_plan import plan_campaign
from workflows.config import load_campaign
from workflows.driver import driving, prepare
from workflows.progress import Silent
from workflows.shortfall import check_share, check_splits
from workflows.simulate import spent
from workflows.status import status
from workflows.stopping import Stopping

ENOUGH = {"train": SplitCount(20, 20), "tune": SplitCount(8, 8), "holdout": SplitCount(12, 12)}


@pytest.fixture
def crashed(tmp_path: Path):
    """A campaign of 40 runs of which those crashed that lie in the upper part of one input."""
    plan = plan_campaign(load_campaign(write_campaign(tmp_path)))
    workspace = prepare(plan, tmp_path / "w", "laptop")
    with driving(plan.campaign, workspace, Silent(), Stopping()) as driver:
        driver.journal.append({"event": "runs.planned", "runs": [run.record() for run in plan.runs]})
        name = plan.space.names[0]
        for run in sorted(plan.runs, key=lambda one: one.request.inputs[name])[28:]:
            failure = Failure(
                run_id=run.request.run_id, kind=FailureKind.EXIT_STATUS, message="It ended by signal 6.", attempt=9
            )
            driver.journal.append({"event": "run.failed", **failure.to_json()})
        yield driver, plan, spent(driver, plan), name


def test_all_that_stops_the_campaign_is_said_at_once(crashed):
    driver, plan, cost, _ = crashed
    assert len(cost.failures) == 12
    few = {**ENOUGH, "tune": SplitCount(2, 2), "train": SplitCount(5, 5)}
    with pytest.raises(DataError) as told:
        check_share(driver, plan, cost, few)
    sentence = str(told.value)
    assert told.value.exit_code == 1, "runs were executed: nothing is wrong with what was asked"
    assert sentence.startswith("12 of 40 runs gave no data (12 exit_status), and")
    assert "'failures.allowed_share' is 0.2 of 40" in sentence
    assert "The first said: It ended by signal 6." in sentence
    assert "The split 'train' has 5 samples" in sentence
    assert "The split 'tune' has 2 samples" in sentence
    assert "a program that is built anew is another version and needs a new --workdir" in sentence
    assert "  " not in sentence
    found = status(driver.workspace.root)
    assert f"The campaign stopped before 'assemble': {sentence}" in found.notes
    assert DataError("x").exit_code == 2, "only that one error was changed"


def test_a_cluster_of_failures_is_told_where_it_is_found(crashed):
    driver, plan, cost, name = crashed
    for run in plan.runs:  # a cluster needs admitted runs
        known = driver.journal.state.runs[run.request.run_id]
        if known.failure is None:
            driver.journal.state.move(known, type(known.status).DONE, 1)
    with pytest.raises(DataError, match=f"Failures cluster where '{name}' is between"):
        check_share(driver, plan, cost, ENOUGH)
    with pytest.raises(SplitError, match=f"12 of 40 runs gave no data. Failures cluster where '{name}'") as told:
        check_splits(driver, plan, cost, {**ENOUGH, "tune": SplitCount(2, 2)})
    assert told.value.exit_code == 1


def test_before_the_end_nothing_is_said_of_splits(crashed):
    driver, plan, cost, _ = crashed
    with pytest.raises(DataError, match=r"12 of 30 runs gave no data .*; the other 10 were not waited for\. The first"):
        check_share(driver, plan, cost, ended=30)


def test_what_is_enough_is_not_refused(crashed):
    driver, plan, cost, _ = crashed
    check_splits(driver, plan, cost, ENOUGH)
    driver.campaign.failures.__dict__["allowed_share"] = 0.5
    check_share(driver, plan, cost, ENOUGH)
