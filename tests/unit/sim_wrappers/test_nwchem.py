"""NWChem's input file, and the file of results that may end anywhere."""

import numpy as np
import pytest

from sim_wrappers.nwchem.adapter import SIMULATOR
from sim_wrappers.nwchem.inputs import complete_options, input_text, level_of_theory
from sim_wrappers.nwchem.outputs import check_ranks, computed, read_all
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR
from tests.support.executions import request_for

WATER = Structure.of([8, 1, 1], [[0, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]])
OH = Structure.of([8, 1], [[0, 0, 0], [0, 0, 0.97]])

TASK = """task_gradient%begin%entry%1%char
bas_input
task_gradient%end%entry%1%char
task_gradient dft%begin%total energy%1%double
-1.00000000000000e+00
task_gradient dft%end%total energy%1%double
task_gradient%begin%atomic tags%2%char
O
H
task_gradient%end%atomic tags%2%char
task_gradient%begin%total energy%1%double
-7.52500000000000e+01
task_gradient%end%total energy%1%double
task_gradient%begin%total gradient%3 2%double
1.0e-01 2.0e-01 3.0e-01
-1.0e-01 -2.0e-01 -3.0e-01
task_gradient%end%total gradient%3 2%double
task_gradient%begin%exit%2%char
task_gradient
ok
task_gradient%end%exit%1%char
"""
END = "%begin%all tasks cpu time%1%double\n1.0\n%end%all tasks cpu time%1%double\n"


def test_the_input_says_everything():
    options = complete_options({"basis": "6-31G(d)", "cart": False})
    text = input_text([WATER, OH], options)
    assert text.count("task dft gradient") == 2
    assert 'basis "ao basis" spherical noprint\n  * library "6-31g*"' in text
    assert "geometry units angstrom noautosym nocenter noautoz noprint" in text
    assert "xc xpbe96 cpbe96" in text
    assert "mult 2" in text
    assert "scratch_dir ./scratch" in text
    assert "vectors input atomic output structure-1.movecs" in text
    assert "lshift" not in text
    again = input_text([OH], options, remedies=("more_cycles",), first=2, orbitals="structure-2.movecs")
    assert "iterations 200" in again
    assert "lshift" in again
    assert "vectors input structure-2.movecs output structure-2.movecs" in again
    assert level_of_theory(options) == "pbe/6-31g* spherical, grid fine, nwchem"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"grid": "finer"}, "Did you mean 'fine'"),
        ({"basis": 'x"\nend'}, "must be a name on one line"),
        ({"xc": ""}, "must be a name on one line"),
        ({"conv_tol": 1.0}, "between 1e-12 and 1e-4"),
        ({"functional": "pbe"}, "no option 'functional'"),
    ],
)
def test_bad_options_are_told(options, told):
    with pytest.raises(ConfigError, match=told):
        complete_options(options)


def test_results_are_read_with_all_digits_and_their_sign(tmp_path):
    (tmp_path / "ecce-1.out").write_text(TASK + END)
    found, before = read_all(tmp_path, [OH])
    assert before == 0
    assert found[0].energy == -75.25
    np.testing.assert_allclose(found[0].forces[0], -np.asarray([0.1, 0.2, 0.3]) / BOHR)


def test_a_file_may_end_anywhere_and_only_finished_structures_count():
    whole = TASK * 2
    counts = [len(computed(whole[:place])) for place in range(0, len(whole) + 1, 7)]
    assert counts == sorted(counts)
    assert counts[-1] <= 2
    assert len(computed(whole)) == 2
    assert computed(TASK.replace("\nok\n", "\nfailed\n")) == []


def test_attempts_are_put_together_and_what_is_unfinished_is_refused(tmp_path):
    (tmp_path / "ecce-1.out").write_text(TASK + TASK[: len(TASK) // 2])
    with pytest.raises(SimulationError, match="mark of a finished run: 1 of 2") as caught:
        read_all(tmp_path, [OH, OH])
    assert caught.value.kind == "no_end_marker"
    (tmp_path / "ecce-2.out").write_text(TASK + END)
    found, before = read_all(tmp_path, [OH, OH])
    assert (len(found), before) == (2, 1)
    with pytest.raises(SimulationError, match="other atoms"):
        read_all(tmp_path, [OH, WATER])
    # Stopped after the last structure and before its end: the last one was computed again.
    (tmp_path / "ecce-1.out").write_text(TASK * 2)
    assert read_all(tmp_path, [OH, OH])[1] == 1
    with pytest.raises(SimulationError, match="no file of results"):
        read_all(tmp_path / "none", [OH])


def test_what_is_left_is_asked_for_on_a_restart(tmp_path):
    points = [OH.point(), OH.moved(OH.coordinates * 1.1).point(), OH.moved(OH.coordinates * 1.2).point()]
    inputs = {name: [point[name] for point in points] for name in points[0]}
    request = request_for(SIMULATOR, inputs)
    (tmp_path / "ecce-1.out").write_text(TASK)
    (tmp_path / "structure-2.movecs").write_bytes(b"orbitals")
    SIMULATOR.prepare(request, tmp_path)
    text = (tmp_path / "run.nw").read_text()
    assert 'title "structure 1"' not in text
    assert 'title "structure 2"' in text
    assert "vectors input structure-2.movecs" in text
    assert "ecce_print ecce-2.out" in text


def test_ranks_that_did_not_find_each_other_are_told():
    check_ranks("  nproc           = 2\n", 2)
    for output in ("  nproc           = 1\n  nproc           = 1\n", "nothing"):
        with pytest.raises(SimulationError, match="does not belong to the MPI") as caught:
            check_ranks(output, 2)
        assert caught.value.kind == "launcher"


def test_cells_are_refused(tmp_path):
    salt = Structure.of([11, 17], [[0, 0, 0], [2.8, 0, 0]], cell=np.eye(3) * 5.6)
    with pytest.raises(SimulationError, match="has a cell"):
        SIMULATOR.prepare(request_for(SIMULATOR, salt.point()), tmp_path)
