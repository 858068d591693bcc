"""Pairs: all of them, each once, in free space and in cells of any shape."""

from __future__ import annotations

import ase
import numpy as np
import pytest
from ase.neighborlist import neighbor_list

from surrogate.core.errors import DataError
from surrogate.models.ani import neighbours
from surrogate.models.ani.neighbours import cell_list, find_pairs

CELLS = [
    np.diag([9.0, 10.0, 11.0]),
    np.array([[6.0, 0, 0], [2.5, 5.5, 0], [1.0, -2.0, 7.0]]),
    np.diag([2.1, 3.0, 25.0]),
]


def distances_from_both_ends(pairs):
    """Return what a full list of neighbours would say: sorted (first, second, distance) from either end."""
    both = np.concatenate([pairs.first, pairs.second]), np.concatenate([pairs.second, pairs.first])
    return sorted(zip(*map(list, both), np.round(np.tile(pairs.distances, 2), 9).tolist(), strict=True))


@pytest.mark.parametrize("cell", CELLS, ids=["box", "skew", "thin"])
def test_a_cell_list_agrees_with_ase(cell):
    random = np.random.default_rng(1)
    places = random.uniform(-1, 2, (14, 3)) @ cell
    atoms = ase.Atoms("H14", positions=places, cell=cell, pbc=True)
    first, second, distance = neighbor_list("ijd", atoms, 4.5)
    expected = sorted(zip(first.tolist(), second.tolist(), np.round(distance, 9).tolist(), strict=True))
    pairs = cell_list(places, 4.5, cell)
    assert distances_from_both_ends(pairs) == expected
    np.testing.assert_allclose(np.linalg.norm(pairs.vectors, axis=1), pairs.distances)


def test_a_cell_list_agrees_with_all_pairs(monkeypatch):
    random = np.random.default_rng(2)
    places = random.uniform(0, 14, (45, 3))
    offsets = np.array([0, 20, 45])
    small = find_pairs(places, offsets, 3.0)
    monkeypatch.setattr(neighbours, "SMALL", 3)
    large = find_pairs(places, offsets, 3.0)
    assert distances_from_both_ends(small) == distances_from_both_ends(large)
    assert not (np.searchsorted(offsets, small.first, "right") - np.searchsorted(offsets, small.second, "right")).any()


def test_work_grows_with_the_number_of_atoms_and_not_with_its_square():
    random = np.random.default_rng(3)
    looked_at = []
    for edge in (20.0, 40.0):
        places = random.uniform(0, edge, (int(0.1 * edge**3), 3))
        looked_at.append(len(neighbours._candidates(places, len(places), 4.0)[0]) / len(places))
    assert looked_at[1] < 1.5 * looked_at[0]


def test_coincident_atoms_and_places_that_are_none_are_refused():
    places = np.array([[0, 0, 0], [0, 0, 1.0], [5, 0, 0], [5, 0, 0.05]])
    with pytest.raises(DataError, match=r"Atoms 1 and 2 of structure 2 are 0.05 Å apart"):
        find_pairs(places, np.array([0, 2, 4]), 4.0)
    places[3, 2] = np.nan
    with pytest.raises(DataError, match="not finite"):
        find_pairs(places, np.array([0, 2, 4]), 4.0)
    with pytest.raises(DataError, match="no volume"):
        find_pairs(places[:2], np.array([0, 2]), 4.0, [np.ones((3, 3))])


def test_an_atom_next_to_its_own_image_is_a_pair_once():
    pairs = cell_list(np.zeros((1, 3)), 3.0, np.diag([2.0, 10.0, 10.0]))
    assert (pairs.first.tolist(), pairs.second.tolist(), pairs.distances.tolist()) == ([0], [0], [2.0])
