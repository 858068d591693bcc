"""A real Fortran program over MPI, started by the mpiexec of the MPI that it was built with, and by another's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sim_wrappers.described import Described
from sim_wrappers.execute import execute
from sim_wrappers.protocol import RunRequest
from site_configs.launch import Launcher
from site_configs.load import load_site
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError
from surrogate.core.identity import run_id
from surrogate.core.outcome import Failure, FailureKind, Outcome, Success
from surrogate.data.run_file import read_run_file
from tests.support.executions import QUICK, folder_of
from tests.support.fortran import fortran_mpi
from workflows.checked_plan import check_site
from workflows.config import load_campaign
from workflows.new import new_campaign
from workflows.plan import Plan, find_simulator, make_plan

pytestmark = pytest.mark.mpi
POINT = {"conductivity": 20.0, "slope": 0.001, "flux": 5e4}
# What the program knows by itself: J/(m^3 K), m and s.
CAPACITY, LENGTH, DURATION = 3.5e6, 0.1, 150.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fortran_mpi()
    return new_campaign(tmp_path_factory.mktemp("fortran") / "rod", "fortran-mpi").folder


@pytest.fixture(scope="module")
def plan(home: Path) -> Plan:
    campaign = load_campaign(home / "campaign.toml")
    return make_plan(campaign, find_simulator(campaign))


def run(plan: Plan, workdir: Path, ranks: int, launcher: Launcher, **options: object) -> tuple[Outcome, Path]:
    """Execute the program at POINT; its run id is that of the plan's simulator with these options."""
    complete = {**plan.options, **options}
    name = run_id("external", plan.version, plan.simulator.identity_options(complete), POINT)
    resources = ResourceRequest(1, ranks, ranks, walltime_s=60)
    request = RunRequest(name, "external", complete, dict(POINT), resources)
    outcome = execute(
        request,
        plan.simulator,
        lambda program, asked: launcher.line(program.argv, asked, mpi=program.mpi),
        folder_of(workdir, request),
        workdir=workdir,
        space_schema=plan.schema,
        keeping=QUICK,
    )
    return outcome, folder_of(workdir, request)


def test_two_ranks_share_the_rod_and_find_what_one_finds(home: Path, plan: Plan, tmp_path: Path) -> None:
    launcher = load_site("laptop", [home]).find_launcher("simulate")
    rises = []
    for ranks in (1, 2):
        outcome, folder = run(plan, tmp_path / str(ranks), ranks, launcher)
        assert isinstance(outcome, Success), outcome
        assert f"on {ranks} ranks" in (folder / "stdout.txt").read_text()
        rises.append(read_run_file(tmp_path / str(ranks) / outcome.path).columns["rise"])
    np.testing.assert_array_equal(rises[0], rises[1])
    rise = np.asarray(rises[1])[0]
    assert np.all(np.diff(rise) < 0), "it is hottest where it is heated"
    # All heat that came in is in the rod, but for what left at the cold end.
    stored = rise.sum() * CAPACITY * LENGTH / len(rise)
    assert 0.97 * POINT["flux"] * DURATION < stored < POINT["flux"] * DURATION


def test_too_large_a_step_is_told_with_a_remedy_that_cures_it(home: Path, plan: Plan, tmp_path: Path) -> None:
    launcher = load_site("laptop", [home]).find_launcher("simulate")
    values = {"cells": 40, "safety": 3.0}
    outcome, _ = run(plan, tmp_path, 2, launcher, values=values)
    assert isinstance(outcome, Failure)
    assert outcome.remedy == "safety × 0.5"
    assert outcome.message == "The steps were too large."


def test_the_launcher_of_another_mpi_is_refused_before_and_found_out_after(plan: Plan, tmp_path: Path) -> None:
    site = load_site("laptop")
    launcher = site.find_launcher("simulate")
    if launcher.dialect == "openmpi":
        pytest.skip("This environment's own MPI is the one that the program was built with. Use that of MPICH's wheel.")
    assert isinstance(plan.simulator, Described)
    with pytest.raises(ConfigError, match=r"linked with Open MPI.*\[roles\.simulate\.launcher\]"):
        check_site(plan, site)
    outcome, _ = run(plan, tmp_path, 2, launcher)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.LAUNCHER
    assert not outcome.retryable
    assert "every program saw another number of ranks" in outcome.message, json.dumps(outcome.to_json())
