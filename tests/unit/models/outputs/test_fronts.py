"""Fronts in profiles: found to a fraction of a cell, none invented."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.models.outputs.fronts import choose_gap, find_fronts
from tests.support.fields import CELLS, POINTS, smeared_step

INSIDE = np.linspace(0.2, 0.8, 97)


def place(position):
    """Return a position as a count of cells."""
    return position * CELLS - 0.5


@pytest.mark.parametrize("width", [0.004, 0.01, 0.02])
def test_the_position_is_known_to_a_fifth_of_a_cell(width):
    found = find_fronts(0.3 + 2.0 * smeared_step(INSIDE, width), 0.1, 4)
    assert found.place.shape == (97, 1)
    assert np.abs(found.place[:, 0] - place(INSIDE)).max() < 0.2
    np.testing.assert_allclose(found.jump[:, 0], -2.0, rtol=0.1)


def test_a_slope_behind_the_front_does_not_shift_it():
    behind = (1.5 - POINTS / INSIDE[:, None]) * smeared_step(INSIDE)
    assert np.abs(find_fronts(behind, 0.05, 4).place[:, 0] - place(INSIDE)).max() < 0.25


def test_two_fronts_of_opposite_sign_are_found_in_order():
    profile = smeared_step(np.array([0.7])) - smeared_step(np.array([0.3]))
    found = find_fronts(profile, 0.1, 4)
    np.testing.assert_allclose(found.place[0], place(np.array([0.3, 0.7])), atol=0.2)
    np.testing.assert_array_equal(np.sign(found.jump[0]), [1, -1])


def test_fronts_too_near_to_each_other_to_be_measured_are_left_out():
    pair = np.array([[0.5, 0.5 + cells / CELLS] for cells in (5.5, 7.5, 9.5, 20.0)])
    profiles = smeared_step(pair[:, 0]) + 0.5 * smeared_step(pair[:, 1])
    found = find_fronts(profiles, 0.05, 4)
    assert np.isfinite(found.place).sum(axis=1).tolist() == [0, 0, 0, 2]


def test_rows_with_fewer_fronts_are_padded():
    profiles = np.concatenate([smeared_step(np.array([0.5])), np.zeros((1, CELLS))])
    found = find_fronts(profiles, 0.1, 4)
    assert np.isnan(found.place[1, 0])
    assert found.jump[1, 0] == 0
    assert found.count == 1


@pytest.mark.parametrize(
    "profile",
    [
        np.zeros(CELLS),
        np.sin(6 * POINTS),
        np.exp(-20 * POINTS),
        np.exp(-(((POINTS - 0.5) / 0.1) ** 2)),
        np.abs(POINTS - 0.5),
        np.tanh((POINTS - 0.5) / 0.15),
    ],
)
def test_smooth_profiles_and_kinks_have_no_front(profile):
    assert find_fronts(profile[None], 0.03 * max(np.ptp(profile), 1e-9), 4).count == 0


def test_a_front_too_near_an_end_to_be_measured_is_not_seen():
    assert find_fronts(smeared_step(np.array([0.02, 0.98, 1.3, -0.2])), 0.1, 4).count == 0


def test_a_profile_shorter_than_the_search_has_no_front():
    assert find_fronts(np.ones((3, 12)), 0.1, 4).count == 0


def test_the_gap_follows_the_thickness():
    assert choose_gap(smeared_step(INSIDE, 0.008), 0.1) == 4
    assert choose_gap(smeared_step(np.linspace(0.35, 0.65, 50), 0.06), 0.1) > 4
