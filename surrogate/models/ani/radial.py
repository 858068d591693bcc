"""The radial part of the features, and how an energy's change with them becomes a change with distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.ani.neighbours import Pairs
from surrogate.models.ani.sparse import rows_of, scatter
from surrogate.models.ani.symmetry import SymmetryFunctions

Array = NDArray[Any]


def cutoff_and_slope(distances: Array, cutoff: float) -> tuple[Array, Array]:
    """Return f_c = ½ cos(π R / R_c) + ½ and its derivative, same shape; distances are below the cutoff."""
    angle = distances * distances.dtype.type(np.pi / cutoff)
    value = np.cos(angle)
    value += 1
    value *= 0.5
    slope = np.sin(angle)
    slope *= slope.dtype.type(-0.5 * np.pi / cutoff)
    return value, slope


class Radial:
    """The radial features of a batch."""

    def __init__(self, functions: SymmetryFunctions, kinds: NDArray[np.int64], pairs: Pairs, dtype: Any) -> None:
        """Compute them.

        Args:
            functions: The symmetry functions.
            kinds: `[M]`, position of each atom's element among `functions.elements`.
            pairs: All pairs within the radial cutoff.
            dtype: Floating type of the computation.
        """
        elements = len(functions.elements)
        self._functions = functions
        self._shifts = np.asarray(functions.radial_shifts, dtype=dtype)
        self._distances = pairs.distances.astype(dtype)
        self._cut, self._slope = cutoff_and_slope(self._distances, functions.radial_cutoff)
        self.rows = np.stack(
            [pairs.first * elements + kinds[pairs.second], pairs.second * elements + kinds[pairs.first]]
        )
        gauss = self._distances[:, None] - self._shifts
        np.square(gauss, out=gauss)
        gauss *= -self._functions.radial_eta
        np.exp(gauss, out=gauss)
        self._gauss = gauss
        quarter = 0.25 * self._cut
        summed = scatter(self.rows, gauss, len(kinds) * elements, np.stack([quarter, quarter]))
        self.features = summed.reshape(len(kinds), functions.radial_length)
        """`[M, E·S]`, S shifts for each element."""

    def pull_back(self, gradient: Array) -> Array:
        """Return dE/dR of each pair, `[P]`, from dE/dfeatures, `[M, E·S]`."""
        width = len(self._shifts)
        blocks = gradient.reshape(-1, width)
        weights = rows_of(blocks, self.rows[0])
        weights += rows_of(blocks, self.rows[1])
        weights *= self._gauss
        # Σ_k w_k and Σ_k w_k s_k at once.
        sums = weights @ np.stack([np.ones_like(self._shifts), self._shifts], axis=1)
        total, shifted = sums[:, 0], sums[:, 1]
        steep = (-2 * self._functions.radial_eta) * self._cut * (self._distances * total - shifted)
        return np.asarray(0.25 * (self._slope * total + steep))

    def slopes(self) -> Array:
        """Return the derivative of a pair's S contributions with its distance, `[P, S]`."""
        eta = self._functions.radial_eta
        away = self._distances[:, None] - self._shifts
        return np.asarray(0.25 * self._gauss * (self._slope[:, None] - 2 * eta * away * self._cut[:, None]))
