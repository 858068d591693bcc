"""Where training has been."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import IntegrityError
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.models.domain import Domain, unit_coordinates

SPACE = ParameterSpace((Parameter("a", 1.0, 100.0, scale="log10"), Parameter("b", -1.0, 1.0)))


def columns(unit: np.ndarray) -> dict[str, np.ndarray]:
    points = SPACE.from_unit(unit)
    return {name: np.asarray([point[name] for point in points]) for name in SPACE.names}


def grid(count: int) -> np.ndarray:
    axis = (np.arange(count) + 0.5) / count
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def test_the_reach_of_a_grid_is_its_spacing():
    domain = Domain.fit(SPACE, columns(grid(10)))
    assert domain is not None
    assert domain.radius == pytest.approx(0.1, rel=1e-9)


def test_inside_outside_and_holes():
    points = grid(10)
    hole = np.linalg.norm(points - 0.5, axis=1) > 0.25
    domain = Domain.fit(SPACE, columns(points[hole]))
    asked = np.array([[0.2, 0.2], [0.5, 0.5], [0.05, 0.99], [1.02, 0.5], [0.5, -0.001], [np.nan, 0.5]])
    assert domain.contains(asked).tolist() == [True, False, True, False, False, False]


def test_points_drawn_like_the_training_points_are_in():
    random = np.random.default_rng(0)
    domain = Domain.fit(SPACE, columns(random.random((500, 2))))
    assert domain.contains(random.random((2000, 2))).mean() > 0.97


def test_bounds_belong_to_the_domain():
    domain = Domain.fit(SPACE, columns(grid(10)))
    corner = unit_coordinates(SPACE, {"a": np.array([100.0, 1.0]), "b": np.array([1.0, -1.0])})
    assert domain.contains(corner).all()


def test_a_word_that_is_no_choice_has_no_place():
    space = ParameterSpace((Parameter("kind", scale="categorical", choices=("x", "y")), Parameter("b", 0.0, 1.0)))
    unit = unit_coordinates(space, {"kind": np.array(["x", "z"]), "b": np.array([0.5, 0.5])})
    assert np.isfinite(unit).all(axis=1).tolist() == [True, False]


def test_too_few_points_reach_everywhere_in_the_space():
    domain = Domain.fit(SPACE, columns(np.array([[0.5, 0.5]])))
    assert domain.contains(np.array([[0.0, 1.0], [1.5, 0.5]])).tolist() == [True, False]
    assert Domain.restore(domain.arrays(), domain.to_json()).radius == float("inf")


def test_no_space_no_domain():
    assert Domain.fit(None, {"a": np.zeros(3)}) is None


def test_record_and_arrays_give_the_same_domain():
    domain = Domain.fit(SPACE, columns(grid(4)))
    again = Domain.restore(domain.arrays(), domain.to_json())
    assert again.radius == domain.radius
    assert np.array_equal(again.points, domain.points)
    with pytest.raises(IntegrityError, match="no record of a domain"):
        Domain.restore({}, domain.to_json())
    with pytest.raises(IntegrityError, match="no record of a domain"):
        Domain.restore(domain.arrays(), {"radius": -1.0})
