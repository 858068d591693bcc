"""Forces and energies of neighbours, and vibrating bonds: sign and units are told, and what cannot be told is not."""

import numpy as np
import pytest

from surrogate.core.molecules import molecule_table
from surrogate.core.structure import Structure
from surrogate.data.bond_check import SOFTEST, STIFFEST, stretching
from surrogate.data.force_check import agreement, forces_have_their_sign
from surrogate.data.run_file import RunFile
from tests.support.molecule_files import labelled

WATER = labelled("H2O")
NAMES = ["H2O"] * len(WATER.energies)


def run_of(forces, energies=WATER.energies):
    table = molecule_table(WATER.structures(), energies, list(forces))
    return RunFile(table.schema, len(table), table.columns, table.groups, {})


def test_forces_gradients_and_wrong_units_are_told_apart():
    right = agreement(WATER.coordinates, WATER.energies, WATER.forces, NAMES)
    assert right.sign == 1
    assert right.units_agree
    assert right.slope == pytest.approx(1.0, abs=0.1)
    turned = agreement(WATER.coordinates, WATER.energies, -WATER.forces, NAMES)
    assert (turned.sign, turned.units_agree) == (-1, True)
    other = agreement(WATER.coordinates, WATER.energies, WATER.forces * 0.529, NAMES)
    assert (other.sign, other.units_agree) == (1, False)


def test_the_slope_is_that_of_a_known_potential():
    """A quadratic energy has no error in the trapezoidal rule: slope and correlation are 1."""
    rng = np.random.default_rng(1)
    places = rng.normal(size=(20, 4, 3))
    energies, forces = 0.7 * (places**2).sum(axis=(1, 2)), -1.4 * places
    found = agreement(places, energies, forces, ["x"] * 20)
    assert found.slope == pytest.approx(1.0, abs=1e-12)
    assert found.correlation == pytest.approx(1.0, abs=1e-12)


def test_nothing_is_said_without_neighbours_or_with_unrelated_numbers():
    assert agreement(WATER.coordinates[:3], WATER.energies[:3], WATER.forces[:3], NAMES[:3]).sign == 0
    assert agreement(WATER.coordinates, WATER.energies, WATER.forces, [str(i) for i in range(12)]).pairs == 0
    same = np.repeat(WATER.coordinates[:1], 12, axis=0)
    assert agreement(same, WATER.energies, WATER.forces, NAMES).pairs == 0
    rng = np.random.default_rng(2)
    assert agreement(WATER.coordinates, rng.normal(size=12), rng.normal(size=(12, 3, 3)), NAMES).sign == 0


def test_bonds_tell_the_sign_and_their_stiffness():
    bonds = stretching(WATER.coordinates, WATER.forces, NAMES)
    assert (bonds.sign, bonds.bonds) == (1, 2)
    assert SOFTEST < bonds.stiffness < STIFFEST
    assert stretching(WATER.coordinates, -WATER.forces, NAMES).sign == -1
    rigid = np.repeat(WATER.coordinates[:1], 12, axis=0)
    assert stretching(rigid, WATER.forces, NAMES).sign == 0
    assert stretching(WATER.coordinates[:5], WATER.forces[:5], NAMES[:5]).sign == 0


def test_the_check_of_admission_has_its_sentences():
    assert forces_have_their_sign(run_of(WATER.forces)) is None
    assert "sign of gradients" in (forces_have_their_sign(run_of(-WATER.forces)) or "")
    assert "27" in (forces_have_their_sign(run_of(WATER.forces / 27.2)) or "")
    lone = Structure.of([1], [[0, 0, 0]])
    table = molecule_table([lone], [-0.5], [np.zeros((1, 3))])
    assert forces_have_their_sign(RunFile(table.schema, 1, table.columns, table.groups, {})) is None
    without = molecule_table(WATER.structures(), WATER.energies)
    assert forces_have_their_sign(RunFile(without.schema, 12, without.columns, without.groups, {})) is None
