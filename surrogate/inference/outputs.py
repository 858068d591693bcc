"""Predictions as files: `.csv` for what fits in a table, `.h5` for everything; whole or absent, batch after batch."""

from __future__ import annotations

import contextlib
import csv
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.files import atomic_path
from surrogate.core.schema import RAGGED, Column, Ragged, Schema, Values
from surrogate.core.storage import refusals_of
from surrogate.models.protocols import Prediction
from surrogate.models.values import count_samples

SUFFIXES = (".csv", ".h5")
"""File names end in one of these."""

WIDEST = 16384
"""Most columns of a `.csv`: what spreadsheets open."""

PARTS = ("mean", "std", "lower", "upper")
"""What is written for every output."""


class Writer(Protocol):
    """Takes batches."""

    def append(self, inputs: Mapping[str, Values], prediction: Prediction) -> None:
        """Write the rows of one batch."""
        ...


@contextlib.contextmanager
def open_output(path: Path, schema: Schema, facts: Mapping[str, str] | None = None) -> Iterator[Writer]:
    """Open a file of predictions; it appears under its name when the block ends well.

    Args:
        path: `.csv` or `.h5`.
        schema: Columns of the surrogate.
        facts: What else is worth knowing, for example the version; attributes of the `.h5` file.

    Raises:
        DataError: If the suffix is unknown, or a `.csv` cannot hold the outputs.
        StorageError: If the disk is full or refuses; nothing is left behind then.
    """
    if path.suffix not in SUFFIXES:
        raise DataError(f"Predictions are written as .csv or .h5, and {path.name} was asked for.")
    if path.suffix == ".csv":
        check_table(schema)
    with refusals_of(path), atomic_path(path) as temporary:
        if path.suffix == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as target:
                yield _TableWriter(target, schema)
        else:
            import h5py

            # Of HDF5's forms only the earliest keeps no times, so that the same answers are the same bytes.
            with h5py.File(temporary, "w", libver="earliest") as target:
                yield _Hdf5Writer(target, schema, facts or {})


