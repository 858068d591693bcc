"""An open file seen through a mapping: arrays, columns and attributes are put where they belong."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import UnitError
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, Schema, Values
from surrogate.core.units import check_unit, conversion_factor
from surrogate.data.readers.containers import Container
from surrogate.data.readers.mapped_values import array_of, as_number, fitted, from_name, numbers, word
from surrogate.data.readers.mapping import FILE, CoordinateEntry, InputEntry, Mapping, OutputEntry
from surrogate.data.readers.mapping import Place as Entry
from surrogate.data.readers.protocol import Block, Piece, Sketch, SourceError

PIECE_BYTES = 16 * 2**20
"""Bytes of outputs that a piece holds at most, unless one sample alone is larger."""

_NO_UNIT = ("", "-", "1", "none", "unitless", "dimensionless", "nondimensional")
Measured = InputEntry | OutputEntry | CoordinateEntry


class MappedSource:
    """One open file, seen through a mapping."""

    def __init__(self, container: Container, mapping: Mapping, tags: dict[str, str]) -> None:
        """Wrap an open file; nothing is read yet."""
        self._file = container
        self._map = mapping
        self._tags = tags

    def _axis(self, entry: Entry) -> int | None:
        """Return the axis of an array that runs over samples, or None when all samples share it."""
        name = array_of(entry)
        if name is None or isinstance(entry.sample_axis, str) or self._map.sample_axis == FILE:
            return None
        shape = self._file.shape(name)
        if not shape and entry.sample_axis is None:
            return None
        axis = self._map.sample_axis if entry.sample_axis is None else entry.sample_axis
        if axis >= len(shape):
            raise SourceError(
                f"'{name}' in {self._file.path} has the shape {list(shape)}, and the samples should run along its axis "
                f"{axis}. Name another one by 'sample_axis', or 'none' when all samples of the file share it.",
                FailureKind.WRONG_SHAPE,
            )
        return axis

    @cached_property
    def _entries(self) -> dict[str, InputEntry | OutputEntry]:
        return {**self._map.inputs, **self._map.outputs}

    @cached_property
    def _samples(self) -> int:
        """Number of samples."""
        if self._map.sample_axis == FILE:
            return 1
        lengths: dict[str, int] = {}
        for name, entry in self._entries.items():
            axis, array = self._axis(entry), array_of(entry)
            if axis is not None and array is not None:
                lengths[name] = self._file.shape(array)[axis]
        if not lengths:
            return 1
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
            raise SourceError(
                f"The arrays of {self._file.path} differ in their number of samples: {told}. Correct 'sample_axis'.",
                FailureKind.WRONG_SHAPE,
            )
        return next(iter(lengths.values()))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All samples, cut (see `Source.pieces`)."""
        count = self._samples
        if count == 0:
            raise SourceError(f"{self._file.path} holds no sample.", FailureKind.OUTPUT_MISSING)
        bytes_each = 0
        for entry in self._entries.values():
            axis, array = self._axis(entry), array_of(entry)
            if axis is not None and array is not None:
                shape = self._file.shape(array)
                bytes_each += 8 * int(np.prod(shape[:axis] + shape[axis + 1 :], dtype=np.int64))
        step = max(1, min(self._map.rows_per_run, PIECE_BYTES // max(bytes_each, 1)))
        return tuple(Piece(start, min(start + step, count)) for start in range(0, count, step))

    def sketch(self) -> Sketch:
        """Return what mapping and file say (see `Source.sketch`)."""
        inputs: dict[str, dict[str, Any]] = {}
        for name, entry in self._map.inputs.items():
            known = entry.model_dump(include={"low", "high", "scale", "choices", "description"}, exclude_none=True)
            if "scale" not in known and ("choices" in known or self._is_text(entry)):
                known["scale"] = "categorical"
            inputs[name] = {**known, "unit": self._wanted_unit(name, entry)}
        outputs = tuple(self._column(name, entry) for name, entry in self._map.outputs.items())
        return Sketch(inputs, outputs, self._coordinates({}), sentences=self._assumed_units())

    def _assumed_units(self) -> tuple[str, ...]:
        """Return the sentence about quantities that have a unit in the mapping and none in the file, if there are."""
        entries: dict[str, Measured] = {**self._entries, **self._map.coordinates}
        assumed = [
            f"'{name}' in '{entry.unit}'"
            for name, entry in entries.items()
            if entry.unit not in (None, "1") and self._unit_in_file(name, entry) is None
        ]
        if not assumed:
            return ()
        sentence = (
            "The files do not say in which unit these are, and their numbers are taken to be in the mapping's: "
            f"{', '.join(assumed)}. Where that is not so, say 'unit_in_file'."
        )
        return (sentence,)

    def _is_text(self, entry: Entry) -> bool:
        array = array_of(entry)
        if array is not None:
            return self._file.is_text(array)
        value = self._shared(entry)
        return isinstance(value, str) and as_number(value) is None

    def _column(self, name: str, entry: OutputEntry) -> Column:
        """Return an output column with the shape that this file has."""
        array = array_of(entry)
        shape: tuple[int, ...] = ()
        if array is not None:
            axis, shape = self._axis(entry), self._file.shape(array)
            shape = shape if axis is None else shape[:axis] + shape[axis + 1 :]
            shape = shape[len(entry.index) :]
        if entry.ragged:
            if not shape:
                raise SourceError(
                    f"The output '{name}' is ragged, and in {self._file.path} it is a single value.",
                    FailureKind.WRONG_SHAPE,
                )
            shape = (RAGGED, *shape[1:])
        dims = entry.dims
        if dims and len(dims) != len(shape):
            raise SourceError(
                f"The output '{name}' has {len(dims)} names in 'dims', and a sample of it in {self._file.path} has the "
                f"shape {list(shape)}. Name as many axes, in the file's order, without the axis of samples.",
                FailureKind.WRONG_SHAPE,
            )
        unit = self._wanted_unit(name, entry)
        return Column(name, "output", unit, entry.dtype, shape, dims, entry.low, entry.high, entry.description)

    def _wanted_unit(self, name: str, entry: Measured) -> str:
        """Return the unit in which a quantity is wanted, when no campaign says it."""
        if entry.unit is not None:
            return entry.unit
        return self._unit_in_file(name, entry) or "1"

    def _unit_in_file(self, name: str, entry: Measured) -> str | None:
        """Return the unit of a file's numbers, or None when nothing says it."""
        if entry.unit_in_file is not None:
            return entry.unit_in_file
        array = entry.path or entry.column
        if array is None or (isinstance(entry, Entry) and entry.attribute is not None):
            return None
        said = self._file.unit(array)
        if said is None or said.lower() in _NO_UNIT:
            return None if said is None else "1"
        try:
            return check_unit(said)
        except UnitError as error:
            raise SourceError(
                f"{self._file.path} says that '{array}' is in '{said}', which is no unit that is known. Say what it is "
                f"with 'unit_in_file' of '{name}'.",
            ) from error

    def _factor(self, name: str, entry: Measured, unit: str) -> float:
        """Return what the file's numbers are multiplied with."""
        source = self._unit_in_file(name, entry)
        try:
            return 1.0 if source is None else conversion_factor(source, unit)
        except UnitError as error:
            raise SourceError(f"'{name}' in {self._file.path}: {error}") from error

    def _coordinates(self, units: dict[str, str]) -> tuple[Coordinate, ...]:
        """Return the axes, in the given units or else in those that are wanted."""
        found = []
        for name, entry in self._map.coordinates.items():
            unit = units.get(name) or self._wanted_unit(name, entry)
            array = entry.path or entry.column
            values: Any = entry.values
            if array is not None:
                values = numbers(self._file.path, array, self._file.read(array, None, 0, 0))
                if values.ndim != 1:
                    raise SourceError(
                        f"The coordinate '{name}' in {self._file.path} has the shape {list(values.shape)}, and one "
                        "axis is needed.",
                        FailureKind.WRONG_SHAPE,
                    )
            scaled = np.asarray(values, dtype=np.float64) * self._factor(name, entry, unit)
            found.append(Coordinate(name, unit, tuple(scaled.tolist())))
        return tuple(found)

    def read(self, piece: Piece, schema: Schema, names: Collection[str] | None = None) -> Block:
        """Read one piece (see `Source.read`)."""
        columns: dict[str, Values] = {}
        for column in schema.columns:
            if column.name in self._entries and (names is None or column.name in names):
                columns[column.name] = self._values(piece, column, self._entries[column.name])
        groups: tuple[str, ...] = ()
        if self._map.group is not None and names is None:
            keys = self._raw(piece, "group", self._map.group)
            groups = tuple(word(key) for key in keys.reshape(piece.rows, -1)[:, 0].tolist())
        if names is not None:
            return Block(columns)
        mapped = self._coordinates({axis.name: axis.unit for axis in schema.coordinates})
        others = tuple(axis for axis in schema.coordinates if axis.name not in self._map.coordinates)
        return Block(columns, groups, (*mapped, *others))

    def _values(self, piece: Piece, column: Column, entry: InputEntry | OutputEntry) -> Values:
        """Return one column of a piece."""
        raw = self._raw(piece, column.name, entry)
        if column.dtype == "str":
            return np.asarray([word(value) for value in raw.ravel().tolist()], dtype=np.str_).reshape(raw.shape)
        where = array_of(entry) or entry.attribute or entry.file_name or column.name
        values = numbers(self._file.path, where, raw)
        factor = self._factor(column.name, entry, column.unit)
        if factor != 1.0:
            values = values * factor
        if column.shape == () and values.ndim > 1 and values[:1].size == 1:
            values = values.reshape(piece.rows)
        if isinstance(entry, InputEntry) and values.ndim != 1:
            raise SourceError(
                f"The input '{column.name}' has the shape {list(values.shape[1:])} for a sample of {self._file.path}, "
                "and one number is needed. Pick an element with 'index', or correct 'sample_axis'.",
                FailureKind.WRONG_SHAPE,
            )
        if isinstance(entry, OutputEntry) and entry.ragged:
            if values.ndim < 2:
                raise SourceError(
                    f"The output '{column.name}' of {self._file.path} is a single value, and an array is needed.",
                    FailureKind.WRONG_SHAPE,
                )
            return Ragged.from_list([fitted(values[0], column)])
        return fitted(values, column)

    def _raw(self, piece: Piece, name: str, entry: Entry) -> NDArray[Any]:
        """Return what stands in the file, `[N, …]`, before units and types."""
        array = array_of(entry)
        if array is None:
            value = self._tags[name] if entry.file_name is not None else self._shared(entry)
            found = np.asarray(value)
            rows = np.broadcast_to(found, (piece.rows, *found.shape))
        else:
            axis = self._axis(entry)
            if axis is None:
                found = self._file.read(array, None, 0, 0)
                rows = np.broadcast_to(found, (piece.rows, *found.shape))
            else:
                rows = np.moveaxis(self._file.read(array, axis, piece.start, piece.stop), axis, 0)
                if len(rows) != piece.rows:
                    raise SourceError(f"'{array}' in {self._file.path} ends before sample {piece.stop}.")
        try:
            where: tuple[Any, ...] = (slice(None), *entry.index)
            return np.asarray(rows[where]) if entry.index else rows
        except IndexError as error:
            raise SourceError(
                f"'{name}' has index = {list(entry.index)}, and its array in {self._file.path} has the shape "
                f"{list(rows.shape[1:])} for a sample.",
                FailureKind.WRONG_SHAPE,
            ) from error

    def _shared(self, entry: Entry) -> Any:
        """Return an attribute, or what the file's name says, as a scalar or array."""
        if entry.file_name is not None:
            return from_name(self._file.path, entry.file_name)
        return self._file.attribute(entry.path, str(entry.attribute))
