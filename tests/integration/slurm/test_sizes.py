"""Runs of several sizes in one block: each gets its nodes, none starves, none outlives its time."""

from __future__ import annotations

import re

import pytest

from sim_wrappers import catalog
from sim_wrappers.protocol import RunRequest
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ResourceError
from tests.support.ensembles import Ensemble, point
from tests.support.executions import request_for
from tests.support.slurm_sites import site_of
from workflows.budgets import Budgets
from workflows.journal import read_state

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(240)]
ONE, TWO, ACROSS = (ResourceRequest(*three, walltime_s=60) for three in ((1, 1, 1), (1, 2, 2), (2, 1, 2)))
SRUN = '[roles.simulate]\npartition = "simulate"\nlauncher = { dialect = "srun", options = ["--mpi=pmi2"] }'


def requests(ensemble: Ensemble, sizes: list[ResourceRequest], **modes: str) -> list[RunRequest]:
    """Return MPI runs of these sizes."""
    made = []
    for number, size in enumerate(sizes):
        mode = modes.get(f"run_{number}", "ok")
        options = {"mpi": True, "ledger": str(ensemble.ledger), "mode": mode, "seconds": 0.2}
        made.append(request_for(catalog.get("scripted"), point(number), options, resources=size))
    return made


@pytest.mark.parametrize("launcher", ["", SRUN], ids=["hydra", "srun"])
def test_runs_of_all_sizes_share_a_block(cluster, tmp_path, launcher):
    ensemble = Ensemble(tmp_path / "w", 9)
    sizes = [ACROSS, ONE, TWO, ONE, ACROSS, TWO, ONE, ACROSS, ONE]
    site = site_of(tmp_path, nodes=2, nodes_per_job=2, more=launcher)
    result = ensemble.run(site=site, requests=requests(ensemble, sizes))
    assert (result.counts.finished, result.counts.losses) == (9, 0)
    loaded = read_state(ensemble.workdir / "journal")
    assert loaded is not None
    ranks: dict[str, int] = {}
    for line, count in loaded.state.launch_lines.items():
        across = re.search(r"-hosts n(\d),n(?!\1)\d|--nodelist=n(\d),n(?!\2)\d", line)
        number = re.search(r" -n (\d)|--ntasks=(\d)", line)
        assert number is not None
        kind = f"{number[1] or number[2]}{' across' if across else ''}"
        ranks[kind] = ranks.get(kind, 0) + count
    assert ranks == {"1": 4, "2": 2, "2 across": 3}
    assert cluster.jobs_after(5.0) == []


def test_a_run_over_two_nodes_that_ignores_sigterm_dies_with_its_children(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 2)
    size = ResourceRequest(2, 1, 2, walltime_s=4)
    chosen = requests(ensemble, [size, size], run_0="stubborn")
    result = ensemble.run(
        site=site_of(tmp_path, nodes=2, nodes_per_job=2, more=SRUN), requests=chosen, budgets=Budgets(solver=0)
    )
    assert (result.counts.finished, result.counts.failed) == (1, 1)
    assert result.failures[chosen[0].run_id].kind == "timeout"
    loaded = read_state(ensemble.workdir / "journal")
    assert loaded is not None
    assert loaded.state.runs[chosen[0].run_id].charged == (0, 1, 0)
    # The fixture that watches over every test finds what is left of it.


def test_what_no_block_can_hold_is_refused_when_read(cluster, tmp_path):
    ensemble = Ensemble(tmp_path / "w", 1)
    for size, words in ((ResourceRequest(3, 1, 3, walltime_s=60), "3 nodes"), (ResourceRequest(1, 3, 3), "3 cores")):
        with pytest.raises(ResourceError, match=words):
            ensemble.run(site=site_of(tmp_path, nodes=2, nodes_per_job=2), requests=requests(ensemble, [size]))
    assert cluster.jobs() == []
