"""Where a surrogate was trained: inside the declared space and within the reach of its training points.

A point lies in the domain when (1) every coordinate of it in the unit cube is within [0, 1], and (2) its nearest
training point is no farther than the 0.99 quantile of the distances that the training points have to their own nearest
neighbour (leave-one-out). A point that was drawn like the training points passes in about 99 of 100 cases; one in a
hole that failed runs left does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from surrogate.core.errors import IntegrityError, SpaceError
from surrogate.core.schema import Ragged, Values
from surrogate.design.space import InputSpace

QUANTILE = 0.99
"""Share of the training points whose leave-one-out distance lies within the reach."""

_EDGE = 1e-9
"""Slack of the unit cube's faces, so that a point on a bound is not lost to rounding."""


def unit_coordinates(space: InputSpace, inputs: Mapping[str, Values]) -> NDArray[np.float64]:
    """Return the coordinates of N points in the space's unit cube, `[N, dimensions]`; NaN in a row that has none.

    Args:
        space: A space with a unit cube (`dimensions` > 0).
        inputs: Input name → `[N]` scalars, in the space's units.
    """
    names = [column.name for column in space.columns]
    columns = [np.asarray(inputs[name]).tolist() for name in names]
    points = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if not points:
        return np.zeros((0, space.dimensions))
    try:
        return np.asarray(space.to_unit(points), dtype=np.float64)
    except SpaceError:
        # Some row names a choice that the space does not have: find which, the others keep their coordinates.
        rows = np.full((len(points), space.dimensions), np.nan)
        for index, point in enumerate(points):
            try:
                rows[index] = space.to_unit([point])[0]
            except SpaceError:
                continue
        return rows


def boxed(space: InputSpace | None) -> bool:
    """Return whether a space maps its points, all scalars, to a unit cube."""
    return space is not None and space.dimensions > 0 and all(column.shape == () for column in space.columns)


@dataclass(frozen=True, eq=False)
class Domain:
    """The part of an input space that training has seen.

    Attributes:
        points: `[T, d]` float64, training points in the unit cube.
        radius: Reach around each of them, in units of the unit cube's edge; infinite for fewer than two points.
    """

    points: NDArray[np.float64]
    radius: float

    @classmethod
    def fit(cls, space: InputSpace | None, inputs: Mapping[str, Values]) -> Domain | None:
        """Learn the reach of the training points.

        Args:
            space: The declared space, or None.
            inputs: Inputs of the training samples, name → `[T]` scalars.

        Returns:
            The domain, or None when the space has no unit cube to measure distances in.
        """
        if space is None or not boxed(space) or any(isinstance(values, Ragged) for values in inputs.values()):
            return None
        points = unit_coordinates(space, inputs)
        # Samples of one run can share their inputs; a point is no neighbour of itself.
        points = np.unique(points[np.isfinite(points).all(axis=1)], axis=0)
        if len(points) < 2:
            return cls(points, float("inf"))
        distances = np.asarray(cKDTree(points).query(points, k=2)[0], dtype=np.float64)
        return cls(points, float(np.quantile(distances[:, 1], QUANTILE)))

    @cached_property
    def _tree(self) -> cKDTree[None]:
        return cKDTree(self.points)

    def distances(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of N points `[N, d]` of the unit cube to their nearest training point, `[N]`.

        A row that is not finite is infinitely far.
        """
        result = np.full(len(unit), np.inf)
        finite = np.isfinite(unit).all(axis=1)
        if finite.any() and len(self.points):
            result[finite] = self._tree.query(unit[finite])[0]
        return result

    def contains(self, unit: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which of N points `[N, d]` of the unit cube lie in the domain, `[N]` bool."""
        with np.errstate(invalid="ignore"):
            inside = ((unit >= -_EDGE) & (unit <= 1 + _EDGE)).all(axis=1)
        return np.asarray(inside & (self.distances(unit) <= self.radius), dtype=np.bool_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store: `points`, `[T, d]` float64."""
        return {"points": self.points}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest; an infinite radius is None."""
        return {
            "kind": "nearest_training_point",
            "quantile": QUANTILE,
            "radius": self.radius if np.isfinite(self.radius) else None,
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> Domain:
        """Rebuild from `arrays` and `to_json`.

        Raises:
            IntegrityError: If they do not belong to a domain.
        """
        try:
            points = np.asarray(arrays["points"], dtype=np.float64)
            radius = float("inf") if record["radius"] is None else float(record["radius"])
        except (KeyError, TypeError, ValueError) as error:
            raise IntegrityError(f"This is no record of a domain: {error}.") from error
        if points.ndim != 2 or not radius >= 0:
            raise IntegrityError("This is no record of a domain: its points are no table, or its radius is negative.")
        return cls(points, radius)
