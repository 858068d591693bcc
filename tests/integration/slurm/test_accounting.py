"""The same with accounting as without: results, and what an ended job was; accounts and limits are heeded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from site_configs.scheduler import Slurm
from surrogate.core.errors import SiteError
from surrogate.data.dataset import Dataset
from tests.support.ensembles import Ensemble
from tests.support.slurm import Cluster, missing
from tests.support.slurm_sites import losses, site_of, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def accounted(watched, tmp_path_factory) -> Iterator[Cluster]:
    """Start two nodes with slurmdbd behind them."""
    absent = missing(accounting=True)
    if absent is not None:
        pytest.skip(absent)
    one = Cluster(tmp_path_factory.mktemp("sdb"), nodes=2, accounting=True)
    try:
        one.start()
        yield one
    finally:
        one.stop()


@pytest.fixture
def accounting(accounted, monkeypatch) -> Iterator[Cluster]:
    """Give a test the cluster with accounting."""
    monkeypatch.setenv("SLURM_CONF", str(accounted.conf))
    yield accounted
    left = accounted.jobs_after(5.0)
    accounted.cancel_all()
    assert left == []


def test_results_are_the_same_with_and_without(accounting, tmp_path, monkeypatch, running_cluster):
    hashes = []
    for name, one in (("with", accounting), ("without", running_cluster)):
        monkeypatch.setenv("SLURM_CONF", str(one.conf))
        ensemble = Ensemble(tmp_path / name, 8)
        # Nothing but the sacct that is there or not tells the two apart.
        assert ensemble.run(site=site_of(tmp_path, nodes=1)).counts.finished == 8
        hashes.append(Dataset.open(ensemble.workdir / "dataset", verify="hash").hash)
        assert losses(ensemble) == {}
        running_cluster.cancel_all()
    assert hashes[0] == hashes[1]


def test_what_squeue_has_forgotten_the_accounting_knows(accounting, tmp_path, monkeypatch):
    done = accounting.run("sbatch", "--parsable", "--output=/dev/null", "--wrap=true").strip()
    stopped = accounting.run("sbatch", "--parsable", "--output=/dev/null", "--wrap=exec sleep 60").strip()
    wait_until(lambda: (stopped, "RUNNING") in accounting.jobs())
    accounting.run("scancel", stopped)
    wait_until(lambda: accounting.jobs() == [])
    forgetful = tmp_path / "bin"
    forgetful.mkdir()
    (forgetful / "squeue").write_text("#!/bin/bash\nexit 0\n")
    (forgetful / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{forgetful}{os.pathsep}{os.environ['PATH']}")
    slurm = Slurm()
    wait_until(lambda: {job.state for job in slurm.jobs([done, stopped]).values()} == {"COMPLETED", "CANCELLED"}, 30.0)
    assert slurm.jobs([done, "99999"]).keys() == {done}


def test_an_account_that_is_not_ours_is_refused_in_sbatchs_own_words(accounting, tmp_path):
    begin = time.monotonic()
    with pytest.raises(SiteError, match=r"SLURM refuses the jobs.*Invalid account"):
        Ensemble(tmp_path / "w", 4).run(site=site_of(tmp_path, account="nobodys"))
    assert time.monotonic() - begin < 10.0
    assert accounting.jobs() == []


def test_a_full_queue_is_waited_for_and_not_stormed(accounting, tmp_path):
    accounting.run("sacctmgr", "-i", "modify", "user", accounting.user, "set", "MaxSubmitJobs=1")
    try:
        ensemble = Ensemble(tmp_path / "w", 12, seconds=0.5)
        assert ensemble.run(site=site_of(tmp_path, nodes=2)).counts.finished == 12
        scripts = list((ensemble.workdir / "logs" / "parsl").glob("*/submit_scripts/*.sh"))
        assert len(scripts) == 2
        text = (accounting.folder / "log" / "slurmctld.log").read_text()
        assert 1 <= text.count("_slurm_rpc_submit_batch_job: Job violates accounting/QOS policy") <= 8
    finally:
        accounting.run("sacctmgr", "-i", "modify", "user", accounting.user, "set", "MaxSubmitJobs=-1")
