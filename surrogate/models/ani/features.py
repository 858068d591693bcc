"""Features of atoms, and what changes with them: forces, virials and Jacobians."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.ani.angular import Angular
from surrogate.models.ani.neighbours import Pairs
from surrogate.models.ani.radial import Radial
from surrogate.models.ani.sparse import scatter
from surrogate.models.ani.symmetry import SymmetryFunctions

Array = NDArray[Any]


class Features:
    """The symmetry functions of all atoms of a batch.

    Attributes:
        values: `[M, F]`.
    """

    def __init__(
        self, functions: SymmetryFunctions, kinds: NDArray[np.int64], pairs: Pairs, dtype: Any = np.float64
    ) -> None:
        """Compute them.

        Args:
            functions: The symmetry functions.
            kinds: `[M]`, position of each atom's element among `functions.elements`.
            pairs: All pairs within the radial cutoff.
            dtype: float64, or float32 for speed.
        """
        self._functions, self._kinds, self._pairs, self._dtype = functions, kinds, pairs, dtype
        self._radial = Radial(functions, kinds, pairs, dtype)
        self._angular = Angular(functions, kinds, pairs, dtype)
        self.values = np.concatenate([self._radial.features, self._angular.features], axis=1)

    def pair_gradient(self, gradient: Array) -> Array:
        """Return dE/d(vector from first to second) of each pair, `[P, 3]`.

        Args:
            gradient: `[M, F]`, dE/dfeatures.
        """
        split = self._functions.radial_length
        by_distance = self._radial.pull_back(np.ascontiguousarray(gradient[:, :split]))
        result = self._angular.pull_back(np.ascontiguousarray(gradient[:, split:]))
        result += (by_distance / self._pairs.distances)[:, None] * self._pairs.vectors
        return np.asarray(result, dtype=np.float64)

    def forces(self, pair_gradient: Array) -> NDArray[np.float64]:
        """Return −dE/d(place) of each atom, `[M, 3]`, from `pair_gradient`."""
        rows = np.stack([self._pairs.first, self._pairs.second])
        signs = np.ones(rows.shape)
        signs[1] = -1
        return np.asarray(scatter(rows, pair_gradient, len(self._kinds), signs), dtype=np.float64)

    def virial(self, pair_gradient: Array, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return dE/d(strain) of each structure, `[N, 3, 3]`: Σ over pairs of vector ⊗ dE/d(vector)."""
        outer = self._pairs.vectors[:, :, None] * pair_gradient[:, None, :]
        structure = np.searchsorted(offsets, self._pairs.first, side="right") - 1
        summed = scatter(structure[None], outer.reshape(-1, 9), len(offsets) - 1)
        return np.asarray(summed, dtype=np.float64).reshape(-1, 3, 3)

    def jacobian(self, offsets: NDArray[np.int64], width: int) -> Array:
        """Return how features change with places, `[M, F, width, 3]`; atom indices count from the structure's first.

        Args:
            offsets: `[N + 1]`, where structures begin; none is periodic.
            width: At least the number of atoms of the largest structure.
        """
        functions, atoms = self._functions, len(self._kinds)
        local = np.arange(atoms) - np.repeat(offsets[:-1], np.diff(offsets))
        pairs, elements = self._pairs, len(functions.elements)
        units = (pairs.vectors / pairs.distances[:, None]).astype(self._dtype)
        slopes = self._radial.slopes()
        steps = (slopes[:, :, None] * units[:, None]).reshape(len(slopes), -1)
        ends = np.stack([local[pairs.first], local[pairs.second]])
        rows = (self._radial.rows[:, None] * width + ends[None]).reshape(4, -1)
        signs = np.tile(np.asarray([[-1.0], [1.0]], dtype=self._dtype), (2, len(slopes)))
        radial = scatter(rows, steps, atoms * elements * width, signs)
        radial = radial.reshape(atoms, elements, width, -1, 3).transpose(0, 1, 3, 2, 4)
        return np.concatenate(
            [radial.reshape(atoms, functions.radial_length, width, 3), self._angular_jacobian(local, width)], axis=1
        )

    def _angular_jacobian(self, local: NDArray[np.int64], width: int) -> Array:
        """Return the angular part of the Jacobian."""
        angular, functions, atoms = self._angular, self._functions, len(self._kinds)
        first, second = (part.reshape(len(part), -1) for part in angular.slopes())
        count = atoms * functions.pair_count * width
        base = angular.rows * width
        total = scatter((base + local[angular.neighbours[angular.a]])[None], first, count)
        total += scatter((base + local[angular.neighbours[angular.b]])[None], second, count)
        total -= scatter((base + local[angular.centres[angular.a]])[None], first + second, count)
        shaped = total.reshape(atoms, functions.pair_count, width, functions.angular_block, 3)
        return shaped.transpose(0, 1, 3, 2, 4).reshape(atoms, -1, width, 3)
