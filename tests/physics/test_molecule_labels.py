"""PySCF against published labels and against its own finite differences; GFN2-xTB against finite differences."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from sim_wrappers.pyscf_dft.options import complete_options
from sim_wrappers.pyscf_dft.program import engine
from surrogate.core.elements import atomic_number
from surrogate.core.structure import Structure
from surrogate.core.units import conversion_factor
from surrogate.design.xtb import energy_forces
from tests.support.shared_data import shared_data

KCAL = conversion_factor("hartree", "kcal/mol")
MOST = 0.01
"""kcal/mol: how far from a published label the same level of theory may be."""

WATER = Structure.of([8, 1, 1], [[0.01, 0, 0.119], [0, 0.77, -0.45], [0, -0.763, -0.477]])


def case(**options):
    return {"options": complete_options(options), "remedies": [], "threads": 1}


@pytest.mark.parametrize(("molecule", "rows"), [(0, (0, 2700)), (1, (900,)), (2, (300, 1799))])
def test_five_structures_of_ani_1(molecule, rows):
    with h5py.File(shared_data("molecules/ani_gdb_s01.h5")) as file:
        group = file[f"gdb11_s01/gdb11_s01-{molecule}"]
        species = [atomic_number(symbol.decode()) for symbol in group["species"][()]]
        for row in rows:
            found = engine(Structure.of(species, group["coordinates"][row]), case())
            assert abs(found.energy - group["energies"][row]) * KCAL <= MOST


def test_a_dimer_of_s66x8_and_its_gradients_that_are_called_forces():
    with h5py.File(shared_data("molecules/s66x8_wb97x6-31gd.h5")) as file:
        group = file["s66x8/mol00"]
        species = [atomic_number(symbol.decode()) for symbol in group["species"][()]]
        found = engine(Structure.of(species, group["coordinates"][2]), case())
        assert abs(found.energy - group["energies"][2]) * KCAL <= MOST
        np.testing.assert_allclose(found.forces, -group["forces"][2], atol=2e-4)


def test_spherical_functions_are_another_level():
    cartesian, spherical = (engine(WATER, case(xc="hf", cart=cart)).energy for cart in (True, False))
    assert abs(cartesian - spherical) * KCAL > 0.1


def hartree_fock(structure):
    found = engine(structure, case(xc="hf", basis="sto-3g"))
    return found.energy, found.forces


def pbe(structure):
    found = engine(structure, case(xc="pbe", basis="sto-3g", grid=4, grid_response=True))
    return found.energy, found.forces


@pytest.mark.parametrize("compute", [energy_forces, hartree_fock, pbe])
def test_forces_are_minus_the_gradient(compute):
    _, forces = compute(WATER)
    step = 2e-3
    for atom, axis in ((0, 2), (1, 1)):
        move = np.zeros((3, 3))
        move[atom, axis] = step
        ahead, behind = (compute(WATER.moved(WATER.coordinates + side * move))[0] for side in (1, -1))
        assert forces[atom, axis] == pytest.approx(-(ahead - behind) / (2 * step), abs=2e-5)
