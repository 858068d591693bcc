"""The unit cube in which coverage, failures and neighbours are judged: the input space's own, or the data's range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SurrogateError
from surrogate.core.schema import Column
from surrogate.design.space import InputSpace

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One axis of the unit cube.

    Attributes:
        name: The input's name.
        unit: Its unit.
        discrete: Whether it takes whole numbers or words only.
        values: Value at each of the 11 borders between ten equal parts; empty when it has none.
    """

    name: str
    unit: str
    discrete: bool
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """How points are placed in the unit cube.

    Attributes:
        axes: The axes, D of them; none when the inputs have no such form.
        origin: Half a sentence that says whose range the cube is.
        space: The declared space, or None.
        low: `[D]` smallest values when the data's range is used.
        width: `[D]` widths when the data's range is used.
    """

    axes: tuple[Axis, ...]
    origin: str
    space: InputSpace | None
    low: Floats
    width: Floats

    def place(self, points: Sequence[Mapping[str, Any]]) -> tuple[Floats, NDArray[np.int64]]:
        """Place points in the cube.

        Returns:
            `[K, D]` float64, and the positions `[K]` of those of the points that could be placed.
        """
        rows: list[Floats] = []
        placed: list[int] = []
        whole = self._together(points)
        if whole is not None:
            return whole, np.arange(len(points), dtype=np.int64)
        for position, point in enumerate(points):
            row = self._together([point])
            if row is not None:
                rows.append(row)
                placed.append(position)
        empty = np.zeros((0, len(self.axes)))
        return np.concatenate([empty, *rows]), np.asarray(placed, dtype=np.int64)

    def value(self, place: int, unit: float) -> Any:
        """Return the value of an input at a place on its axis, the other inputs being in the middle."""
        if self.space is None:
            return float(self.low[place] + unit * self.width[place])
        row = np.full((1, len(self.axes)), 0.5)
        row[0, place] = min(max(unit, 0.0), float(np.nextafter(1.0, 0.0)))
        return self.space.from_unit(row)[0].get(self.axes[place].name)

    def _together(self, points: Sequence[Mapping[str, Any]]) -> Floats | None:
        if not points or not self.axes:
            return None
        try:
            if self.space is not None:
                unit = np.asarray(self.space.to_unit(points), dtype=np.float64)
            else:
                raw = [[float(point[axis.name]) for axis in self.axes] for point in points]
                unit = (np.asarray(raw, dtype=np.float64) - self.low) / self.width
        except (KeyError, TypeError, ValueError, SurrogateError):  # a failed run's point may lack inputs
            return None
        return unit if np.isfinite(unit).all() else None


def cube_of(space: InputSpace | None, columns: Sequence[Column], points: Sequence[Mapping[str, Any]]) -> Cube:
    """Return the cube of a space, or that of the data's range when there is no such space.

    Args:
        space: The declared space, if there is one.
        columns: The input columns.
        points: The points of the data; their range is used when the space has no unit cube.
    """
    nothing = np.zeros(0)
    if space is not None and space.dimensions:
        return Cube(_axes(space), "unit cube of the declared input space", space, nothing, nothing)
    if any(column.ragged for column in columns):
        return Cube((), "none: the inputs differ in length", None, nothing, nothing)
    scalars = [column for column in columns if column.shape == () and column.dtype not in ("str", "bool")]
    if not scalars or not points:
        return Cube((), "none: the inputs are no single numbers", None, nothing, nothing)
    raw = np.asarray([[float(point[column.name]) for column in scalars] for point in points])
    low, high = raw.min(axis=0), raw.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    borders = low + np.linspace(0.0, 1.0, 11)[:, None] * width
    axes = tuple(
        Axis(column.name, column.unit, np.dtype(column.dtype).kind in "iu", tuple(borders[:, place].tolist()))
        for place, column in enumerate(scalars)
    )
    return Cube(axes, "range of the data, for want of a declared box", None, low, width)


def _axes(space: InputSpace) -> tuple[Axis, ...]:
    """Name the axes of a space; the value at a border is that of the middle of the other axes."""
    dimensions = space.dimensions
    if len(space.columns) != dimensions:
        return tuple(Axis(f"axis {number}", "1", False) for number in range(dimensions))
    axes: list[Axis] = []
    for place, column in enumerate(space.columns):
        unit = np.full((11, dimensions), 0.5)
        unit[:, place] = np.minimum(np.linspace(0.0, 1.0, 11), np.nextafter(1.0, 0.0))
        values = tuple(point[column.name] for point in space.from_unit(unit))
        discrete = column.dtype == "str" or np.dtype(column.dtype).kind in "iub"
        axes.append(Axis(column.name, column.unit, discrete, values))
    return tuple(axes)
