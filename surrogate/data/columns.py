"""Columns in HDF5: one row a sample, ragged ones as flat data plus offsets, text as fixed-length UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, Role, Schema, Values

_GROUPS: dict[Role, str] = {"input": "inputs", "output": "outputs"}


def storable(name: str, values: Any, column: Column | None = None) -> Values:
    """Return values in a form that can be stored, cast to the column's dtype where nothing is lost.

    Values that do not fit the column are kept as they are: judging them is the business of admission.

    Args:
        name: Name of the column, for the message.
        values: An array or sequence `[N, ...]`, a Ragged, or for a ragged column a list of arrays.
        column: The declared column, if there is one.

    Raises:
        DataError: If the values are no arrays of numbers, truth values or text.
    """
    if isinstance(values, Ragged):
        return Ragged(_plain_array(name, values.data, column), np.asarray(values.offsets, dtype=np.int64))
    if column is not None and column.ragged and isinstance(values, list | tuple):
        parts = [_plain_array(name, part, column) for part in values]
        like = np.zeros((0, *column.shape[1:]), dtype=_numpy_dtype(column))
        return Ragged.from_list(parts, like=like)
    return _plain_array(name, values, column)


def _numpy_dtype(column: Column) -> np.dtype[Any]:
    return np.dtype("<U1") if column.dtype == "str" else np.dtype(column.dtype)


def _plain_array(name: str, values: Any, column: Column | None) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        if array.dtype.kind in "OT" and all(isinstance(item, str) for item in array.ravel().tolist()):
            array = array.astype(np.str_)
        if array.dtype.kind == "S":
            array = np.char.decode(array, "utf-8")
    except ValueError as error:  # rows of different lengths
        raise DataError(f"Column '{name}' is not an array: {error}.") from error
    if array.dtype.kind == "U":
        refuse_nul(name, values if isinstance(values, list | tuple) else array.ravel().tolist())
    if array.dtype.kind not in "biufcU":
        raise DataError(f"Column '{name}' holds {array.dtype}; numbers, truth values or text are needed.")
    if column is not None and column.dtype != "str" and array.dtype.kind != "U":
        array = _cast(array, np.dtype(column.dtype))
    return array


def refuse_nul(name: str, words: Iterable[Any]) -> None:
    """Refuse text that fixed-length text cannot hold.

    Raises:
        DataError: If a word has a NUL character in it.
    """
    for word in words:
        if isinstance(word, str) and "\0" in word:
            raise DataError(f"'{name}' has the text {word!r}; a NUL character cannot be stored in it.")


def _cast(array: NDArray[Any], wanted: np.dtype[Any]) -> NDArray[Any]:
    """Cast where the declared type can hold the values; a float may lose digits, as its declaration says."""
    if array.dtype == wanted:
        return array
    if np.can_cast(array.dtype, wanted, casting="safe"):
        return array.astype(wanted)
    if np.can_cast(array.dtype, wanted, casting="same_kind"):
        with np.errstate(over="ignore"):  # too large becomes infinite, which admission refuses
            cast_array = array.astype(wanted)
        if wanted.kind in "fc" or np.array_equal(cast_array, array):
            return cast_array
    return array


def length(values: Values) -> int:
    """Return the number of samples of a column; 0 for a bare number."""
    return len(values) if isinstance(values, Ragged) or values.ndim else 0


def write_array(parent: h5py.Group, name: str, array: NDArray[Any], **options: Any) -> h5py.Dataset:
    """Write one array `[N, ...]`; text becomes fixed-length UTF-8."""
    if array.dtype.kind == "U":
        encoded = np.char.encode(array, "utf-8")
        kind = h5py.string_dtype("utf-8", max(1, encoded.dtype.itemsize))
        return parent.create_dataset(name, data=encoded.astype(kind), dtype=kind)
    return parent.create_dataset(name, data=array, **options)


def read_array(dataset: h5py.Dataset, rows: slice = slice(None)) -> NDArray[Any]:
    """Read rows of one array; text comes back as `<U`."""
    data = np.asarray(dataset[rows])
    if data.dtype.kind == "S":
        return np.char.decode(data, "utf-8")
    return data.astype(data.dtype.newbyteorder("="), copy=False)


def write_columns(file: h5py.File, schema: Schema, columns: Mapping[str, Values]) -> None:
    """Write the groups `inputs`, `outputs` and `coordinates` of a file.

    Args:
        file: Where to write.
        schema: Declared columns; what is not declared is written as an output.
        columns: Name → storable values.

    Raises:
        DataError: If a name cannot be a name in HDF5.
    """
    declared = {column.name: column for column in schema.columns}
    groups = {role: file.create_group(name) for role, name in _GROUPS.items()}
    order = [column.name for column in schema.columns if column.name in columns]
    for position, name in enumerate(order + [name for name in columns if name not in declared]):
        column = declared.get(name) or Column(name, "output")
        values = columns[name]
        if isinstance(values, Ragged):
            node = groups[column.role].create_group(name)
            write_array(node, "data", values.data)
            write_array(node, "offsets", values.offsets)
        else:
            node = write_array(groups[column.role], name, values)
        node.attrs["unit"] = column.unit
        node.attrs["position"] = position
        if column.dims and _sample_shape(values) == column.shape:
            node.attrs["dims"] = "\n".join(column.dims)
        if column.description:
            node.attrs["description"] = column.description
        for key, bound in (("low", column.low), ("high", column.high)):
            if bound is not None:
                node.attrs[key] = float(bound)
    axes = file.create_group("coordinates")
    for position, axis in enumerate(schema.coordinates):
        node = write_array(axes, axis.name, axis.array)
        node.attrs["unit"] = axis.unit
        node.attrs["position"] = position


def _sample_shape(values: Values) -> tuple[int, ...]:
    return (RAGGED, *values.data.shape[1:]) if isinstance(values, Ragged) else values.shape[1:]


def read_schema(file: h5py.File) -> Schema:
    """Read what columns and coordinates a file has: what is there, not what was declared."""
    found: list[tuple[int, Column]] = []
    for role, group in _GROUPS.items():
        for name, node in file[group].items():
            found.append((int(node.attrs["position"]), _read_column_type(name, role, node)))
    axes = [
        (int(node.attrs["position"]), Coordinate(name, str(node.attrs["unit"]), tuple(read_array(node).tolist())))
        for name, node in file["coordinates"].items()
    ]
    ordered_columns = tuple(column for _, column in sorted(found, key=lambda entry: entry[0]))
    return Schema(ordered_columns, tuple(axis for _, axis in sorted(axes, key=lambda entry: entry[0])))


def _read_column_type(name: str, role: Role, node: h5py.Group | h5py.Dataset) -> Column:
    ragged = isinstance(node, h5py.Group)
    data: h5py.Dataset = node["data"] if ragged else node
    shape = (RAGGED, *data.shape[1:]) if ragged else data.shape[1:]
    attributes = node.attrs
    dims = str(attributes.get("dims", ""))
    return Column(
        name,
        role,
        unit=str(attributes["unit"]),
        dtype="str" if h5py.check_string_dtype(data.dtype) else data.dtype.newbyteorder("=").name,
        shape=tuple(int(axis) for axis in shape),
        dims=tuple(dims.split("\n")) if dims else (),
        low=float(attributes["low"]) if "low" in attributes else None,
        high=float(attributes["high"]) if "high" in attributes else None,
        description=str(attributes.get("description", "")),
    )


def column_node(file: h5py.File, column: Column) -> h5py.Group | h5py.Dataset:
    """Return where a column's values lie in a file.

    Raises:
        KeyError: If the file has no such column.
    """
    return file[_GROUPS[column.role]][column.name]


def read_values(node: h5py.Group | h5py.Dataset, start: int = 0, stop: int | None = None) -> Values:
    """Read the samples `start` … `stop − 1` of a column in one slab."""
    if isinstance(node, h5py.Dataset):
        return read_array(node, slice(start, stop)) if node.shape else np.asarray(node[()])
    end = None if stop is None else stop + 1
    offsets = np.asarray(node["offsets"][start:end], dtype=np.int64)
    if len(offsets) == 0:
        offsets = np.zeros(1, dtype=np.int64)
    data = read_array(node["data"], slice(int(offsets[0]), int(offsets[-1])))
    return Ragged(data, offsets - offsets[0])
