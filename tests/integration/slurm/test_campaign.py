"""Buckley–Leverett from its campaign file to its verdict on SLURM, its driver stopped and killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from site_configs.load import load_site
from surrogate.core.outcome import Budget
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged
from surrogate.data.dataset import Dataset
from surrogate.data.writer import DatasetWriter
from tests.support.campaigns import command, json_of, surrogate
from tests.support.slurm_sites import wait_until
from workflows.checked_plan import plan_campaign
from workflows.config import load_campaign
from workflows.driver import driving, prepare
from workflows.ensemble import run_ensemble
from workflows.journal import read_state
from workflows.progress import Silent
from workflows.stopping import Stopping

pytestmark = [
    pytest.mark.slurm, pytest.mark.mpi, pytest.mark.train, pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600),
]  # fmt: skip

CAMPAIGN = """
schema_version = 1
name = "displacement"
seed = 1
[simulator]
name = "buckley_leverett"
[design]
runs = 28
[resources]
nodes = {nodes}
ranks = 2
walltime = 120
[split]
tune = 0.15
holdout = 0.25
minimum = {{ train = 8, tune = 2, holdout = 3 }}
[model]
members = 1
[train]
epochs = 60
nodes = 2
ranks = 2
[gate.metrics]
relative_l2_median = {{ max = 10.0 }}
"""


def written(folder: Path, nodes: int) -> Path:
    path = folder / "displacement.toml"
    path.write_text(CAMPAIGN.format(nodes=nodes))
    return path


def ended(workdir: Path) -> int:
    """Return how many runs have finished."""
    loaded = read_state(workdir / "journal") if (workdir / "journal").is_dir() else None
    return 0 if loaded is None else loaded.state.ended["success"]


def stopped(cluster, path: Path, workdir: Path, after: int, number: signal.Signals) -> None:
    """Run a campaign and end its driver by a signal when `after` runs have finished."""
    words = command("run", path, "--site", "slurm-local", "--workdir", workdir)
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as driver:
        wait_until(lambda: ended(workdir) >= after or driver.poll() is not None, seconds=180.0)
        assert driver.poll() is None
        os.kill(driver.pid, number)
        driver.wait(60.0)
    assert driver.returncode == (130 if number == signal.SIGTERM else -number)


def laptop_hash(path: Path, workdir: Path) -> str:
    """Return the hash of the dataset that the campaign makes without any scheduler."""
    plan = plan_campaign(load_campaign(path))
    workspace = prepare(plan, workdir, "laptop")
    with driving(plan.campaign, workspace, Silent(), Stopping()) as driver:
        runs = [run.record() for run in plan.runs]
        driver.journal.append({"event": "runs.planned", "runs": runs})
        run_ensemble(
            plan.requests, workdir=workspace.root, site=load_site("laptop"), campaign=driver.journal.uid,
            schema=plan.schema, journal=driver.journal, dataset_writer=DatasetWriter(workspace.dataset, plan.schema),
        )  # fmt: skip
    return Dataset.open(workspace.dataset, verify="hash").hash


def test_a_campaign_comes_to_its_verdict_over_four_nodes(cluster, tmp_path):
    workdir = tmp_path / "w"
    stopped(cluster, written(tmp_path, nodes=1), workdir, 4, signal.SIGTERM)
    assert cluster.jobs_after(10.0) == []
    # From here on every run spans two nodes; the campaign is the same.
    path = written(tmp_path, nodes=2)
    stopped(cluster, path, workdir, 12, signal.SIGKILL)
    assert cluster.jobs() != []
    result = json_of(surrogate("run", path, "--site", "slurm-local", "--workdir", workdir, "--json", timeout_s=400.0))
    assert result.get("passed"), result
    loaded = read_state(workdir / "journal")
    assert loaded is not None
    state = loaded.state
    lines = " | ".join(state.launch_lines)
    assert "-ppn 2" in lines
    assert "-ppn 1 -bind-to none -hosts n" in lines
    # What was cut off with its driver is a loss, charged to nothing; nothing else may have failed.
    assert set(state.failures) <= {"interrupted"}
    assert all(run.charged_to(Budget.SOLVER) == run.charged_to(Budget.PHYSICS) == 0 for run in state.runs.values())
    assert state.ended["success"] == 28
    trained = " ".join(state.stages["train"].record["launch_line"])
    assert "srun --nodes=2 --ntasks=2 --ntasks-per-node=1" in trained
    assert "--mpi=pmi2" in trained
    described = json.loads(next((workdir / "training").glob("*/artifact/surrogate.json")).read_text())
    assert described["training"]["ranks"] == 2
    assert cluster.jobs_after(10.0) == []
    assert not find_tagged(CAMPAIGN_VARIABLE, loaded.uid)
    assert result["dataset_hash"] == laptop_hash(written(tmp_path, nodes=1), tmp_path / "laptop")
