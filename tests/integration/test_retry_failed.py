"""Runs that failed for good are tried again on demand, with whole budgets; what was not physical never is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sim_wrappers.scripted.adapter import mode_of
from site_configs.load import load_site
from surrogate.data.dataset import Dataset
from tests.support.campaigns import executions, write_campaign
from workflows.checked_plan import plan_campaign
from workflows.config import load_campaign
from workflows.driver import driving, prepare
from workflows.journal import RunStatus, read_state
from workflows.progress import Silent
from workflows.simulate import simulate
from workflows.stopping import Stopping

pytestmark = [pytest.mark.parsl, pytest.mark.slow]

OPTIONS = """where = [
    { mode = "flaky", input = "a", low = 0.0, high = 0.1 },
    { mode = "fail", input = "a", low = 0.1, high = 0.2 },
    { mode = "nan", input = "a", low = 0.9, high = 1.0 },
]
"""
FAILURES = "[failures]\nsolver = 0\nallowed_share = 1.0\n[design]"


class Told(Silent):
    """Keeps what a person is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, message: str) -> None:
        self.sentences.append(message)


def test_failed_runs_begin_anew_on_demand(tmp_path: Path) -> None:
    path = write_campaign(tmp_path, options=OPTIONS, runs=40)
    path.write_text(path.read_text().replace("[design]", FAILURES))
    campaign = load_campaign(path)
    plan = plan_campaign(campaign)
    workspace = prepare(plan, tmp_path / "w", "laptop")
    modes = {one.run_id: mode_of(one) for one in plan.requests}
    number = Counter(modes.values())
    assert min(number[mode] for mode in ("flaky", "fail", "nan", "ok")) >= 2

    def once(*, retry_failed: bool) -> tuple[Dataset, Counter[tuple[str, int]], str]:
        """Simulate; return the data, how many runs of each mode were started how often, and what was said."""
        told = Told()
        with driving(campaign, workspace, told, Stopping()) as driver:
            dataset = simulate(driver, plan, load_site("laptop"), retry_failed=retry_failed)
        starts = Counter((modes[run], what.count("start")) for run, what in executions(tmp_path).items())
        return dataset, starts, " ".join(told.sentences)

    dataset, starts, told = once(retry_failed=False)
    assert set(starts) == {("ok", 1), ("flaky", 1), ("fail", 1), ("nan", 1)}
    assert len(dataset) == number["ok"]
    assert f"{number['flaky'] + number['fail']} of 40 runs failed for good" in told
    assert f"surrogate resume {workspace.root} --retry-failed" in told

    dataset, starts, _ = once(retry_failed=False)
    assert set(starts) == {("ok", 1), ("flaky", 1), ("fail", 1), ("nan", 1)}

    dataset, starts, told = once(retry_failed=True)
    assert set(starts) == {("ok", 1), ("flaky", 2), ("fail", 2), ("nan", 1)}
    assert len(dataset) == number["ok"] + number["flaky"]
    assert f"{number['flaky'] + number['fail']} runs that had failed are tried again." in told
    loaded = read_state(workspace.journal)
    assert loaded is not None
    assert loaded.state.counts[RunStatus.FAILED] == number["fail"]
    assert loaded.state.counts[RunStatus.QUARANTINED] == number["nan"]
    failed = next(loaded.state.with_status(RunStatus.FAILED))
    assert (failed.attempts, failed.charged) == (2, (0, 1, 0)), "attempts count on, and the budget began anew"
