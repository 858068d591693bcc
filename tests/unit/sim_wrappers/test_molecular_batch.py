"""Structures computed one after the other: failures are values, what is done survives, remedies are recorded."""

import json

import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.molecular import batch
from sim_wrappers.molecular.asked import asked_structures
from sim_wrappers.molecular.batch import Result, compute_all, read_results, whole_lines, write_case
from sim_wrappers.pyscf_dft import program
from sim_wrappers.pyscf_dft.options import complete_options, level_of_theory
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.outcome import Failure, FailureKind, Success
from surrogate.core.structure import Structure
from surrogate.data.run_file import read_run_file
from surrogate.design.structures import StructureSet
from tests.support.executions import folder_of, request_for, run

TBLITE, PYSCF = catalog.get("tblite"), catalog.get("pyscf")
WATER = Structure.of([8, 1, 1], [[0, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]])
SPACE = StructureSet()


def bundle(*structures):
    points = [structure.point() for structure in structures]
    return {name: [point[name] for point in points] for name in points[0]}


THREE = bundle(*(WATER.moved(WATER.coordinates * factor) for factor in (1.0, 1.01, 1.02)))


def test_a_run_of_several_structures_has_a_sample_of_each(tmp_path):
    request = request_for(TBLITE, THREE, groups=("a", "a", "b"))
    outcome = run(tmp_path, request, space=SPACE)
    assert isinstance(outcome, Success), outcome
    assert outcome.samples == 3
    file = read_run_file(tmp_path / outcome.path)
    assert file.groups == ("a", "a", "b")
    assert file.columns["level_of_theory"].tolist() == ["GFN2-xTB"] * 3
    assert file.columns["coordinates"][2].tolist() == THREE["coordinates"][2]
    single = run(tmp_path / "one", request_for(TBLITE, WATER.point()), space=SPACE)
    energy = read_run_file(tmp_path / "one" / single.path).columns["energy"][0]
    assert energy == file.columns["energy"][0]


def test_a_program_goes_on_after_the_last_whole_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_case(request_for(TBLITE, THREE), tmp_path)
    asked = []

    def engine(structure, case):
        asked.append(structure.coordinates[1, 1])
        return Result(-float(len(asked)), np.zeros((3, 3)), {})

    assert compute_all(engine) == 0
    whole = (tmp_path / "results.jsonl").read_text()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_text(lines[0] + lines[1][: len(lines[1]) // 2])
    assert len(whole_lines(tmp_path / "results.jsonl")) == 1
    asked.clear()
    assert compute_all(engine) == 0
    assert asked == pytest.approx([0.763 * 1.01, 0.763 * 1.02])
    results, before = read_results(tmp_path, asked_structures(THREE))
    assert before == 1
    assert [result.energy for result in results] == [-1.0, -1.0, -2.0]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (None, "output_missing"),
        ('{"energy": -1.0, "forces": [], "notes": {}}\n', "no_end_marker"),
        ('{"energy": -1.0}\n{"end": 1}\n', "output_unreadable"),
    ],
)
def test_unfinished_results_are_refused(tmp_path, content, kind):
    if content is not None:
        (tmp_path / batch.RESULTS_FILE).write_text(content)
    with pytest.raises(SimulationError) as caught:
        read_results(tmp_path, [WATER])
    assert caught.value.kind == kind


def test_impossible_structures_are_no_runs(tmp_path):
    twice = {**WATER.point(), "coordinates": [[0, 0, 0], [0, 0, 0.05], [0, 1, 0]]}
    outcome = run(tmp_path, request_for(TBLITE, twice), space=SPACE)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.NOT_PHYSICAL
    assert "they coincide" in outcome.message
    with pytest.raises(SimulationError, match="no structures"):
        asked_structures({"charge": 0})


def test_charges_that_do_not_converge_are_a_failure(tmp_path):
    outcome = run(tmp_path, request_for(TBLITE, WATER.point(), {"cycles": 1}), space=SPACE)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.remedy) == (FailureKind.UNCONVERGED, "more_cycles")


