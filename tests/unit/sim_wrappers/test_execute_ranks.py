"""Runs of several ranks: started, told their number, ended with all that they started."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim_wrappers.protocol import Program, RunRequest
from site_configs.resources import ResourceRequest
from surrogate.core.outcome import FailureKind
from surrogate.core.process import is_alive
from surrogate.data.run_file import read_run_file
from tests.support.executions import (
    Telling,
    failed,
    run,
    scripted,
    stubborn_child,
    succeeded,
)
from tests.support.ranks import MPIEXEC


@pytest.mark.mpi
def test_hanging_ranks_are_ended_with_all_that_they_started(tmp_path: Path) -> None:
    two = ResourceRequest.resolve(ranks=2, walltime_s=3)
    outcome = failed(run(tmp_path, scripted({"mode": "stubborn", "mpi": True}, resources=two)))
    assert outcome.kind is FailureKind.TIMEOUT
    assert not is_alive(stubborn_child(tmp_path / outcome.log))


@pytest.mark.mpi
def test_ranks_compute_what_one_process_computes(tmp_path: Path) -> None:
    serial = succeeded(run(tmp_path / "one", scripted()))
    three = ResourceRequest.resolve(ranks=3, walltime_s=60)
    ranks = succeeded(run(tmp_path / "three", scripted({"mpi": True}, resources=three)))
    first, second = (read_run_file(tmp_path / at / out.path) for at, out in (("one", serial), ("three", ranks)))
    np.testing.assert_array_equal(first.columns["wave"], second.columns["wave"])
    assert serial.run_id == ranks.run_id


@pytest.mark.mpi
def test_ranks_start_inside_another_job_as_if_there_were_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaked = {
        "PMI_RANK": "1", "PMI_SIZE": "4", "PMI_FD": "99", "PMI_PORT": "localhost:1", "PMIX_RANK": "0",
        "MPI_LOCALNRANKS": "4", "MPI_LOCALRANKID": "1", "HYDI_CONTROL_FD": "98", "HYDRA_HOST_FILE": "/no/such/file",
        "SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_NODELIST": "nowhere", "SLURM_JOB_NODELIST": "nowhere",
        "SLURM_TASKS_PER_NODE": "4", "SLURM_NNODES": "1",
    }  # fmt: skip
    for name, value in leaked.items():
        monkeypatch.setenv(name, value)
    two = ResourceRequest.resolve(ranks=2, walltime_s=60)
    succeeded(run(tmp_path, scripted({"mpi": True}, resources=two)))


@pytest.mark.mpi
def test_a_wrong_world_is_noticed_by_every_rank(tmp_path: Path) -> None:
    def singletons(program: Program, resources: ResourceRequest) -> list[str]:
        return list(program.argv)

    two = ResourceRequest.resolve(ranks=2, walltime_s=60)
    outcome = failed(run(tmp_path, scripted({"mpi": True}, resources=two), launch=singletons))
    assert outcome.kind is FailureKind.LAUNCHER
    assert not outcome.retryable
    assert "did not find each other" in outcome.message


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("mode", "kind", "says"),
    [
        ("crash", FailureKind.EXIT_STATUS, "SIGSEGV"),
        ("killed", FailureKind.OUT_OF_MEMORY, "SIGKILL"),
        ("fail", FailureKind.EXIT_STATUS, "exit status 1"),
    ],
)
def test_the_end_of_a_rank_is_told_through_the_launcher(tmp_path: Path, mode: str, kind, says: str) -> None:
    two = ResourceRequest.resolve(ranks=2, walltime_s=60)
    outcome = failed(run(tmp_path, scripted({"mpi": True, "mode": mode}, resources=two)))
    assert outcome.kind is kind
    assert says in outcome.message


@pytest.mark.mpi
def test_a_program_that_the_launcher_does_not_find_is_told(tmp_path: Path) -> None:
    outcome = failed(run(tmp_path, scripted(), launch=lambda *_: [MPIEXEC, "-n", "2", "/no/such/solver"]))
    assert (outcome.kind, outcome.retryable) == (FailureKind.LAUNCHER, False)
    assert "did not find the program" in outcome.message


def test_ranks_are_told_their_number_and_their_cores(tmp_path: Path) -> None:
    class Parallel(Telling):
        def program(self, request: RunRequest, folder: Path) -> Program:
            return Program(("env",))

    resources = ResourceRequest.resolve(ranks=4, cores_per_rank=3)
    outcome = failed(run(tmp_path, scripted(resources=resources), Parallel(), launch=lambda program, _: ["env"]))
    seen = (tmp_path / outcome.log).read_text().splitlines()
    assert {"SURROGATE_WORLD_SIZE=4", "OMP_NUM_THREADS=3"} <= set(seen)
