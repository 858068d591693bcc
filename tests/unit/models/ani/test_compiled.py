"""The potential compiled for one topology gives the numbers of the one in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.models.ani.compiled import compile_potential
from tests.support.atoms import FUNCTIONS, HYDROGEN, METHANE, ask, random_networks, random_potential, rattled

pytestmark = pytest.mark.train


@pytest.mark.parametrize("molecule", [METHANE, HYDROGEN], ids=["CH4", "H2"])
def test_it_agrees_with_numpy(molecule):
    lone = np.array([-0.5, -37.8, -54.6, -75.1])
    conformers = [rattled(molecule, seed) for seed in range(4)]
    call = compile_potential(FUNCTIONS, random_networks(FUNCTIONS, 2, 0), lone, molecule.species, dtype="float64")
    energies, forces = call(np.stack([entry.coordinates for entry in conformers]))
    answer = ask(random_potential(), conformers)
    np.testing.assert_allclose(energies, answer.energies, atol=1e-10)
    np.testing.assert_allclose(forces.reshape(-1, 3), answer.forces, atol=1e-9)