def test_a_field_that_does_not_converge_gets_remedies_and_then_fails(tmp_path):
    options = {"xc": "hf", "basis": "sto-3g", "max_cycle": 2}
    case = {"options": complete_options(options), "remedies": [], "threads": 1}
    helped = program.engine(WATER, {**case, "options": {**case["options"], "max_cycle": 4}})
    plain = program.engine(WATER, {**case, "options": {**case["options"], "max_cycle": 50}})
    assert plain.notes["remedies"] == []
    assert helped.notes["remedies"][0] == "second_order"
    assert helped.energy == pytest.approx(plain.energy, abs=1e-8)
    np.testing.assert_allclose(helped.forces, plain.forces, atol=1e-5)
    outcome = run(tmp_path, request_for(PYSCF, WATER.point(), {**options, "max_cycle": 1}), space=SPACE)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.remedy) == (FailureKind.UNCONVERGED, "more_cycles")
    assert "Structure H2O: It is not converged to 1e-09 Ha" in outcome.message
    assert not (folder_of(tmp_path, request_for(PYSCF, WATER.point(), {**options, "max_cycle": 1})) / "run.h5").exists()


def test_open_shells_cells_and_missing_elements():
    case = {"options": complete_options({"xc": "hf", "basis": "6-31g"}), "remedies": [], "threads": 1}
    radical = program.engine(Structure.of([8, 1], [[0, 0, 0], [0, 0, 0.97]]), case)
    anion = program.engine(Structure.of([8, 1], [[0, 0, 0], [0, 0, 0.97]], charge=-1), case)
    assert radical.energy != anion.energy
    with pytest.raises(SimulationError, match="has a cell"):
        program.engine(Structure.of([11, 17], [[0, 0, 0], [2.8, 0, 0]], cell=np.eye(3) * 5.6), case)
    with pytest.raises(SimulationError, match="does not have all of its elements"):
        program.engine(Structure.of([92, 1], [[0, 0, 0], [0, 0, 2.0]]), case)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"xc": "wb97z"}, "knows no such functional"),
        ({"basis": "no-such-basis"}, "has no such basis set"),
        ({"grid": 10}, "a level from 0 to 9"),
        ({"cart": "yes"}, "true or false"),
        ({"conv_tol": 1.0}, "between 1e-13 and 1e-4"),
        ({"function": "pbe"}, "no option 'function'"),
    ],
)
def test_bad_options_of_pyscf_are_told(options, told):
    with pytest.raises(ConfigError, match=told):
        complete_options(options)


def test_the_level_of_theory_says_what_decides_the_energy():
    assert level_of_theory(complete_options({})) == "wb97x/6-31g(d) cartesian, grid 3, pyscf"
    hf = complete_options({"xc": "HF", "basis": "STO-3G", "cart": False, "density_fit": True})
    assert level_of_theory(hf) == "hf/sto-3g spherical, density fit, pyscf"
    deciding = PYSCF.identity_options(complete_options({"max_cycle": 7, "memory_mb": 100}))
    assert json.dumps(deciding) == json.dumps(PYSCF.identity_options(complete_options({})))


def test_admission_refuses_gradients_that_are_called_forces(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    many = bundle(*(WATER.moved(WATER.coordinates + rng.normal(scale=0.03, size=(3, 3))) for _ in range(12)))
    request = request_for(TBLITE, many)
    assert isinstance(run(tmp_path / "right", request, space=SPACE), Success)
    parse = type(TBLITE).parse

    def turned(self, request, folder, stdout):
        data = parse(self, request, folder, stdout)
        data.outputs["forces"].data[:] *= -1.0
        return data

    monkeypatch.setattr(type(TBLITE), "parse", turned)
    outcome = run(tmp_path / "wrong", request, space=SPACE)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.NOT_PHYSICAL
    assert "sign of gradients" in outcome.message
