"""Symmetry functions against their formulas, and every derivative against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.structure import Structure
from surrogate.models.ani.features import Features
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.symmetry import SymmetryFunctions, ani_1x, ani_2x
from tests.support.atoms import ALL, FUNCTIONS, METHANE, WATER, flat, looped_features, rattled

MOLECULES = [rattled(entry, seed) for seed, entry in enumerate(ALL)]


def features(functions, structures, dtype=np.float64):
    species, places, offsets = flat(structures)
    kinds = functions.kinds(species)
    return Features(functions, kinds, find_pairs(places, offsets, functions.radial_cutoff), dtype), offsets


@pytest.mark.parametrize("functions", [FUNCTIONS, ani_1x(), ani_2x((1, 6, 7, 8))], ids=["few", "1x", "2x"])
def test_every_term_is_the_published_formula(functions):
    found, offsets = features(functions, MOLECULES)
    for row, structure in enumerate(MOLECULES):
        part = found.values[offsets[row] : offsets[row + 1]]
        np.testing.assert_allclose(part, looped_features(functions, structure), rtol=1e-10, atol=1e-14)


def test_published_lengths():
    assert ani_1x().length == 384
    assert ani_2x().length == 1008
    assert SymmetryFunctions.from_json(ani_1x().to_json()) == ani_1x()


@pytest.mark.parametrize("functions", [FUNCTIONS, ani_2x((1, 6, 7, 8))], ids=["few", "2x"])
def test_forces_and_jacobian_agree_with_finite_differences(functions):
    random = np.random.default_rng(0)
    found, offsets = features(functions, MOLECULES)
    weights = random.normal(size=found.values.shape)
    forces = found.forces(found.pair_gradient(weights))
    species, places, _ = flat(MOLECULES)
    kinds = functions.kinds(species)

    def energy(at):
        return float(
            (Features(functions, kinds, find_pairs(at, offsets, functions.radial_cutoff)).values * weights).sum()
        )

    numeric = np.zeros_like(places)
    for atom, axis in np.ndindex(*places.shape):
        step = np.zeros_like(places)
        step[atom, axis] = 1e-5
        numeric[atom, axis] = -(energy(places + step) - energy(places - step)) / 2e-5
    np.testing.assert_allclose(forces, numeric, atol=1e-7)

    width = 6
    jacobian = found.jacobian(offsets, width)
    for row in range(len(MOLECULES)):
        begin, end = offsets[row], offsets[row + 1]
        moved = np.einsum("mf,mfac->ac", weights[begin:end], jacobian[begin:end])
        np.testing.assert_allclose(-moved[: end - begin], forces[begin:end], atol=1e-12)
        assert not moved[end - begin :].any()


def test_single_precision_is_close():
    exact, _ = features(ani_1x(), MOLECULES)
    rounded, _ = features(ani_1x(), MOLECULES, np.float32)
    assert rounded.values.dtype == np.float32
    np.testing.assert_allclose(rounded.values, exact.values, atol=2e-5)


def test_three_atoms_on_a_line_have_finite_forces():
    line = Structure.of([1, 6, 1], [[-1.06, 0, 0], [0, 0, 0], [1.06, 0, 0]])
    found, _ = features(FUNCTIONS, [line])
    assert np.isfinite(found.forces(found.pair_gradient(np.ones_like(found.values)))).all()


def test_an_unknown_element_is_refused():
    with pytest.raises(DataError, match="knows the elements H, C, N, O, and an atom of S"):
        features(FUNCTIONS, [WATER, Structure.of([16, 1, 1], METHANE.coordinates[:3])])
    with pytest.raises(DataError, match="atomic number 0"):
        features(FUNCTIONS, [Structure.of([0, 1, 1], METHANE.coordinates[:3])])
