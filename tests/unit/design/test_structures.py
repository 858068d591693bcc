"""Sets of structures: points, molecules, records."""

import numpy as np
import pytest

from surrogate.core.errors import SpaceError
from surrogate.core.structure import Structure
from surrogate.design.catalogue import space_from_json
from surrogate.design.space import InputSpace
from surrogate.design.structures import StructureSet

WATER = Structure.of([8, 1, 1], [[0, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]], name="water")
SPACE = StructureSet((WATER,))


def test_it_is_an_input_space_and_comes_back_from_its_record():
    assert isinstance(SPACE, InputSpace)
    again = space_from_json(SPACE.to_json())
    assert again.to_json() == SPACE.to_json()
    assert (again.kind, again.dimensions) == ("structures", 0)
    assert [column.name for column in again.columns][:2] == ["species", "coordinates"]
    with pytest.raises(SpaceError, match="no record"):
        space_from_json({"kind": "structures"})


def test_points_are_completed_rounded_and_judged():
    bare = {"species": [8, 1, 1], "coordinates": (WATER.coordinates + 1e-14).tolist()}
    point = SPACE.canonicalise(bare)
    assert point == SPACE.canonicalise(point)
    assert (point["charge"], point["multiplicity"], point["cell"]) == (0, 1, [])
    assert SPACE.contains(point)
    assert "H3N with charge +0 is none of the molecules: H2O (+0)" in (
        SPACE.outside(
            StructureSet().canonicalise(
                {"species": [7, 1, 1, 1], "coordinates": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}
            )
        )
        or ""
    )
    assert StructureSet().contains(point)
    assert not SPACE.contains({**point, "multiplicity": 2})


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ({"species": [1]}, "no 'coordinates'"),
        ({"species": [1], "coordinates": [[0, 0, 0]], "charges": 0}, "no input 'charges'.*Did you mean 'charge'"),
        ({"species": [1], "coordinates": [[0, 0, np.inf]]}, "finite"),
        ({"species": [1, 1], "coordinates": [[0, 0, 0]]}, "coordinates"),
        ({"species": ["H"], "coordinates": [[0, 0, 0]]}, "no structure"),
    ],
)
def test_what_is_no_structure_is_refused(point, told):
    with pytest.raises(SpaceError, match=told):
        SPACE.canonicalise(point)


def test_sets_need_possible_molecules_of_different_names_and_are_no_box():
    with pytest.raises(SpaceError, match="Two molecules are named 'water'"):
        StructureSet((WATER, WATER))
    with pytest.raises(SpaceError, match="Molecule 'water': The multiplicity 2"):
        StructureSet((Structure.of([8, 1, 1], WATER.coordinates, multiplicity=2, name="water"),))
    with pytest.raises(SpaceError, match="no box"):
        SPACE.from_unit(np.zeros((1, 0)))
    with pytest.raises(SpaceError, match="no box"):
        SPACE.to_unit([])
    assert SPACE.group_key("water") == "water"
    assert StructureSet((), "structure").group_key("water") == ""
