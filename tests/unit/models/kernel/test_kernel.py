"""The kernel potential: its matrix against finite differences, what it learns, and its network in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.molecules import input_values
from surrogate.models.kernel import solve
from surrogate.models.kernel.family import FAMILY
from surrogate.models.kernel.options import KernelOptions
from surrogate.models.kernel.solve import ElementTable, force_kernel
from tests.support.atoms import AMMONIA, METHANE, WATER, rattled, solution, table

OPTIONS = KernelOptions(
    radial_shifts=[0.8, 1.2, 1.6, 2.0, 2.4], angular_shifts=[0.9, 1.5], angle_shifts=[0.6, 1.6, 2.5]
)
TRAIN = table(24)
TRANSFORMS = FAMILY.fit(TRAIN, OPTIONS, 0)


def predicted(structures):
    return FAMILY.predict(TRANSFORMS, [solution(TRANSFORMS)], input_values(structures))[0]


def test_the_matrix_is_the_second_derivative_of_the_kernel():
    random = np.random.default_rng(0)
    jacobian = random.normal(size=(3, 2, 4, 6))
    place = random.normal(size=(3, 2, 4))
    present = np.ones((3, 2))
    present[2, 1] = 0
    jacobian[2, 1], place[2, 1] = 0, 0
    matrix = force_kernel([ElementTable(place, present, jacobian)]).reshape(3, 6, 3, 6)

    def total(i, j, step_i, step_j):
        x, y = place[i] + jacobian[i] @ step_i, place[j] + jacobian[j] @ step_j
        kernel = np.exp(-0.5 * np.square(x[:, None] - y[None]).sum(axis=2))
        return float(present[i] @ kernel @ present[j])

    h = 1e-4
    for i, j in [(0, 0), (1, 0), (2, 1)]:
        for a, b in [(0, 0), (1, 4), (5, 2)]:
            u, v = h * np.eye(6)[a], h * np.eye(6)[b]
            numeric = total(i, j, u, v) - total(i, j, u, -v) - total(i, j, -u, v) + total(i, j, -u, -v)
            assert matrix[i, a, j, b] == pytest.approx(numeric / (4 * h * h), abs=1e-6)


def test_training_forces_are_reproduced_and_new_ones_are_close():
    own = FAMILY.predict(TRANSFORMS, [solution(TRANSFORMS)], TRAIN.inputs)[0]
    scale = np.abs(TRAIN.columns["forces"].data).mean()
    assert np.abs(own["forces"].data - TRAIN.columns["forces"].data).mean() < 0.02 * scale
    test = table(12, seed=4)
    said = FAMILY.predict(TRANSFORMS, [solution(TRANSFORMS)], test.inputs)[0]
    assert np.abs(said["forces"].data - test.columns["forces"].data).mean() < 0.25 * scale
    # Energies follow from forces, but for a constant of each element.
    error = said["energy"] - test.columns["energy"]
    assert np.abs(error).mean() < 2e-3


def test_forces_are_minus_the_gradient():
    structure = rattled(METHANE, 7)
    numeric = np.zeros_like(structure.coordinates)
    for atom, axis in np.ndindex(*numeric.shape):
        move = np.zeros_like(numeric)
        move[atom, axis] = 1e-3
        up, down = predicted([structure.moved(structure.coordinates + sign * move) for sign in (1, -1)])["energy"]
        numeric[atom, axis] = -(up - down) / 2e-3
    np.testing.assert_allclose(predicted([structure])["forces"][0], numeric, atol=5e-4)


def test_restored_transforms_predict_the_same():
    again = FAMILY.restore(TRAIN.schema, TRANSFORMS.arrays(), TRANSFORMS.to_json())
    one = FAMILY.predict(TRANSFORMS, [solution(TRANSFORMS)], input_values([WATER, AMMONIA]))[0]
    two = FAMILY.predict(again, [solution(again)], input_values([WATER, AMMONIA]))[0]
    np.testing.assert_array_equal(one["energy"], two["energy"])


def test_what_it_cannot_learn_is_refused(monkeypatch):
    with pytest.raises(DataError, match="learns from forces"):
        FAMILY.fit(table(4, forces=False), OPTIONS, 0)
    monkeypatch.setattr(solve, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="kernel matrix of 24 structures"):
        FAMILY.fit(TRAIN, OPTIONS, 0)
