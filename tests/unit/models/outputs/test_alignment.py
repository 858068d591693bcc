"""The piecewise-linear map: fronts stand still, fronts may leave, nothing ever runs backwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surrogate.models.outputs.alignment import Alignment, split_coordinate
from tests.support.fields import CELLS, POINTS

ONE = Alignment(POINTS, 1, 6 / CELLS, 40, 24)
TWO = Alignment(POINTS, 2, 6 / CELLS, 40, 24)


def test_without_fronts_every_cell_is_a_node():
    plain = Alignment(POINTS, 0, 0.0, CELLS - 1, 1)
    assert plain.nodes == CELLS
    np.testing.assert_allclose(plain.coordinate(np.zeros((2, 0))), np.tile(np.arange(CELLS), (2, 1)), atol=1e-9)


def test_the_front_lies_at_one_node_wherever_it_is():
    for position in (0.2, 0.5, 0.8):
        coordinate = ONE.coordinate(np.array([[position]]))[0]
        assert np.interp(position, POINTS, coordinate) == pytest.approx(40 + 12)


def test_the_band_is_only_shifted():
    near = np.abs(POINTS - 0.5) < 0.06
    spacing = np.diff(ONE.coordinate(np.array([[0.5]]))[0][near])
    np.testing.assert_allclose(spacing, 2.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-2.0, 4.0), min_size=2, max_size=2))
def test_cells_keep_their_order_whatever_the_positions(positions):
    coordinate = TWO.coordinate(np.sort(np.array([positions])))
    assert np.isfinite(coordinate).all()
    assert (np.diff(coordinate) >= -1e-9).all()
    assert coordinate.min() >= 0
    assert coordinate.max() <= TWO.nodes - 1 + 1e-9


def test_a_front_that_leaves_changes_the_map_without_a_jump():
    positions = np.linspace(0.9, 1.2, 3001)[:, None]
    assert np.abs(np.diff(ONE.coordinate(positions), axis=0)).max() < 0.1


def test_sensitivity_is_the_derivative_of_the_map():
    position, step = np.array([[0.55]]), 1e-6
    coordinate = ONE.coordinate(position)[0]
    moved = ONE.coordinate(position + step)[0]
    # At a fixed node the cell's content moves by −(∂u/∂p) / (∂u/∂x).
    slope = np.gradient(coordinate, POINTS)
    expected = -(moved - coordinate) / step / slope
    inner = np.abs(np.abs(POINTS - 0.55) - ONE.half_band) > 2 / CELLS
    np.testing.assert_allclose(ONE.sensitivity(position)[0, 0][inner], expected[inner], atol=0.02)


def test_sampling_linear_profiles_is_exact():
    profile = np.linspace(0.0, 1.0, ONE.nodes)[None]
    coordinate = ONE.coordinate(np.array([[0.4]]))
    np.testing.assert_allclose(ONE.sample(profile, np.array([[0.4]])), coordinate / (ONE.nodes - 1), atol=1e-12)


def test_the_last_node_belongs_to_the_last_step():
    index, share = split_coordinate(np.array([0.0, 4.0]), 5)
    assert index.tolist() == [0, 3]
    assert share.tolist() == [0.0, 1.0]
