"""Which of the fronts that a profile shows is which of the tracks: nearest to what is expected, order and sign kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

_MOST_SHOWN = 6


def match(
    places: NDArray[np.float64],
    jumps: NDArray[np.float64],
    expected: NDArray[np.float64],
    signs: Sequence[int],
) -> NDArray[np.int64]:
    """Assign the fronts of each row to tracks.

    As many fronts are assigned as there are tracks for; the sum of squared distances to the expected positions is
    smallest, and neither fronts nor tracks change their order. Of more than six fronts in a row the strongest count.

    Args:
        places: `[R, Q]`, rising, NaN behind the last front.
        jumps: `[R, Q]`, the fronts' jumps.
        expected: `[R, K]`, where the tracks are expected.
        signs: K signs of jumps that a track may have; 0 for either.

    Returns:
        `[R, K]`, column of `places` that belongs to a track, −1 where it has no front.
    """
    rows, tracks = expected.shape
    result = np.full((rows, tracks), -1, dtype=np.int64)
    if not tracks or not places.shape[1]:
        return result
    columns = strongest(places, jumps, min(_MOST_SHOWN, places.shape[1]))
    counts = (columns >= 0).sum(axis=1)
    for shown in range(1, columns.shape[1] + 1):
        which = np.flatnonzero(counts == shown)
        if len(which):
            own = columns[which, :shown]
            chosen = _match_equal(
                take(places[which], own), np.sign(take(jumps[which], own)), expected[which], np.asarray(signs)
            )
            result[which] = np.where(chosen >= 0, np.take_along_axis(own, np.maximum(chosen, 0), axis=1), -1)
    return result


def _match_equal(
    places: NDArray[np.float64], sign: NDArray[np.float64], expected: NDArray[np.float64], signs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Assign the fronts of rows that show equally many.

    Args:
        places: `[r, q]`, all finite.
        sign: `[r, q]`, signs of the fronts' jumps.
        expected: `[r, K]`.
        signs: `[K]`.

    Returns:
        `[r, K]`, number of the front that belongs to a track, −1 where it has none.
    """
    shown, tracks = places.shape[1], expected.shape[1]
    forbidden = (signs != 0) & (sign[:, :, None] != signs)
    cost = (places[:, :, None] - expected[:, None, :]) ** 2
    # A forbidden pair costs more than any distance; it is taken apart again when nothing else was left.
    cost = np.where(forbidden, 1e6 * (1.0 + np.max(cost)), cost)
    pairs = min(shown, tracks)
    choices = [(f, t) for f in combinations(range(shown), pairs) for t in combinations(range(tracks), pairs)]
    totals = np.stack([cost[:, list(f), list(t)].sum(axis=1) for f, t in choices])
    best = np.argmin(totals, axis=0)
    result = np.full((len(places), tracks), -1, dtype=np.int64)
    for number, (fronts, chosen) in enumerate(choices):
        rows = np.flatnonzero(best == number)
        for front, track in zip(fronts, chosen, strict=True):
            result[rows, track] = np.where(forbidden[rows, front, track], -1, front)
    return result


def strongest(places: NDArray[np.float64], jumps: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Return the columns of each row's `number` strongest fronts in their order, `[R, number]`; −1 behind the last."""
    strength = np.where(np.isfinite(places), -np.abs(jumps), np.inf)
    rank = np.argsort(strength, axis=1, kind="stable")[:, :number]
    there = np.take_along_axis(np.isfinite(places), rank, axis=1)
    columns = np.sort(np.where(there, rank, places.shape[1]), axis=1)
    return np.where(columns < places.shape[1], columns, -1).astype(np.int64)


def take(table: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return `[R, K]` entries of `[R, Q]` by column, NaN for column −1."""
    if not table.shape[1]:
        return np.full(columns.shape, np.nan)
    return np.where(columns >= 0, np.take_along_axis(table, np.maximum(columns, 0), axis=1), np.nan)
