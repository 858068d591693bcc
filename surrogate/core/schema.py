"""What a dataset's columns are: names, units, dtypes, shapes, bounds, coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.ragged import Ragged, Values
from surrogate.core.units import check_unit

__all__ = ["RAGGED", "Column", "Coordinate", "Ragged", "Role", "SampleTable", "Schema", "Values"]

Role = Literal["input", "output", "fact"]
"""What a column is: asked, learned, or neither: a fact that is recorded beside a sample, such as a level of theory."""

RAGGED = -1


def _check_name(name: str, what: str) -> None:
    """Refuse a name that cannot be one in a file.

    Raises:
        DataError: If it is empty, a dot, or has a slash or a control character in it.
    """
    if name in ("", ".", "..") or "/" in name or any(ord(letter) < 32 for letter in name):
        raise DataError(f"{name!r} cannot be the name of a {what}: use letters, digits, '_', '-' or spaces.")


def _check_dtype(name: str, dtype: str) -> None:
    """Refuse a dtype that is neither numbers, truth values nor `str`.

    Raises:
        DataError: If it is not.
    """
    try:
        known = dtype == "str" or np.dtype(dtype).kind in "biufc"
    except TypeError:
        known = False
    if not known:
        raise DataError(
            f"Column '{name}' has the dtype '{dtype}'; use a NumPy name such as 'float64', 'int64', or 'str'."
        )


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A fixed axis shared by all samples, for example cell centres.

    Attributes:
        name: Name of the axis; columns refer to it in `dims`.
        unit: Unit of the values.
        values: `[L]` float64.
    """

    name: str
    unit: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot be stored.

        Raises:
            DataError: If the name cannot be one in a file.
            UnitError: If the unit is unknown.
        """
        check_unit(self.unit)
        _check_name(self.name, "coordinate")

    @property
    def array(self) -> NDArray[np.float64]:
        """The values, `[L]` float64."""
        return np.asarray(self.values, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Column:
    """One named quantity of a sample.

    Attributes:
        name: Unique among the columns of a schema.
        role: `input`, `output`, or `fact` (recorded with the sample, neither asked nor learned).
        unit: Unit of the values; `1` for none.
        dtype: NumPy dtype string, `float64` unless said otherwise; `str` for categories.
        shape: Shape of one sample; `()` for a scalar. The first axis may be `RAGGED` (−1): its length differs from
            sample to sample.
        dims: Name of each axis of `shape`; a name that is a Coordinate's binds the axis to it. Empty when unnamed.
        low: Smallest physical value, or None.
        high: Largest physical value, or None.
        description: What it is.
    """

    name: str
    role: Role
    unit: str = "1"
    dtype: str = "float64"
    shape: tuple[int, ...] = ()
    dims: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be stored.

        Raises:
            DataError: If the name or dtype cannot be stored, shape and dims disagree, or an axis other than the first
                is ragged.
            UnitError: If the unit is unknown.
        """
        check_unit(self.unit)
        _check_name(self.name, "column")
        _check_dtype(self.name, self.dtype)
        if any(length < 0 for length in self.shape[int(self.ragged) :] if length != RAGGED):
            raise DataError(f"Column '{self.name}' has the shape {list(self.shape)}; lengths cannot be negative.")
        if self.dims and len(self.dims) != len(self.shape):
            raise DataError(f"Column '{self.name}' has {len(self.shape)} axes and {len(self.dims)} names for them.")
        if RAGGED in self.shape[1:]:
            raise DataError(f"Column '{self.name}': only the first axis of a sample may be ragged.")

    @property
    def ragged(self) -> bool:
        """Whether the length of the first axis differs from sample to sample."""
        return bool(self.shape) and self.shape[0] == RAGGED

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "name": self.name, "role": self.role, "unit": self.unit, "dtype": self.dtype, "shape": list(self.shape),
            "dims": list(self.dims), "low": self.low, "high": self.high, "description": self.description,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Schema:
    """All columns and coordinates of a simulator's samples.

    Attributes:
        columns: Inputs, outputs and facts.
        coordinates: Fixed axes that columns refer to.
    """

    columns: tuple[Column, ...]
    coordinates: tuple[Coordinate, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse two columns of one name, and axes that disagree with their coordinate.

        Raises:
            DataError: In both cases.
        """
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise DataError(f"Two columns have the same name: {sorted(names)}.")
        lengths = {axis.name: len(axis.values) for axis in self.coordinates}
        for column in self.columns:
            for dim, length in zip(column.dims, column.shape, strict=False):
                if length != RAGGED and lengths.get(dim, length) != length:
                    raise DataError(
                        f"Column '{column.name}' has {length} values along '{dim}', "
                        f"and the coordinate has {lengths[dim]}."
                    )

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The input columns, in order."""
        return tuple(column for column in self.columns if column.role == "input")

    @property
    def outputs(self) -> tuple[Column, ...]:
        """The output columns, in order."""
        return tuple(column for column in self.columns if column.role == "output")

    @property
    def facts(self) -> tuple[Column, ...]:
        """The columns that are neither asked nor learned, in order."""
        return tuple(column for column in self.columns if column.role == "fact")

    def column(self, name: str) -> Column:
        """Return the column of that name.

        Raises:
            DataError: If there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(f"There is no column '{name}'; there are {[column.name for column in self.columns]}.")

    def coordinate(self, name: str) -> Coordinate | None:
        """Return the coordinate of that name, or None."""
        return next((axis for axis in self.coordinates if axis.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "columns": [column.to_json() for column in self.columns],
            "coordinates": [
                {"name": axis.name, "unit": axis.unit, "values": list(axis.values)} for axis in self.coordinates
            ],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Schema:
        """Rebuild a schema from `to_json`.

        Raises:
            DataError: If the mapping is not one of `to_json`'s.
        """
        try:
            columns = tuple(
                Column(**{**entry, "shape": tuple(entry["shape"]), "dims": tuple(entry["dims"])})
                for entry in record["columns"]
            )
            axes = tuple(
                Coordinate(entry["name"], entry["unit"], tuple(float(value) for value in entry["values"]))
                for entry in record["coordinates"]
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"This is no schema of columns: {error}.") from error
        return cls(columns, axes)


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """Samples in memory, column by column.

    Attributes:
        schema: Names, units and shapes of the columns.
        ids: `[N]` str, identity of each sample.
        groups: `[N]` str, group key of each sample; empty string where a sample is a group of its own.
        columns: Name → `[N, *shape]`, or Ragged of N samples. String inputs are `[N]` str arrays.
    """

    schema: Schema
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    columns: dict[str, Values]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.ids)

    @property
    def inputs(self) -> dict[str, Values]:
        """The input columns by name."""
        return {column.name: self.columns[column.name] for column in self.schema.inputs}

    @property
    def outputs(self) -> dict[str, Values]:
        """The output columns by name."""
        return {column.name: self.columns[column.name] for column in self.schema.outputs}

    def take(self, indices: NDArray[np.int64]) -> SampleTable:
        """Return the samples at `indices`, `[K]` int, in that order."""
        picked = {
            name: values.take(indices) if isinstance(values, Ragged) else values[indices]
            for name, values in self.columns.items()
        }
        rows = [int(index) for index in indices]
        return SampleTable(
            self.schema, tuple(self.ids[row] for row in rows), tuple(self.groups[row] for row in rows), picked
        )
