"""What a worker knows of the job around it: whether a run can still be begun, and how it is launched there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from site_configs.allocation import KEPT, VARIABLE, Allocation, current
from site_configs.launch import Launcher
from site_configs.manager import BlockFacts, allocation, block_of, manager_name
from site_configs.resources import ResourceRequest
from site_configs.slots import NodeSize, Place
from surrogate.core.errors import ResourceError

HYDRA, SRUN = Launcher("mpich", "/v/mpiexec"), Launcher("srun", "/usr/bin/srun", options=("--mpi=pmi2",))
ONE, TWO, ACROSS = ResourceRequest(1, 1, 1), ResourceRequest(1, 2, 2), ResourceRequest(2, 1, 2)


@pytest.fixture
def around(tmp_path):
    return Allocation(
        ("n1", "n2"), "n1", "3", 1000.0, 1600.0, 60.0, str(tmp_path / "warning"), "", NodeSize(2, 4096, 0)
    )


def test_it_travels_in_the_environment(around):
    assert current({VARIABLE: around.to_text()}) == around
    assert current({}) is None


@pytest.mark.parametrize(
    ("needs_s", "now", "refused"),
    [
        (0.0, 1599.0, False),  # nothing is known: begun
        (50.0, 1540.0, False),
        (50.0, 1560.0, True),
        (599.0, 1010.0, False),  # a fresh block takes what no other block could take, either
        (599.0, 1040.0, True),
    ],
)
def test_what_cannot_end_in_time_is_not_begun(around, needs_s, now, refused):
    assert around.refuses(needs_s, now) is refused


def test_a_warning_counts_more_than_the_clock(around):
    import os

    Path(around.warning).touch()
    os.utime(around.warning, (1200.0, 1200.0))
    assert around.warned
    assert around.remaining_s(1210.0) == pytest.approx(50.0)
    assert around.refuses(0.0, 1201.0)
    assert around.refuses(55.0, 1210.0)
    assert not around.refuses(40.0, 1210.0)


def test_on_its_own_node_a_run_is_started_without_the_scheduler(around):
    line, kept = around.launch(HYDRA, Place(("n1",)))
    assert line(("prog",), TWO, True) == ["/v/mpiexec", "-n", "2", "-ppn", "2", "-bind-to", "none", "prog"]
    assert kept == ()
    assert line(("prog",), ONE, False) == ["prog"]


def test_on_other_nodes_it_goes_through_the_scheduler(around):
    line, kept = around.launch(HYDRA, Place(("n1", "n2")))
    words = line(("prog",), ACROSS, True)
    assert words[:2] == ["env", "SLURM_OVERLAP=1"]
    assert words[-3:] == ["-hosts", "n1,n2", "prog"]
    assert kept == KEPT
    line, kept = around.launch(SRUN, Place(("n2",)))
    assert "--nodelist=n2" in line(("prog",), TWO, True)
    assert kept == KEPT


def test_a_serial_program_on_another_node_is_one_step_of_one_task(around):
    line, kept = around.launch(HYDRA, Place(("n2",)))
    words = line(("prog",), ONE, False)
    assert {"--ntasks=1", "--nodes=1", "--nodelist=n2"} <= set(words)
    assert kept == KEPT
    with pytest.raises(ResourceError, match="copies"):
        line(("prog",), TWO, False)


def test_gpus_are_named_where_all_nodes_have_the_same_numbers(around):
    line, _ = around.launch(HYDRA, Place(("n1",), ((1, 2),)))
    assert line(("p",), TWO, True)[:2] == ["env", "CUDA_VISIBLE_DEVICES=1,2"]
    line, _ = around.launch(SRUN, Place(("n1", "n2"), ((0,), (1,))))
    assert not any("CUDA" in word for word in line(("p",), ACROSS, True))


def test_nothing_is_kept_that_speaks_of_the_jobs_own_tasks():
    assert not {"SLURM_NTASKS", "SLURM_MEM_PER_CPU", "SLURM_CPU_BIND", "SLURM_STEP_ID", "SLURM_PROCID"} & set(KEPT)


def test_a_manager_tells_its_workers_what_the_job_is(tmp_path):
    facts = BlockFacts(600, 60, "sg-x-", False, False, NodeSize(2, 4096, 0))
    assert BlockFacts.from_text(facts.to_text()) == facts
    environment = {"SLURMD_NODENAME": "n4", "SURROGATE_BLOCK_BEGAN": "1000"}
    found = allocation(facts, "7", tmp_path, environment)
    assert (found.hosts, found.node, found.block, found.began, found.ends) == (("n4",), "n4", "7", 1000.0, 1600.0)
    assert found.slots == ""
    shared = allocation(replace(facts, slots=True), "7", tmp_path, environment)
    assert shared.slots == str(tmp_path / "slots.json")


def test_the_name_of_a_manager_tells_its_block():
    assert block_of(manager_name("12", "nid-001.cluster")) == "12"