def write_prediction(
    path: Path,
    schema: Schema,
    inputs: Mapping[str, Values],
    prediction: Prediction,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write one prediction atomically; see `open_output`."""
    with open_output(path, schema, facts) as writer:
        writer.append(inputs, prediction)


def check_table(schema: Schema) -> None:
    """Refuse a `.csv` that could not hold the columns.

    Raises:
        DataError: If a column is ragged, or there would be too many.
    """
    ragged = [column.name for column in schema.columns if column.ragged]
    if ragged:
        raise DataError(
            f"{', '.join(ragged)} differ in length from row to row, which a .csv cannot hold. Write a .h5 file."
        )
    width = sum(_size(column) for column in schema.inputs) + 4 * sum(_size(column) for column in schema.outputs) + 1
    if width > WIDEST:
        raise DataError(f"The table would have {width} columns, and spreadsheets open {WIDEST}. Write a .h5 file.")


def predicted_columns(schema: Schema, prediction: Prediction) -> tuple[Column, ...]:
    """Return the columns of a prediction: outputs of the schema, then what a family adds, such as probabilities."""
    known = [column for column in schema.outputs if column.name in prediction.mean]
    names = {column.name for column in known}
    for name, values in prediction.mean.items():
        if name not in names:
            shape = (RAGGED, *values.data.shape[1:]) if isinstance(values, Ragged) else np.shape(values)[1:]
            known.append(Column(name, "output", shape=shape))
    return tuple(known)


def column_names(column: Column, part: str = "") -> list[str]:
    """Return the table's column names for one quantity, such as `S[0,12]_std [m]`.

    Args:
        column: The quantity; a unit other than `1` is given in brackets for outputs. Inputs bear their own names.
        part: `mean` (no suffix), `std`, `lower` or `upper`.
    """
    suffix = "" if part in ("", "mean") else f"_{part}"
    unit = f" [{column.unit}]" if column.role == "output" and column.unit != "1" else ""
    if not column.shape:
        return [f"{column.name}{suffix}{unit}"]
    places = itertools.product(*(range(length) for length in column.shape))
    return [f"{column.name}[{','.join(map(str, place))}]{suffix}{unit}" for place in places]


def _size(column: Column) -> int:
    return int(np.prod(column.shape, dtype=np.int64))


class _TableWriter:
    """Writes rows of text; numbers with all their digits."""

    def __init__(self, target: Any, schema: Schema) -> None:
        self._writer = csv.writer(target, lineterminator="\n")
        self._schema = schema
        self._outputs: tuple[Column, ...] | None = None

    def append(self, inputs: Mapping[str, Values], prediction: Prediction) -> None:
        """Write the rows of one batch, below the header."""
        if self._outputs is None:
            self._outputs = predicted_columns(self._schema, prediction)
            header = [name for column in self._schema.inputs for name in column_names(column)]
            for column in self._outputs:
                header += [name for part in PARTS for name in column_names(column, part)]
            self._writer.writerow([*header, "in_domain"])
        blocks: list[list[list[Any]]] = [_block(inputs[column.name]) for column in self._schema.inputs]
        for column in self._outputs:
            blocks += [_block(getattr(prediction, part)[column.name]) for part in PARTS]
        blocks.append([[str(bool(flag)).lower()] for flag in prediction.in_domain])
        for row in zip(*blocks, strict=True):
            self._writer.writerow(itertools.chain.from_iterable(row))


def _block(values: Values) -> list[list[Any]]:
    """Return a fixed-shape column as N lists of Python values."""
    if isinstance(values, Ragged):
        raise DataError("An output differs in length from row to row, which a .csv cannot hold. Write a .h5 file.")
    array = np.asarray(values)
    return array.reshape(len(array), int(np.prod(array.shape[1:], dtype=np.int64))).tolist()


class _Hdf5Writer:
    """Grows chunked datasets: `inputs/<name>`, `mean/<name>`, …, `in_domain`; ragged ones as `data` and `offsets`."""

    def __init__(self, target: Any, schema: Schema, facts: Mapping[str, str]) -> None:
        self._target = target
        self._schema = schema
        self._rows = 0
        target.attrs["content"] = "prediction of a surrogate"
        target.attrs["interval"] = "lower and upper are the ends of the calibrated 90 % interval"
        for name, value in facts.items():
            target.attrs[name] = value
        for axis in schema.coordinates:
            dataset = target.create_dataset(f"coordinates/{axis.name}", data=axis.array, track_times=False)
            dataset.attrs["unit"] = axis.unit
            dataset.make_scale(axis.name)

    def append(self, inputs: Mapping[str, Values], prediction: Prediction) -> None:
        """Write the rows of one batch."""
        for column in self._schema.inputs:
            self._extend(f"inputs/{column.name}", inputs[column.name], column)
        for column in predicted_columns(self._schema, prediction):
            for part in PARTS:
                self._extend(f"{part}/{column.name}", getattr(prediction, part)[column.name], column)
        self._grow("in_domain", prediction.in_domain, {}, None)
        self._rows += count_samples(inputs)
        self._target.attrs["rows"] = self._rows

    def _extend(self, name: str, values: Values, column: Column) -> None:
        attributes = {"unit": column.unit, "description": column.description}
        if isinstance(values, Ragged):
            start = len(self._target[f"{name}/data"]) if f"{name}/data" in self._target else 0
            offsets = values.offsets + start
            self._grow(f"{name}/data", values.data, attributes, None)
            self._grow(f"{name}/offsets", offsets if start == 0 and self._rows == 0 else offsets[1:], {}, None)
        else:
            self._grow(name, np.asarray(values), attributes, column)

    def _grow(self, name: str, array: NDArray[Any], attributes: Mapping[str, str], column: Column | None) -> None:
        import h5py

        text = array.dtype.kind == "U"
        if name not in self._target:
            chunk = (
                max(1, min(len(array), (1 << 20) // max(array[:1].nbytes, 1))) if len(array) else 1,
                *array.shape[1:],
            )
            dataset = self._target.create_dataset(
                name,
                shape=(0, *array.shape[1:]),
                maxshape=(None, *array.shape[1:]),
                chunks=chunk,
                dtype=h5py.string_dtype() if text else array.dtype,
                track_times=False,
            )
            dataset.attrs.update(attributes)
            for axis, dim in enumerate(column.dims if column is not None else (), start=1):
                dataset.dims[axis].label = dim
                if self._schema.coordinate(dim) is not None:
                    dataset.dims[axis].attach_scale(self._target[f"coordinates/{dim}"])
        dataset = self._target[name]
        start = len(dataset)
        dataset.resize(start + len(array), axis=0)
        dataset[start:] = array.astype(object) if text else array
