"""Variants of the site slurm-local, and ensembles on them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from site_configs.load import load_site, read_site
from site_configs.site import Site
from surrogate.core.outcome import FailureKind
from tests.support.ensembles import Ensemble
from tests.support.slurm import Cluster
from workflows.jobs import block_prefix
from workflows.journal import read_state

REPOSITORY = Path(__file__).parents[2]


def site_file(folder: Path, *, nodes: int = 2, nodes_per_job: int = 1, more: str = "", **partition: Any) -> Path:
    """Write a site that extends slurm-local and return its file.

    Args:
        folder: Where it goes.
        nodes: Nodes of all blocks together.
        nodes_per_job: Nodes of a block.
        more: Further lines of TOML.
        **partition: Changes of the partition for simulations.
    """
    own = {"name": "debug", "nodes_per_job": nodes_per_job, "walltime_s": 600, **partition}
    lines = [f"{key} = {json.dumps(value)}" for key, value in own.items()]
    text = f'schema_version = 1\nextends = "slurm-local"\nnodes = {nodes}\n\n[partitions.simulate]\n'
    path = folder / "mine.toml"
    path.write_text(text + "\n".join(lines) + f"\n\n{more}\n")
    return path


def site_of(folder: Path, **changes: Any) -> Site:
    """Return such a site."""
    return read_site(site_file(folder, **changes)) if changes else load_site("slurm-local")


def wait_until(condition: Callable[[], object], seconds: float = 90.0) -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.1)


def blocks(cluster: Cluster, ensemble: Ensemble) -> dict[str, str]:
    """Return node → number of the running block on it, for blocks of one node."""
    lines = cluster.run("squeue", "--noheader", "--states=RUNNING", "--format=%N %i %j").splitlines()
    prefix = block_prefix(ensemble.campaign, "")
    return {node: job for node, job, name in map(str.split, lines) if name.startswith(prefix)}


def losses(ensemble: Ensemble) -> Mapping[str, int]:
    """Return kind of failure → how often, from the journal."""
    loaded = read_state(ensemble.workdir / "journal")
    assert loaded is not None
    return loaded.state.failures


def check_ledger(ensemble: Ensemble) -> None:
    """Check that every run came to its end, and was begun again only as often as it was lost."""
    loaded = read_state(ensemble.workdir / "journal")
    assert loaded is not None
    starts, ends = ensemble.executions("start"), ensemble.executions("end")
    assert set(starts) == {one.run_id for one in ensemble.requests}
    for run_id, run in loaded.state.runs.items():
        lost, solver, physics = run.charged
        assert (solver, physics) == (0, 0)
        assert 1 <= ends[run_id] <= starts[run_id] <= 1 + lost, (run_id, starts[run_id], ends[run_id], lost)


def infrastructure(kinds: Mapping[str, int]) -> bool:
    """Tell whether all failures are charged to the infrastructure."""
    return all(FailureKind(kind).budget == "infrastructure" for kind in kinds)


def driver(ensemble: Ensemble, site: Path) -> subprocess.Popen[bytes]:
    """Start a driver of an ensemble in a process that can be killed."""
    case = ensemble.workdir.parent / "case.json"
    case.write_text(ensemble.to_json())
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.slurm_sites", str(case), str(site)],
        cwd=REPOSITORY, stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    print(Ensemble.from_json(Path(sys.argv[1]).read_text()).run(site=read_site(Path(sys.argv[2]))).counts)
