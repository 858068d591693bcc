"""Which structures are like those of the training."""

from __future__ import annotations

import numpy as np

from surrogate.core.molecules import input_values
from surrogate.models.ani.family import FAMILY
from surrogate.models.ani.options import AniOptions
from surrogate.models.ani.reach import MOST, Reach
from tests.support.atoms import HYDROGEN, METHANE, WATER, rattled, table

TRANSFORMS = FAMILY.fit(table(150), AniOptions(), 0)


def known(structures, transforms=TRANSFORMS):
    return FAMILY.knows(transforms, input_values(structures), {"energy": np.zeros(len(structures))})


def test_structures_like_those_of_the_training_are_known():
    fresh = [rattled(kind, 9000 + number) for number in range(100) for kind in (WATER, METHANE)]
    assert known(fresh).mean() > 0.85


def test_stretched_bonds_and_strange_surroundings_are_not():
    stretched = METHANE.coordinates.copy()
    stretched[1] *= 1.8
    assert known([METHANE.moved(stretched), HYDROGEN, METHANE]).tolist() == [False, False, True]


def test_it_survives_being_stored():
    again = FAMILY.restore(TRANSFORMS.schema, TRANSFORMS.arrays(), TRANSFORMS.to_json())
    assert again.reach.radii == TRANSFORMS.reach.radii
    structures = [rattled(WATER, number, 0.2) for number in range(30)]
    np.testing.assert_array_equal(known(structures), known(structures, again))


def test_many_atoms_are_thinned():
    own = np.random.default_rng(0).normal(size=(5000, 3))
    reach = Reach.fit([own], 1.0)
    assert len(reach.references[0]) == MOST
    assert 0.97 < reach.knows(0, own, np.zeros((5000, 0))).mean() <= 1


def test_members_that_disagree_are_noticed():
    reach = Reach((), (), 0.001)
    assert reach.agrees(np.array([0.0019, 0.0021]), np.array([4, 4])).tolist() == [True, False]
