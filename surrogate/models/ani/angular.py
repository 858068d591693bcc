"""The angular part of the features, and how an energy's change with them becomes one with vectors between atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.ani.neighbours import Pairs
from surrogate.models.ani.radial import cutoff_and_slope
from surrogate.models.ani.sparse import by_columns, by_rows, rows_of, scatter
from surrogate.models.ani.symmetry import SymmetryFunctions

Array = NDArray[Any]

DAMPING = 0.95
"""θ = arccos(0.95 cos θ_jik) keeps the derivative finite where three atoms lie on a line."""

_LEAST = 1e-6


class Angular:
    """The angular features of a batch.

    Every pair within the angular cutoff is seen from both of its ends: D directed pairs, sorted by the atom in the
    centre. T triples are a centre and two of its directed pairs `a`, `b`.
    """

    def __init__(self, functions: SymmetryFunctions, kinds: NDArray[np.int64], pairs: Pairs, dtype: Any) -> None:
        """Compute them.

        Args:
            functions: The symmetry functions.
            kinds: `[M]`, position of each atom's element among `functions.elements`.
            pairs: All pairs within the radial cutoff, which is no smaller than the angular one.
            dtype: Floating type of the computation.
        """
        self._functions, self._atoms, self._pairs = functions, len(kinds), len(pairs.first)
        self._directed(pairs, dtype)
        self._triples(kinds)
        self._evaluate(dtype)
        block = functions.angular_block
        values = self._distance_terms * self._weight[:, None]
        terms = np.einsum("ta,tz->taz", values, self._angle_terms).reshape(-1, block)
        summed = scatter(self.rows[None], terms, self._atoms * functions.pair_count)
        self.features = summed.reshape(self._atoms, functions.pair_count * block)
        """`[M, B·A]`, A functions for each pair of elements."""

    def _directed(self, pairs: Pairs, dtype: Any) -> None:
        """Lay out the directed pairs."""
        near = np.flatnonzero(pairs.distances < self._functions.angular_cutoff)
        centres = np.concatenate([pairs.first[near], pairs.second[near]])
        # Sixteen-bit keys are sorted by radix, several times faster.
        small = self._atoms < 2**16
        order = np.argsort(centres.astype(np.uint16) if small else centres, kind="stable")
        count = len(near)
        self._order, self._near = order, near
        self.centres = centres[order]
        self.neighbours = np.concatenate([pairs.second[near], pairs.first[near]])[order]
        distances = pairs.distances[near]
        units = rows_of(pairs.vectors, near) / distances[:, None]
        both = np.concatenate([units, -units])
        self._unit = rows_of(both.astype(dtype), order)
        self._distance = distances[order % count if count else order].astype(dtype)
        self._cut, self._slope = cutoff_and_slope(self._distance, self._functions.angular_cutoff)

    def _triples(self, kinds: NDArray[np.int64]) -> None:
        """Lay out the triples: every directed pair with each later one of the same centre."""
        counts = np.bincount(self.centres, minlength=self._atoms)
        ends = np.cumsum(counts)
        total = len(self.centres)
        later = self._later = ends[self.centres] - 1 - np.arange(total)
        before = np.cumsum(later) - later
        self.a = np.repeat(np.arange(total), later)
        self.b = np.arange(len(self.a)) - np.repeat(before, later) + self.a + 1
        kind = kinds[self.neighbours]
        blocks = self._functions.pair_index[kind[self.a], kind[self.b]]
        self.rows = self.centres[self.a] * self._functions.pair_count + blocks

    def _evaluate(self, dtype: Any) -> None:
        """Compute both factors of every triple."""
        functions = self._functions
        unit_a, unit_b = rows_of(self._unit, self.a), rows_of(self._unit, self.b)
        self._cosine = np.einsum("tc,tc->t", unit_a, unit_b)
        damped = DAMPING * self._cosine
        sine = np.sqrt(1 - damped * damped)
        angles = np.asarray(functions.angle_shifts)
        self._turn = np.stack([np.cos(angles), np.sin(angles)]).astype(dtype) / 2
        # (1 + cos(θ − θ_s)) / 2, by the addition theorem.
        base = np.stack([damped, sine], axis=1) @ self._turn
        base += 0.5
        np.maximum(base, _LEAST, out=base)
        self._base, self._damped, self._sine = base, damped, sine
        self._angle_terms = _power(base, functions.zeta)
        shifts = np.asarray(functions.angular_shifts, dtype=dtype)
        self._mean = 0.5 * (self._distance[self.a] + self._distance[self.b])
        gauss = self._mean[:, None] - shifts
        np.square(gauss, out=gauss)
        gauss *= -functions.angular_eta
        np.exp(gauss, out=gauss)
        self._distance_terms, self._shifts = gauss, shifts
        self._weight = 2 * self._cut[self.a] * self._cut[self.b]

    def _angle_slopes(self) -> Array:
        """Return the derivative of the angle terms with the cosine, `[T, Z]`."""
        ratio = self._damped / self._sine
        slopes = np.stack([np.full_like(ratio, DAMPING), -DAMPING * ratio], axis=1) @ self._turn
        slopes *= self._angle_terms
        slopes /= self._base
        slopes *= self._functions.zeta
        return np.asarray(slopes)

    def pull_back(self, gradient: Array) -> Array:
        """Return dE/d(vector from first to second) of each pair, `[P, 3]`, from dE/dfeatures, `[M, B·A]`."""
        outer, inner = len(self._shifts), self._turn.shape[1]
        given = rows_of(gradient.reshape(-1, outer * inner), self.rows).reshape(-1, outer, inner)
        plain = np.einsum("taz,tz->ta", given, self._angle_terms)
        turned = np.einsum("taz,tz->ta", given, self._angle_slopes())
        by_cosine = self._weight * np.einsum("ta,ta->t", turned, self._distance_terms)
        plain *= self._distance_terms
        sums = plain @ np.stack([np.ones_like(self._shifts), self._shifts], axis=1)
        total = sums[:, 0]
        eta = self._functions.angular_eta
        by_mean = (-eta) * self._weight * (self._mean * total - sums[:, 1])
        cut_a, cut_b = self._cut[self.a], self._cut[self.b]
        by_a = by_mean + 2 * total * self._slope[self.a] * cut_b
        by_b = by_mean + 2 * total * self._slope[self.b] * cut_a
        return self._to_pairs(by_a, by_b, by_cosine)

    def _to_pairs(self, by_a: Array, by_b: Array, by_cosine: Array) -> Array:
        """Add up what triples say about distances and cosines, pair by pair."""
        count = len(self.centres)
        unit = self._unit
        start = np.concatenate([np.zeros(1, np.int32), np.cumsum(self._later, dtype=np.int32)])
        # The same three arrays are the matrix (a, b) by rows and its transpose by columns.
        parts = (by_cosine, self.b.astype(np.int32), start)
        turned = by_rows(parts, (count, count), unit)
        turned += by_columns(parts, (count, count), unit)
        # Without triples NumPy counts in integers.
        along = (np.bincount(self.a, by_a, count) + np.bincount(self.b, by_b, count)).astype(np.float64)
        # cos θ = u_a · u_b, so that Σ dE/dcos · cos is the part of the sum that lies along the pair.
        along -= np.einsum("dc,dc->d", turned, unit) / self._distance
        directed = turned / self._distance[:, None] + along[:, None] * unit
        unsorted = np.empty_like(directed)
        unsorted[self._order] = directed
        half = len(self._near)
        result = np.zeros((self._pairs, 3))
        result[self._near] = unsorted[:half] - unsorted[half:]
        return result

    def slopes(self) -> tuple[Array, Array]:
        """Return the derivatives of a triple's A contributions with the places of both neighbours, `[T, A, 3]` each."""
        unit_a, unit_b = self._unit[self.a], self._unit[self.b]
        eta, weight = self._functions.angular_eta, self._weight[:, None]
        steep = -eta * weight * (self._mean[:, None] - self._shifts) * self._distance_terms
        cut_a, cut_b = self._cut[self.a, None], self._cut[self.b, None]
        by_a = steep + 2 * self._slope[self.a, None] * cut_b * self._distance_terms
        by_b = steep + 2 * self._slope[self.b, None] * cut_a * self._distance_terms
        turned = weight * self._distance_terms
        by_cosine = _outer(turned, self._angle_slopes())
        across_a = (unit_b - self._cosine[:, None] * unit_a) / self._distance[self.a, None]
        across_b = (unit_a - self._cosine[:, None] * unit_b) / self._distance[self.b, None]
        stretch_a, stretch_b = _outer(by_a, self._angle_terms), _outer(by_b, self._angle_terms)
        first = stretch_a[:, :, None] * unit_a[:, None] + by_cosine[:, :, None] * across_a[:, None]
        second = stretch_b[:, :, None] * unit_b[:, None] + by_cosine[:, :, None] * across_b[:, None]
        return first, second


def _outer(distance: Array, angle: Array) -> Array:
    """Return `[T, S·Z]` products of `[T, S]` and `[T, Z]`."""
    return np.asarray((distance[:, :, None] * angle[:, None, :]).reshape(len(distance), -1))


def _power(base: Array, exponent: float) -> Array:
    """Return base to the exponent; by squaring where that is a power of two."""
    doublings = int(exponent).bit_length() - 1
    if exponent != 2**doublings:
        return np.asarray(np.power(base, base.dtype.type(exponent)))
    result = base.copy()
    for _ in range(doublings):
        np.square(result, out=result)
    return result
