"""Every way in which SLURM takes nodes away while runs are going: each ends in a finished ensemble, ledger exact."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import psutil
import pytest

from surrogate.core.errors import SiteError
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged
from surrogate.data.dataset import Dataset
from tests.support.ensembles import Ensemble
from tests.support.slurm_sites import (
    blocks,
    check_ledger,
    driver,
    infrastructure,
    losses,
    site_file,
    site_of,
    wait_until,
)
from workflows.budgets import Budgets
from workflows.jobs import jobs_of

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(400)]
PATIENT = Budgets(storm=60)
INTERCHANGE, MANAGER, PROGRAM = "site_configs.interchange", "site_configs.manager", "scripted.program"


def processes(campaign: str, words: str) -> list[int]:
    found = []
    for pid in find_tagged(CAMPAIGN_VARIABLE, campaign):
        try:
            if words in " ".join(psutil.Process(pid).cmdline()):
                found.append(pid)
        except psutil.Error:
            continue
    return found


class Trouble(threading.Thread):
    """Makes trouble while an ensemble runs; what goes wrong with that is told to the test."""

    def __init__(self, make) -> None:
        super().__init__()
        self.make, self.error = make, None

    def run(self) -> None:
        try:
            self.make()
        except BaseException as error:  # noqa: BLE001 - raised again by `check`
            self.error = error

    def check(self) -> None:
        self.join()
        if self.error is not None:
            raise self.error


def undisturbed(tmp_path, count: int) -> str:
    ensemble = Ensemble(tmp_path / "calm", count)
    ensemble.run()
    return Dataset.open(ensemble.workdir / "dataset").hash


def test_blocks_and_nodes_may_be_lost_in_every_way(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 90, seconds=5.0, per_shard=32)

    def busy() -> dict[str, str]:
        """Return the blocks when each of the four executes two runs."""
        wait_until(lambda: len(blocks(cluster, ensemble)) == 4 and len(processes(ensemble.campaign, PROGRAM)) == 8)
        return blocks(cluster, ensemble)

    def make() -> None:
        first = busy()
        cluster.run("scontrol", "update", f"jobid={first['n2']}", "EndTime=now")
        cluster.crash("n3")
        cluster.run("scancel", first["n4"])
        wait_until(lambda: set(first.values()).isdisjoint({first["n1"]} ^ set(blocks(cluster, ensemble).values())))
        cluster.resume(["n3"])
        second = busy()
        cluster.run("scontrol", "update", "nodename=n1", "state=down", "reason=test")
        cluster.run("scontrol", "update", f"jobid={second['n2']}", "requeue=1")
        cluster.run("scontrol", "requeue", second["n2"])
        urgent = ("--partition=urgent", "--nodelist=n3", "--exclusive", "--output=/dev/null", "--wrap=exec sleep 1")
        cluster.run("sbatch", *urgent)
        wait_until(lambda: {second[node] for node in ("n1", "n2", "n3")}.isdisjoint(blocks(cluster, ensemble).values()))
        cluster.resume(["n1"])
        third = busy()
        os.kill(processes(ensemble.campaign, MANAGER)[0], signal.SIGKILL)
        wait_until(lambda: set(third.values()) != set(blocks(cluster, ensemble).values()))
        for pid in processes(ensemble.campaign, INTERCHANGE):
            os.kill(pid, signal.SIGKILL)

    trouble = Trouble(make)
    trouble.start()
    result = ensemble.run(site=site_of(tmp_path, nodes=4), budgets=PATIENT)
    trouble.check()
    assert (result.counts.finished, result.counts.failed, result.counts.quarantined) == (90, 0, 0)
    check_ledger(ensemble)
    kinds = losses(ensemble)
    assert infrastructure(kinds), kinds
    assert {"interrupted", "walltime", "node_lost", "preempted"} <= set(kinds), kinds
    assert jobs_of(ensemble.campaign) == []
    assert Dataset.open(ensemble.workdir / "dataset", verify="hash").hash == undisturbed(tmp_path, 90)


def test_a_silent_controller_is_waited_for(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 30, seconds=1.5)

    def make() -> None:
        wait_until(lambda: len(ensemble.executions("end")) >= 2)
        cluster.daemons.kill("slurmctld")
        time.sleep(20.0)
        cluster.start_controller()

    trouble = Trouble(make)
    trouble.start()
    result = ensemble.run(site=site_of(tmp_path, nodes=1))
    trouble.check()
    assert (result.counts.finished, result.counts.losses) == (30, 0)
    assert set(ensemble.executions().values()) == {1}


def test_a_killed_driver_repeats_and_loses_nothing(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 24, seconds=0.7)
    site = site_file(tmp_path, nodes=2)
    started = driver(ensemble, site)
    wait_until(lambda: len(ensemble.executions("end")) >= 6)
    started.kill()
    started.wait()
    left = ensemble.settle()
    assert left.jobs == 2
    assert jobs_of(ensemble.campaign) == []
    assert not find_tagged(CAMPAIGN_VARIABLE, ensemble.campaign)
    result = ensemble.run(site=site_of(tmp_path, nodes=2))
    assert result.counts.finished == 24
    assert result.counts.adopted >= len(left.finished)
    assert set(ensemble.executions().values()) == {1}


REFUSALS = {
    "partition": ({"name": "nowhere"}, "invalid partition"),
    "walltime": ({"name": "small", "walltime_s": 7200}, "time limit"),
    "nodes": ({"nodes_per_job": 8, "nodes": 8}, "More processors requested than permitted|[Nn]ode count"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_told_at_once_in_sbatchs_own_words(cluster, tmp_path, case):
    changes, words = REFUSALS[case]
    asked = _submissions(cluster)
    begin = time.monotonic()
    with pytest.raises(SiteError, match=f"SLURM refuses the jobs.*(?:{words})"):
        Ensemble(tmp_path / "w", 4).run(site=site_of(tmp_path, **changes))
    assert time.monotonic() - begin < 10.0
    assert _submissions(cluster) - asked <= 1
    assert cluster.jobs() == []


def _submissions(cluster) -> int:
    """Return how many submissions the controller has refused so far."""
    text = (cluster.folder / "log" / "slurmctld.log").read_text()
    return len(re.findall(r"_slurm_rpc_submit_batch_job: (?!JobId)", text))


def test_workers_that_cannot_start_end_the_ensemble_after_three_blocks(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 4)
    setup = '[environment]\nsetup = ["echo the module gcc/99 is unknown >&2", "exit 7"]'
    with pytest.raises(SiteError, match=r"end before they have done anything.*the module gcc/99 is unknown"):
        ensemble.run(site=site_of(tmp_path, nodes=1, more=setup))
    scripts = list((ensemble.workdir / "logs" / "parsl").glob("*/submit_scripts/*.sh"))
    assert 3 <= len(scripts) <= 4
    assert not ensemble.executions()
