"""Fronts of a profile matched to tracks: nearest, in order, of the right sign."""

from __future__ import annotations

import numpy as np

from surrogate.models.outputs.matching import match, strongest, take

NAN = np.nan


def matched(places, jumps, expected, signs):
    """Return the track positions of one row."""
    places, jumps, expected = (np.asarray([values], dtype=float) for values in (places, jumps, expected))
    return take(places, match(places, jumps, expected, signs))[0].tolist()


def test_one_front_goes_to_the_nearest_track():
    assert str(matched([0.6, NAN], [-1, 0], [0.2, 0.7], (0, 0))) == str([NAN, 0.6])


def test_as_many_fronts_as_tracks_keep_their_order_even_when_all_are_near_one():
    assert matched([0.1, 0.2], [-1, -1], [0.9, 0.95], (0, 0)) == [0.1, 0.2]


def test_a_front_of_the_wrong_sign_belongs_to_nobody():
    assert str(matched([0.3], [1.0], [0.3], (-1,))) == str([NAN])
    assert str(matched([0.3, 0.8], [1.0, -1.0], [0.3], (-1,))) == str([0.8])


def test_a_track_of_either_sign_takes_both():
    for jump in (1.0, -1.0):
        assert matched([0.3], [jump], [0.5], (0,)) == [0.3]


def test_more_fronts_than_tracks_leave_the_farthest_out():
    assert matched([0.1, 0.5, 0.9], [1, 1, 1], [0.45, 0.85], (0, 0)) == [0.5, 0.9]


def test_rows_without_fronts_have_none():
    assert match(np.full((3, 2), NAN), np.zeros((3, 2)), np.zeros((3, 2)), (0, 0)).tolist() == [[-1, -1]] * 3
    assert match(np.zeros((3, 0)), np.zeros((3, 0)), np.zeros((3, 2)), (0, 0)).tolist() == [[-1, -1]] * 3
    assert take(np.zeros((2, 0)), np.full((2, 1), -1)).shape == (2, 1)


def test_of_very_many_fronts_the_strongest_count():
    places = np.linspace(0.0, 0.9, 10)[None]
    jumps = np.arange(10.0)[None] + 1
    assert strongest(places, jumps, 3).tolist() == [[7, 8, 9]]
    assert match(places, jumps, np.array([[0.0]]), (0,)).tolist() == [[4]]
