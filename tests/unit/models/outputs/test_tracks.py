"""Fronts followed from profile to profile, and where they are when they cannot be seen."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.models.outputs.fronts import find_fronts
from surrogate.models.outputs.positions import PositionScale, fit_positions
from surrogate.models.outputs.tracks import Tracks
from tests.support.fields import CELLS, POINTS, smeared_step


def follow(features, profiles, most=3):
    """Return the tracks, positions and whether each was seen."""
    fronts = find_fronts(profiles, 0.05, 4)
    places = np.interp(fronts.place, np.arange(CELLS), POINTS)
    tracks = Tracks.fit(features, fronts, places, low=0.0, high=1.0, most=most)
    return (tracks, *tracks.positions(features, fronts, places))


def features(count=150, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 2))


def test_a_front_that_left_is_put_where_the_others_say():
    given = features()
    exact = 0.75 + 0.4 * given[:, 0] + 0.1 * given[:, 1] ** 2
    tracks, where, seen = follow(given, smeared_step(exact))
    assert tracks.count == 1
    assert 0.5 < seen.mean() < 0.95
    np.testing.assert_allclose(where[seen[:, 0], 0], exact[seen[:, 0]], atol=0.3 / CELLS)
    assert where[~seen[:, 0] & (exact > 1), 0].min() > 0.97
    assert np.abs(where[~seen[:, 0], 0] - exact[~seen[:, 0]]).max() < 0.05


def test_two_fronts_of_one_sign_are_told_apart_when_one_is_gone():
    given = features()
    left, right = 0.3 + 0.15 * given[:, 0], 0.85 + 0.3 * given[:, 1]
    tracks, where, seen = follow(given, smeared_step(left) + smeared_step(right))
    assert tracks.signs == (-1, -1)
    alone = seen[:, 0] & ~seen[:, 1]
    assert alone.any()
    np.testing.assert_allclose(where[alone, 0], left[alone], atol=0.5 / CELLS)


def test_opposite_fronts_keep_their_signs_and_order():
    given = features()
    profiles = smeared_step(0.7 + 0.1 * given[:, 0]) - smeared_step(0.3 + 0.1 * given[:, 1])
    tracks, where, _ = follow(given, profiles)
    assert tracks.signs == (1, -1)
    assert (np.diff(where, axis=1) > 0).all()


def test_a_front_whose_jump_changes_its_sign_is_one_front():
    given = features(300)
    left, right = 0.35 + 0.1 * given[:, 0], 0.7 + 0.1 * given[:, 1]
    jump = given[:, 1] + 0.3 * given[:, 0]
    tracks, where, seen = follow(given, jump[:, None] * smeared_step(left) + 2 * smeared_step(right))
    assert tracks.signs == (0, -1)
    strong = np.abs(jump) > 0.2
    assert seen[strong].mean() > 0.95
    np.testing.assert_allclose(where[strong, 0], left[strong], atol=0.5 / CELLS)
    # Where the jump is too weak to be seen, the front is where the others say.
    np.testing.assert_allclose(where[:, 0], left, atol=1.0 / CELLS)


def test_a_pulse_of_which_one_end_has_left_keeps_the_other():
    given = features(300)
    tail = 0.55 + 0.3 * given[:, 0]
    head = tail + 0.35
    tracks, where, seen = follow(given, smeared_step(head) - smeared_step(tail))
    assert tracks.signs == (1, -1)
    alone = seen[:, 0] & ~seen[:, 1]
    assert alone.mean() > 0.2
    np.testing.assert_allclose(where[alone, 0], tail[alone], atol=0.5 / CELLS)
    np.testing.assert_allclose(where[alone, 1], head[alone], atol=3.0 / CELLS)


def test_places_that_no_input_explains_are_no_front():
    random = np.random.default_rng(1)
    tracks, where, _ = follow(features(), smeared_step(random.uniform(0.2, 0.8, 150)))
    assert tracks.count == 0
    assert where.shape == (150, 0)


def test_noise_is_no_front():
    assert follow(features(), np.random.default_rng(0).normal(size=(150, CELLS)))[0].count == 0


def test_a_front_at_rest_needs_no_registration():
    assert follow(features(), smeared_step(np.full(150, 0.5)))[0].count == 0


def test_restored_tracks_give_the_same_positions():
    given = features()
    fronts = find_fronts(smeared_step(0.75 + 0.4 * given[:, 0]), 0.05, 4)
    places = np.interp(fronts.place, np.arange(CELLS), POINTS)
    tracks = Tracks.fit(given, fronts, places, low=0.0, high=1.0, most=3)
    again = Tracks.restore(tracks.arrays(), tracks.to_json())
    np.testing.assert_array_equal(tracks.positions(given, fronts, places)[0], again.positions(given, fronts, places)[0])


@pytest.mark.parametrize(("measure", "sign"), [("from_low", 1), ("from_high", -1)])
def test_a_front_that_spreads_over_decades_from_an_end_is_smooth_in_the_logarithm(measure, sign):
    given = features()
    distance = 0.1 * np.exp(1.5 * given[:, 0])
    track = distance if sign > 0 else 1 - distance
    model = fit_positions(given, track, 0.0, 1.0)
    assert model.scale.measure == measure
    assert model.explained > 0.99


def test_positions_survive_the_scale_in_every_measure():
    positions = np.array([0.05, 0.4, 0.9])
    for measure in ("plain", "from_low", "from_high"):
        scale = PositionScale(measure, 0.0, 1.0).fitted(positions)
        np.testing.assert_allclose(scale.decode(scale.encode(positions)), positions)
        numbers = scale.encode(positions)
        slope = (scale.decode(numbers + 1e-6) - scale.decode(numbers - 1e-6)) / 2e-6
        np.testing.assert_allclose(scale.slope(positions), slope, rtol=1e-5)


def test_no_network_output_puts_a_front_at_infinity():
    for measure in ("plain", "from_low", "from_high"):
        assert np.abs(PositionScale(measure, 0.0, 1.0).decode(np.array([-1e4, 1e4]))).max() <= 9.0 + 1e-9


def test_seen_at_one_time_only_still_gives_positions():
    given = np.concatenate([features(40), np.zeros((40, 1))], axis=1)
    model = fit_positions(given, 0.5 + 0.1 * given[:, 0], 0.0, 1.0)
    assert np.isfinite(model.predict(given + np.array([0, 0, 1.0]))).all()
