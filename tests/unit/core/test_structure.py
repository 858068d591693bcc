"""Structures: what is impossible is told, and identity is by rounding."""

import re

import numpy as np
import pytest

from surrogate.core.elements import SYMBOLS, atomic_number, symbol_of
from surrogate.core.errors import DataError
from surrogate.core.structure import Structure, formula, nearest_pair, problem

WATER = Structure.of([8, 1, 1], [[0, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]])


def changed(**changes):
    known = {
        "species": [8, 1, 1],
        "coordinates": WATER.coordinates,
        "charge": 0,
        "multiplicity": 1,
        "cell": None,
    }
    return Structure.of(**{**known, **changes})


def test_symbols_and_numbers_go_both_ways():
    assert len(SYMBOLS) == 118
    assert [atomic_number(symbol) for symbol in SYMBOLS] == list(range(1, 119))
    assert [symbol_of(number) for number in (1, 6, 17, 118)] == ["H", "C", "Cl", "Og"]
    assert atomic_number(" cl") == 17
    with pytest.raises(DataError, match="'Xx' is no symbol"):
        atomic_number("Xx")
    with pytest.raises(DataError, match="0 is no atomic number"):
        symbol_of(0)


def test_a_molecule_is_possible_and_named_by_its_formula():
    assert problem(WATER) is None
    assert WATER.name == "H2O"
    assert (WATER.multiplicity, WATER.electrons, WATER.periodic) == (1, 10, False)
    assert formula([6, 1, 1, 1, 6, 1, 1, 8, 1]) == "C2H6O"
    assert formula([11, 17]) == "ClNa"
    assert Structure.of([7, 8], [[0, 0, 0], [0, 0, 1.15]]).multiplicity == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"species": [], "coordinates": np.zeros((0, 3))}, "no atoms"),
        ({"species": [8, 1, 119]}, "atomic number 119"),
        ({"coordinates": [[0, 0, np.nan], [0, 0.7, 0], [0, -0.7, 0]]}, "Coordinate z of atom 1 is nan"),
        ({"coordinates": [[0, 0, 0], [0, 0.7, 0], [0, 0.7, 0.01]]}, r"Atoms 2 \(H\) and 3 \(H\) are 0.01 Å apart"),
        ({"multiplicity": 2}, "multiplicity 2 .* 10 electrons need an odd one"),
        ({"charge": 1, "multiplicity": 1}, "9 electrons need an even one"),
        ({"multiplicity": 13}, "allow 1 to 11"),
        ({"charge": 11}, "more electrons than there are"),
        ({"cell": np.zeros((3, 3))}, "cell has no volume"),
    ],
)
def test_impossible_structures_are_told(changes, told):
    assert re.search(told, problem(changed(**changes)) or "nothing")


def test_atoms_coincide_across_the_border_of_a_cell():
    apart = Structure.of([1, 1], [[0.05, 0, 0], [9.98, 0, 0]], cell=np.eye(3) * 10)
    assert nearest_pair(apart)[0] == pytest.approx(0.07)
    assert "coincide" in (problem(apart) or "")


def test_a_point_is_rounded_and_comes_back():
    point = changed(coordinates=WATER.coordinates / 3, charge=-1, multiplicity=2, cell=np.eye(3) * 7).point()
    again = Structure.from_point(point)
    assert again.point() == point
    assert point["coordinates"][1][1] == 0.254333333333
    assert point["cell"][0] == [7.0, 0.0, 0.0]
    assert WATER.point()["cell"] == []


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(DataError, match=r"found were \[3\], \[2, 3\]"):
        Structure.of([8, 1, 1], np.zeros((2, 3)))
    with pytest.raises(DataError, match="no structure"):
        Structure.from_point({"species": [1]})
