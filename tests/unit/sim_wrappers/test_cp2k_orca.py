"""CP2K and ORCA: input files, and parsers on small outputs made for the purpose. Neither program is run here."""

import numpy as np
import pytest

from sim_wrappers.cp2k.adapter import SIMULATOR as CP2K
from sim_wrappers.cp2k.adapter import read_text
from sim_wrappers.orca.adapter import SIMULATOR as ORCA
from sim_wrappers.orca.adapter import check_end, read_engrad
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR
from tests.support.executions import request_for

OH = Structure.of([8, 1], [[0, 0, 0], [0, 0, 0.97]], charge=-1)
SALT = Structure.of([11, 17], [[0, 0, 0], [2.8, 0, 0]], cell=np.eye(3) * 5.6)

OLD = """
 ENERGY| Total FORCE_EVAL ( QS ) energy [a.u.]:              -17.219876543210987

 ATOMIC FORCES in [a.u.]

 # Atom   Kind   Element          X              Y              Z
      1      1      O           0.00010000     0.00000000    -0.02000000
      2      2      H          -0.00010000     0.00000000     0.02000000
 SUM OF ATOMIC FORCES           0.00000000     0.00000000     0.00000000     0.00000000

  **** **** ******  **  PROGRAM ENDED AT                 2024-01-01 00:00:00.000
"""
NEW = """
 ENERGY| Total FORCE_EVAL ( QS ) energy [hartree]            -17.219876543210987

 FORCES| Atomic forces [hartree/bohr]
 FORCES|   Atom          x               y               z            |f|
 FORCES|      1      0.10000000E-03  0.00000000E+00 -0.20000000E-01  0.20000250E-01
 FORCES|      2     -0.10000000E-03  0.00000000E+00  0.20000000E-01  0.20000250E-01
 FORCES|    Sum      0.00000000E+00  0.00000000E+00  0.00000000E+00  0.00000000E+00

  **** **** ******  **  PROGRAM ENDED AT                 2024-01-01 00:00:00.000
"""
ENGRAD = """#
# Number of atoms
#
 2
#
# The current total energy in Eh
#
    -75.750000000000
#
# The current gradient in Eh/bohr
#
       0.000100000000
       0.000000000000
      -0.020000000000
      -0.000100000000
       0.000000000000
       0.020000000000
#
# The atomic numbers and current coordinates in Bohr
#
   8     0.0000000    0.0000000    0.0000000
   1     0.0000000    0.0000000    1.8330336
"""
FIRST = np.asarray([1e-4, 0.0, -0.02]) / BOHR


@pytest.mark.parametrize("output", [OLD, NEW], ids=["old", "new"])
def test_cp2k_prints_forces(output):
    found = read_text(output, OH)
    assert found.energy == -17.219876543210987
    np.testing.assert_allclose(found.forces, [FIRST, -FIRST], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("PROGRAM ENDED AT", "PROGRAM"), "no_end_marker"),
        (("energy [a.u.]", "energies"), "output_missing"),
        (("      2      2      H ", "      2      2      "), "wrong_shape"),
        (("\n ENERGY", "\n *** SCF run NOT converged ***\n ENERGY"), "unconverged"),
    ],
)
def test_cp2k_outputs_that_are_no_results_are_refused(change, kind):
    assert change[0] in OLD
    with pytest.raises(SimulationError) as caught:
        read_text(OLD.replace(*change), OH)
    assert caught.value.kind == kind


def test_cp2k_gets_a_box_or_the_cell(tmp_path):
    CP2K.prepare(request_for(CP2K, OH.point(), {"vacuum": 5.0}), tmp_path)
    text = (tmp_path / "run.inp").read_text()
    assert "CHARGE -1" in text
    assert "PERIODIC NONE\nPSOLVER ANALYTIC" in text
    assert "C 0.000000000000 0.000000000000 10.970000000000" in text
    assert text.count("&KIND ") == 2
    assert text.count("&END") == text.count("\n&") + text.startswith("&") - text.count("&END")
    CP2K.prepare(request_for(CP2K, SALT.point(), remedies=("more_cycles",)), tmp_path)
    text = (tmp_path / "run.inp").read_text()
    assert "PERIODIC XYZ" in text
    assert "MAX_SCF 200" in text
    assert "A 5.600000000000 0.000000000000 0.000000000000" in text


def test_orca_writes_gradients():
    found = read_engrad(ENGRAD, OH)
    assert found.energy == -75.75
    np.testing.assert_allclose(found.forces, [-FIRST, FIRST], atol=1e-12)
    check_end("****ORCA TERMINATED NORMALLY****")


@pytest.mark.parametrize(
    ("change", "kind"),
    [((" 2\n", " 3\n"), "wrong_shape"), (("   8  ", "   7  "), "wrong_inputs"), (("0.0001", "x"), "output_unreadable")],
)
def test_orca_files_that_are_no_results_are_refused(change, kind):
    with pytest.raises(SimulationError) as caught:
        read_engrad(ENGRAD.replace(*change, 1), OH)
    assert caught.value.kind == kind
    for output, end in (
        ("SCF NOT CONVERGED AFTER 125 CYCLES", "unconverged"),
        ("ORCA finished by error", "no_end_marker"),
    ):
        with pytest.raises(SimulationError) as caught:
            check_end(output)
        assert caught.value.kind == end


def test_orca_gets_one_molecule_in_free_space(tmp_path):
    ORCA.prepare(request_for(ORCA, OH.point(), remedies=("more_cycles",)), tmp_path)
    text = (tmp_path / "run.inp").read_text()
    assert text.splitlines()[0] == "! wB97X 6-31G(d) TightSCF DefGrid3 EnGrad SlowConv"
    assert "* xyz -1 1" in text
    assert "MaxIter 500" in text
    with pytest.raises(SimulationError, match="has a cell"):
        ORCA.prepare(request_for(ORCA, SALT.point()), tmp_path)
    two = {name: [value, value] for name, value in OH.point().items()}
    with pytest.raises(SimulationError, match="one structure a run, and 2 were asked for"):
        ORCA.prepare(request_for(ORCA, two), tmp_path)


def test_both_refuse_options_that_would_break_their_input():
    with pytest.raises(ConfigError, match="one line"):
        ORCA.check_options({"method": "HF\n%method"})
    with pytest.raises(ConfigError, match="one line"):
        CP2K.check_options({"xc": "PBE &END"})
    with pytest.raises(ConfigError, match="above 0"):
        CP2K.check_options({"cutoff": -1.0})
    for simulator in (CP2K, ORCA):
        assert simulator.name in (simulator.found() or simulator.name)
