"""What is submitted from inside an allocation is the same as from a login node."""

from __future__ import annotations

import sys

import pytest

from tests.support.slurm_sites import REPOSITORY, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(120)]

INNER = """#!/bin/bash
#SBATCH --job-name=inner
#SBATCH --nodes=1
#SBATCH --output={folder}/inner.out
env > {folder}/inner.part
mv {folder}/inner.part {folder}/inner.env
"""
OUTER = """#!/bin/bash
#SBATCH --job-name=outer
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --mem-per-cpu=100
#SBATCH --output={folder}/outer.out
export SBATCH_PARTITION=nowhere SBATCH_TIMELIMIT=99-0 SLURM_CPU_BIND=cores PMI_RANK=3
cd {repository}
exec {python} -c "
from pathlib import Path
from site_configs.scheduler import Slurm
Slurm().submit(Path('{folder}/inner.sh'))"
"""


def test_nothing_of_an_enclosing_allocation_leaks(cluster, tmp_path):
    (tmp_path / "inner.sh").write_text(INNER.format(folder=tmp_path))
    outer = tmp_path / "outer.sh"
    outer.write_text(OUTER.format(folder=tmp_path, python=sys.executable, repository=REPOSITORY))
    plain = cluster.run("sbatch", "--parsable", str(tmp_path / "inner.sh")).strip()
    wait_until((tmp_path / "inner.env").exists)
    expected = variables(tmp_path)
    (tmp_path / "inner.env").unlink()
    cluster.run("sbatch", str(outer))
    wait_until((tmp_path / "inner.env").exists)
    found = variables(tmp_path)
    assert "PMI_RANK" not in found
    assert found["SLURM_JOB_NAME"] == "inner"
    # Numbers of jobs and processes, nodes and the clock differ; the names of the variables are the same.
    assert set(found) == set(expected)
    for name in ("SLURM_NNODES", "SLURM_JOB_PARTITION", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"):
        assert found[name] == expected[name], name
    assert plain


def variables(folder) -> dict[str, str]:
    """Return what a job's environment says of SLURM and of MPI."""
    lines = (folder / "inner.env").read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    return {name: value for name, value in pairs.items() if name.startswith(("SLURM", "SBATCH", "PMI", "SALLOC"))}
