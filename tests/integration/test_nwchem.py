"""NWChem itself: PySCF is its independent answer, ranks agree, and a run that was stopped goes on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from sim_wrappers.nwchem.adapter import SIMULATOR
from sim_wrappers.pyscf_dft.options import complete_options
from sim_wrappers.pyscf_dft.program import engine
from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from surrogate.core.outcome import Failure, FailureKind, Success
from surrogate.core.structure import Structure
from surrogate.data.run_file import read_run_file
from surrogate.design.structures import StructureSet
from tests.support.executions import folder_of, request_for, run
from tests.support.ranks import MPIEXEC

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

WATER = Structure.of([8, 1, 1], [[0.01, 0, 0.119], [0, 0.77, -0.45], [0, -0.763, -0.477]])
HYDROXIDE = Structure.of([8, 1], [[0, 0, 0], [0.1, 0.2, 0.95]], charge=-1)
RADICAL = Structure.of([7, 1, 1], [[0, 0, 0.14], [0, 0.8, -0.5], [0, -0.8, -0.5]])  # NH2, a doublet
SPACE = StructureSet()

# Ends NWChem as soon as it has finished one structure, however fast the machine is, and then itself by that signal.
KILLER = """
import os, shutil, signal, subprocess, sys, tempfile, time
from pathlib import Path
work = subprocess.Popen(sys.argv[1:])
while work.poll() is None:
    found = Path("ecce-1.out")
    if found.is_file() and "\\ntask_gradient%end%exit" in found.read_text(errors="replace"):
        work.kill()
    time.sleep(0.02)
work.wait()
for left in Path(tempfile.gettempdir()).glob("ompi.*"):
    shutil.rmtree(left, ignore_errors=True)
os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.fixture(autouse=True)
def installed():
    missing = SIMULATOR.found()
    if missing is not None:
        pytest.skip(missing)


def bundle(*structures):
    """Return the inputs of a run of several structures."""
    points = [structure.point() for structure in structures]
    return {name: [point[name] for point in points] for name in points[0]}


def columns_of(workdir: Path, outcome):
    assert isinstance(outcome, Success), outcome
    return read_run_file(workdir / outcome.path).columns


@pytest.mark.parametrize(
    ("cart", "structures"), [(True, (WATER, HYDROXIDE)), (False, (RADICAL,))], ids=["cartesian", "spherical"]
)
def test_pyscf_is_the_independent_answer(tmp_path, cart, structures):
    options = {"xc": "pbe", "basis": "6-31g*", "cart": cart, "grid": "xfine", "conv_tol": 1e-9}
    request = request_for(SIMULATOR, bundle(*structures), options, resources=ResourceRequest(walltime_s=280))
    found = columns_of(tmp_path, run(tmp_path, request, space=SPACE))
    asked = complete_options({"xc": "pbe", "basis": "6-31g(d)", "cart": cart, "grid": 5, "conv_tol": 1e-10})
    for row, structure in enumerate(structures):
        other = engine(structure, {"options": asked, "remedies": [], "threads": 1})
        assert found["energy"][row] == pytest.approx(other.energy, abs=1e-5)
        np.testing.assert_allclose(found["forces"][row], other.forces, atol=1e-4)
    kind = "cartesian" if cart else "spherical"
    assert found["level_of_theory"].tolist() == [f"pbe/6-31g* {kind}, grid xfine, nwchem"] * len(structures)


def test_a_run_that_was_stopped_goes_on_and_finds_the_same(tmp_path):
    structures = [WATER.moved(WATER.coordinates + 0.01 * place * np.eye(3)) for place in range(3)]
    request = request_for(
        SIMULATOR, bundle(*structures), {"basis": "sto-3g"}, resources=ResourceRequest(walltime_s=280)
    )
    stopped = run(
        tmp_path / "a", request, space=SPACE, launch=lambda program, _: [sys.executable, "-c", KILLER, *program.argv]
    )
    assert isinstance(stopped, Failure)
    assert stopped.kind is FailureKind.INTERRUPTED
    again = request_for(SIMULATOR, request.inputs, {"basis": "sto-3g"}, resources=request.resources, attempt=2)
    outcome = run(tmp_path / "a", again, space=SPACE)
    file = read_run_file(tmp_path / "a" / outcome.path)
    assert file.provenance["notes"]["computed_by_an_earlier_attempt"] >= 1
    text = (folder_of(tmp_path / "a", again) / "run.nw").read_text()
    assert 'title "structure 1"' not in text
    assert 'title "structure 3"' in text
    whole = columns_of(tmp_path / "b", run(tmp_path / "b", request, space=SPACE))
    np.testing.assert_allclose(file.columns["energy"], whole["energy"], atol=1e-7)
    np.testing.assert_allclose(file.columns["forces"].data, whole["forces"].data, atol=1e-5)


def test_two_ranks_find_what_one_finds_and_strangers_are_told(tmp_path):
    mpiexec = shutil.which("mpiexec.openmpi", path="/usr/bin") or pytest.skip("mpiexec.openmpi is not installed.")
    launcher = Launcher("openmpi", str(mpiexec), options=("--oversubscribe",), as_root=True)
    options, energies = {"basis": "sto-3g"}, []
    for ranks in (1, 2):
        resources = ResourceRequest(1, ranks, ranks, walltime_s=280)
        request = request_for(SIMULATOR, WATER.point(), options, resources=resources)
        outcome = run(
            tmp_path / str(ranks),
            request,
            space=SPACE,
            launch=lambda program, asked: launcher.line(program.argv, asked, mpi=program.mpi),
        )
        energies.append(float(columns_of(tmp_path / str(ranks), outcome)["energy"][0]))
    assert energies[0] == pytest.approx(energies[1], abs=1e-8)
    resources = ResourceRequest(1, 2, 2, walltime_s=280)
    strangers = run(
        tmp_path / "other",
        request_for(SIMULATOR, WATER.point(), options, resources=resources),
        space=SPACE,
        launch=lambda program, _: [MPIEXEC, "-n", "2", *program.argv],
    )
    if isinstance(strangers, Success):
        pytest.skip("This environment's own MPI is the one that NWChem is linked with. Use that of MPICH's wheel.")
    assert strangers.kind in (FailureKind.LAUNCHER, FailureKind.EXIT_STATUS)


def test_an_unconverged_field_is_a_failure_and_never_data(tmp_path):
    request = request_for(SIMULATOR, WATER.point(), {"basis": "sto-3g", "max_cycle": 1})
    outcome = run(tmp_path, request, space=SPACE)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.UNCONVERGED
    assert outcome.remedy == "more_cycles"
    mended = request_for(
        SIMULATOR, WATER.point(), {"basis": "sto-3g", "max_cycle": 10}, attempt=2, remedies=("more_cycles",)
    )
    assert isinstance(run(tmp_path, mended, space=SPACE), Success)
