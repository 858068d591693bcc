"""A site drafted from the cluster runs a campaign as it is: runs over two nodes, training over two nodes."""

from __future__ import annotations

import json

import pytest

from site_configs.load import user_folder
from tests.support.campaigns import json_of, one_sentence, surrogate

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.mpi,
    pytest.mark.parsl,
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.e2e,
]
CAMPAIGN = """
schema_version = 1
name = "drafted"
[simulator]
name = "buckley_leverett"
[inputs]
M = { low = 0.5, high = 20.0, scale = "log10" }
Swc = { low = 0.0, high = 0.3 }
Sor = { low = 0.0, high = 0.3 }
[design]
runs = 12
[split]
tune = 0.2
holdout = 0.3
minimum = { train = 4, tune = 1, holdout = 1 }
[resources]
nodes = 2
ranks = 2
walltime = 120
[model]
members = 1
[train]
nodes = 2
ranks = 2
epochs = 10
[gate.metrics]
relative_l2_median = { max = 10.0 }
"""


@pytest.mark.timeout(600)
def test_a_drafted_site_runs_a_campaign_unedited(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = surrogate("site", "new", "drafted", "--from-cluster")
    assert made.returncode == 0, made.stderr
    assert str(user_folder() / "drafted.toml") in made.stdout
    again = surrogate("site", "new", "drafted", "--from-cluster")
    assert again.returncode == 2
    assert "exists already" in one_sentence(again)
    path = tmp_path / "campaign.toml"
    path.write_text(CAMPAIGN)
    workdir = tmp_path / "w"
    ended = surrogate("run", path, "--site", "drafted", "--workdir", workdir, "--json", timeout_s=550)
    assert ended.returncode == 0, ended.stderr
    assert json_of(ended)["verdict"]["passed"]
    manifest = json.loads((workdir / "dataset" / "manifest.json").read_text())
    assert sum(shard["samples"] for shard in manifest["shards"]) == 12
    job = next((workdir / "training").glob("*/artifact/surrogate.json"))
    assert json.loads(job.read_text())["training"]["ranks"] == 2
