"""Columns in HDF5: one row a sample, ragged ones as flat data plus offsets, text as fixed-length UTF-8."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import RAGGED, Column, Ragged, Role, Schema, Values
from surrogate.data.quick_hdf5 import create, group, whole

_GROUPS: dict[Role, str] = {"input": "inputs", "output": "outputs", "fact": "facts"}
_ALL = slice(None)


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
    if options:
        return parent.create_dataset(name, data=encoded(array), **options)
    return create(parent, name, encoded(array))


def encoded(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is stored: text as fixed-length UTF-8, all else as it is."""
    if array.dtype.kind != "U":
        return array
    words = np.char.encode(array, "utf-8")
    return words.astype(h5py.string_dtype("utf-8", max(1, words.dtype.itemsize)))


def encoded_text(text: str) -> NDArray[Any]:
    """Return one text of any length as it is stored, `()`."""
    words = text.encode() or b" "
    return np.array(words, dtype=h5py.string_dtype("utf-8", len(words)))


def read_array(dataset: h5py.Dataset, rows: slice = _ALL) -> NDArray[Any]:
    """Read rows of one array; text comes back as `<U`."""
    return decoded(whole(dataset) if rows == _ALL else np.asarray(dataset[rows]))


def decoded(data: NDArray[Any]) -> NDArray[Any]:
    """Return a stored array as it is used: text as `<U`, numbers in this machine's byte order."""
    if data.dtype.kind == "S":
        return np.char.decode(data, "utf-8")
    return data.astype(data.dtype.newbyteorder("="), copy=False)


def found_schema(schema: Schema, columns: Mapping[str, Values]) -> Schema:
    """Return the columns that are there, not those that were declared.

    Args:
        schema: Declared columns; they give roles, units and descriptions; what is not declared counts as an output.
        columns: Name → storable values.

    Raises:
        DataError: If a name cannot be one in a file.
    """
    declared = {column.name: column for column in schema.columns}
    order = [name for name in declared if name in columns] + [name for name in columns if name not in declared]
    found = tuple(_found(declared.get(name) or Column(name, "output"), columns[name]) for name in order)
    return schema if found == schema.columns else Schema(found, schema.coordinates)


def _found(column: Column, values: Values) -> Column:
    ragged = isinstance(values, Ragged)
    data = values.data if isinstance(values, Ragged) else values
    shape = (RAGGED, *data.shape[1:]) if ragged else data.shape[1:]
    name = "str" if data.dtype.kind == "U" else data.dtype.newbyteorder("=").name
    same_dtype = name == "str" if column.dtype == "str" else name != "str" and np.dtype(column.dtype) == np.dtype(name)
    if same_dtype and shape == column.shape:
        return column
    return replace(column, dtype=name, shape=shape, dims=column.dims if shape == column.shape else ())


def write_columns(file: h5py.File, schema: Schema, columns: Mapping[str, Values]) -> None:
    """Write the groups `inputs`, `outputs`, `facts` and `coordinates`, and the text `schema` that describes them.

    The last two are left out where there are none.

    Args:
        file: Where to write.
        schema: The columns that are there, as `found_schema` says.
        columns: Name → storable values.
    """
    write_text(file, "schema", schema_text(schema))
    roles = [role for role in _GROUPS if role != "fact" or schema.facts]
    groups = {role: group(file, _GROUPS[role]) for role in roles}
    for column in schema.columns:
        values = columns[column.name]
        if isinstance(values, Ragged):
            node = group(groups[column.role], column.name)
            write_array(node, "data", values.data)
            write_array(node, "offsets", values.offsets)
        else:
            node = write_array(groups[column.role], column.name, values)
        facts = {"unit": column.unit, "dims": " ".join(column.dims), "description": column.description}
        for key, text in facts.items():
            if text:
                _put_attribute(node, key, text)
    if schema.coordinates:
        axes = group(file, "coordinates")
    for axis in schema.coordinates:
        node = write_array(axes, axis.name, axis.array)
        _put_attribute(node, "unit", axis.unit)


def _put_attribute(node: h5py.Group | h5py.Dataset, name: str, text: str) -> None:
    """Write a new text attribute; the usual way is three times slower, and run files are written often."""
    kind = h5py.h5t.py_create(h5py.string_dtype(), logical=True)
    attribute = h5py.h5a.create(node.id, name.encode(), kind, h5py.h5s.create(h5py.h5s.SCALAR))
    attribute.write(np.array(text, dtype=h5py.string_dtype()))


def write_text(parent: h5py.Group, name: str, text: str) -> None:
    """Write one text of any length as UTF-8."""
    create(parent, name, encoded_text(text))


def read_text(dataset: h5py.Dataset) -> str:
    """Read one text that `write_text` wrote."""
    return bytes(whole(dataset)[()]).decode()


# A campaign has few schemas and many files: the text of a schema, and the schema of a text, are made once.
@lru_cache(maxsize=64)
def schema_text(schema: Schema) -> str:
    """Return the text that describes columns and coordinates in a file."""
    return json.dumps(schema.to_json(), ensure_ascii=False, allow_nan=False)


@lru_cache(maxsize=64)
def _schema_of(text: str) -> Schema:
    return Schema.from_json(json.loads(text))


def read_schema(file: h5py.File) -> Schema:
    """Read which columns and coordinates are in a file that `write_columns` wrote."""
    return _schema_of(read_text(file["schema"]))


def column_path(column: Column) -> str:
    """Return the path of a column in a file."""
    return f"{_GROUPS[column.role]}/{column.name}"


def column_node(file: h5py.File, column: Column) -> h5py.Group | h5py.Dataset:
    """Return where a column's values lie in a file.

    Raises:
        KeyError: If the file has no such column.
    """
    path = column_path(column)
    return file[path] if column.ragged else h5py.Dataset(h5py.h5d.open(file.id, path.encode()))


def read_values(node: h5py.Group | h5py.Dataset, start: int = 0, stop: int | None = None) -> Values:
    """Read the samples `start` … `stop − 1` of a column in one slab."""
    if isinstance(node, h5py.Dataset):
        if node.shape and (start, stop) != (0, None):
            return read_array(node, slice(start, stop))
        return read_array(node)
    end = None if stop is None else stop + 1
    offsets = np.asarray(node["offsets"][start:end], dtype=np.int64)
    if len(offsets) == 0:
        offsets = np.zeros(1, dtype=np.int64)
    data = read_array(node["data"], slice(int(offsets[0]), int(offsets[-1])))
    return Ragged(data, offsets - offsets[0])
