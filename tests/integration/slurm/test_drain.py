"""Ahead of a walltime: a block begins nothing that would not end in it, and a training goes on in the next job."""

from __future__ import annotations

import threading

import pytest

from site_configs.resources import ResourceRequest
from surrogate.core.errors import Interrupted
from surrogate.training.progress import read_progress
from tests.support.campaigns import write_campaign
from tests.support.ensembles import Ensemble
from tests.support.slurm_sites import blocks, site_of, wait_until
from tests.support.trainings import write_dataset, write_training
from workflows.checked_plan import plan_campaign
from workflows.config import load_campaign
from workflows.driver import driving, prepare
from workflows.jobs import block_prefix
from workflows.journal import read_state
from workflows.progress import Silent
from workflows.stopping import Stopping
from workflows.training_run import run_training

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(240)]

SECONDS = 3.0
# Warned five seconds ahead, a job has too little time left for one more run, and enough for those that it has begun.
WALLTIME_S = 25


class Beside(threading.Thread):
    """Does something while the test waits for its campaign; what goes wrong with that is told to the test."""

    def __init__(self, work) -> None:
        super().__init__()
        self._work, self._error = work, None
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by `check`
            self._error = error

    def check(self) -> None:
        self.join()
        if self._error is not None:
            raise self._error


def warn(cluster, job: str) -> None:
    """Send a job what SLURM sends it ahead of its walltime."""
    cluster.run("scancel", "--batch", "--signal=USR1", job)


def test_a_block_near_its_walltime_begins_no_run_that_would_not_end_in_it(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 7, seconds=SECONDS, walltime_s=20)
    seen: set[str] = set()

    def warn_first() -> None:
        wait_until(lambda: blocks(cluster, ensemble))
        (first,) = blocks(cluster, ensemble).values()
        # SLURM itself must not end it, however slow this machine is.
        cluster.run("scontrol", "update", f"jobid={first}", "TimeLimit=10")
        seen.add(first)
        # Two runs have ended, so that it is known what one needs; the next two have begun.
        wait_until(lambda: len(ensemble.executions("end")) >= 2 and len(ensemble.executions("start")) >= 4)
        warn(cluster, first)
        wait_until(lambda: set(blocks(cluster, ensemble).values()) - seen)
        seen.update(blocks(cluster, ensemble).values())
        for job in seen - {first}:
            cluster.run("scontrol", "update", f"jobid={job}", "TimeLimit=10")

    beside = Beside(warn_first)
    result = ensemble.run(site=site_of(tmp_path, nodes=1, walltime_s=WALLTIME_S))
    beside.check()
    assert (result.counts.finished, result.counts.losses) == (7, 0)
    # Nothing that the first block had begun was lost, and the rest was not begun there in vain.
    assert set(ensemble.executions("start").values()) == set(ensemble.executions("end").values()) == {1}
    assert len(seen) == 2
    loaded = read_state(ensemble.workdir / "journal")
    assert loaded is not None
    assert loaded.state.failures == {}
    assert cluster.jobs_after(10.0) == []


def jobs(cluster, campaign: str) -> list[str]:
    """Return the campaign's running jobs."""
    lines = cluster.run("squeue", "--noheader", "--states=RUNNING", "--format=%i %j").splitlines()
    return [job for job, name in map(str.split, lines) if name.startswith(block_prefix(campaign, ""))]


@pytest.mark.train
@pytest.mark.slow
def test_a_training_goes_on_in_the_next_job_and_stops_when_its_driver_drains(cluster, tmp_path):
    campaign = load_campaign(write_campaign(tmp_path))
    workspace = prepare(plan_campaign(campaign), tmp_path / "w", "slurm-local")
    folder = workspace.training / "x"
    folder.mkdir(parents=True)
    endless = {"epochs": 1_000_000, "checkpoint_every_s": 0.01, "steps_per_call": 20}
    write_training(folder, write_dataset(tmp_path / "data" / "dataset"), 1, endless)
    stopping = Stopping()

    def told(event: str) -> list[dict]:
        return [found for found in read_progress(folder)[0] if found["event"] == event]

    def end_both() -> None:
        wait_until(lambda: told("checkpoint"))
        (job,) = jobs(cluster, uid[0])
        warn(cluster, job)
        wait_until(lambda: len(told("member")) == 2)
        reached = told("member")[-1]["epoch"]
        wait_until(lambda: told("checkpoint")[-1]["epoch"] > reached)
        stopping.draining.set()

    uid: list[str] = []
    with driving(campaign, workspace, Silent(), stopping) as driver:
        uid.append(driver.journal.uid)
        beside = Beside(end_both)
        with pytest.raises(Interrupted, match="goes on from its last checkpoint"):
            run_training(driver, site_of(tmp_path), folder, ResourceRequest(walltime_s=600))
        beside.check()
        assert driver.journal.state.training_losses == {"walltime": 2}
    assert len(told("started")) == len(told("drained")) == 2
    first, second = told("member")
    assert first["epoch"] == 0
    assert second["epoch"] > 0, "the second job went on where the first had stopped"
    assert not (folder / "artifact").exists()
    assert cluster.jobs_after(10.0) == []
