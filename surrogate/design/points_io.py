"""Points in files and on the command line: CSV, HDF5 and `name=value`, read with sentences and written whole."""

from __future__ import annotations

import contextlib
import csv
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError, SpaceError, UnitError, nearest
from surrogate.core.files import atomic_path
from surrogate.core.schema import Column
from surrogate.core.units import conversion_factor
from surrogate.design.csv_columns import read_csv_columns, typed
from surrogate.design.space import InputSpace, Point

HDF5_SUFFIXES = (".h5", ".hdf5")


def read_columns(path: Path, columns: Sequence[Column]) -> dict[str, NDArray[Any]]:
    """Read the named columns of a table; others that it has are left alone.

    A CSV file has a header line with the names (no units; the values are in each column's declared unit). An HDF5 file
    has one dataset `[N]` a column, at its root or in its group `inputs`; an attribute `unit` or `units` is honoured.

    Args:
        path: File whose name ends in `.csv`, `.h5` or `.hdf5`.
        columns: Scalar columns that are wanted, with their dtype `float64`, `int64` or `str`.

    Returns:
        Name → `[N]` float64, int64 or str, N ≥ 1, rows in the file's order.

    Raises:
        DataError: If the file or a column is missing, or a value is absent, text or not finite; the sentence names row
            and column.
        UnitError: If a unit in the file cannot be turned into the declared one.
    """
    if check_points_file(path, columns) == ".csv":
        return read_csv_columns(path, columns)
    with open_hdf5_columns(path, columns) as datasets:
        return {name: hdf5_column(path, dataset, columns[place]) for place, (name, dataset) in enumerate(datasets)}


def check_points_file(path: Path, columns: Sequence[Column]) -> str:
    """Return the ending of a points file's name, lower case, after a look at the file.

    Raises:
        DataError: If a column is no single value, or there is no such file of a known kind.
    """
    for column in columns:
        if column.shape:
            raise DataError(f"A table holds one number a cell, and the input '{column.name}' has shape {column.shape}.")
    suffix = path.suffix.lower()
    if suffix not in (".csv", *HDF5_SUFFIXES):
        raise DataError(f"Points are read from files named .csv, .h5 or .hdf5, and {path} is named otherwise.")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise DataError(f"The file {path} does not exist.") from error
    except OSError as error:
        raise DataError(f"The file {path} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(mode):
        raise DataError(f"{path} is a folder or something else that is no file.")
    return suffix


def read_points(path: Path, space: InputSpace) -> list[Point]:
    """Read canonical points, in the file's order; being out of bounds is no error here.

    Args:
        path: See `read_columns`.
        space: Names the columns.

    Raises:
        DataError: If the file cannot be used, or a row is no point of such a space.
        UnitError: If a unit in the file cannot be turned into the declared one.
    """
    values = read_columns(path, space.columns)
    rows = zip(*(column.tolist() for column in values.values()), strict=True)
    points = []
    for row, cells in enumerate(rows, 1):
        try:
            points.append(space.canonicalise(dict(zip(values, cells, strict=True))))
        except SpaceError as error:
            raise DataError(f"In {path}, row {row}: {error}") from error
    return points


def parse_pairs(pairs: Iterable[str], columns: Sequence[Column], *, partial: bool = False) -> dict[str, NDArray[Any]]:
    """Read one point from words such as `M=2.5`.

    Args:
        pairs: One `name=value` an input, each once.
        columns: The inputs.
        partial: Whether some may be left out.

    Returns:
        Name → `[1]` float64, int64 or str.

    Raises:
        DataError: If a word is no pair, a name unknown, given twice or missing, or a value not of its type.
    """
    names = [column.name for column in columns]
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise DataError(f"A point on the command line is written name=value, and '{pair}' was found.")
        if name not in names:
            raise DataError(f"There is no input '{name}'; there are {', '.join(names)}.{nearest(name, names)}")
        if name in given:
            raise DataError(f"The input '{name}' is given twice; give each input once.")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing and not partial:
        raise DataError(f"The input '{missing[0]}' is missing; give name=value for each of {', '.join(names)}.")
    wanted = [column for column in columns if column.name in given]
    return {column.name: typed([given[column.name]], column, _place_of_pair) for column in wanted}


def write_columns(path: Path, columns: Sequence[Column], values: Mapping[str, NDArray[Any]]) -> None:
    """Write a table that `read_columns` reads back exactly; the file is whole or absent.

    Args:
        path: File whose name ends in `.csv`, `.h5` or `.hdf5`.
        columns: What to write, in order; HDF5 datasets carry their units.
        values: Name → `[N]`, all equally long.

    Raises:
        DataError: If the file's name says neither, or the lengths differ.
    """
    arrays = [np.asarray(values[column.name]) for column in columns]
    if len({len(array) for array in arrays}) > 1:
        raise DataError(f"The columns to be written to {path} differ in length.")
    suffix = path.suffix.lower()
    if suffix == ".csv":
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as target:
            writer = csv.writer(target, lineterminator="\n")
            writer.writerow([column.name for column in columns])
            writer.writerows(zip(*(array.tolist() for array in arrays), strict=True))
    elif suffix in HDF5_SUFFIXES:
        import h5py

        # Of HDF5's forms only the earliest keeps no times, so that the same points are the same bytes.
        with atomic_path(path) as temporary, h5py.File(temporary, "w", libver="earliest") as file:
            for column, array in zip(columns, arrays, strict=True):
                text = array.dtype.kind in "UOS"
                dtype = h5py.string_dtype() if text else array.dtype
                file.create_dataset(column.name, data=array.astype(object) if text else array, dtype=dtype)
                file[column.name].attrs["unit"] = column.unit
    else:
        raise DataError(f"Points are written to files named .csv, .h5 or .hdf5, and {path} is named otherwise.")


def _place_of_pair(name: str, _row: int) -> str:
    return f"Input '{name}'"


@contextlib.contextmanager
def open_hdf5_columns(path: Path, columns: Sequence[Column]) -> Iterator[list[tuple[str, Any]]]:
    """Open an HDF5 file of points; yield name and dataset `[N]` of every wanted column, N ≥ 1.

    Raises:
        DataError: If it is no such file, or a column is missing or of another length.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            inputs = file.get("inputs")
            groups = (file, inputs) if isinstance(inputs, h5py.Group) else (file,)
            found = {name: item for group in groups for name, item in group.items() if isinstance(item, h5py.Dataset)}
            for column in columns:
                if column.name not in found:
                    raise DataError(
                        f"{path} has no dataset '{column.name}'; it has {', '.join(sorted(found)) or 'none'}."
                        f"{nearest(column.name, found)}"
                    )
            datasets = [(column.name, found[column.name]) for column in columns]
            _check_lengths(path, datasets)
            yield datasets
    except (OSError, RuntimeError, KeyError) as error:
        raise DataError(f"{path} cannot be read as HDF5: {error}.") from error


def _check_lengths(path: Path, datasets: Sequence[tuple[str, Any]]) -> None:
    for name, dataset in datasets:
        if dataset.ndim != 1:
            raise DataError(
                f"In {path}, column '{name}' must have one axis (its rows), and its shape is {dataset.shape}."
            )
    lengths = {name: len(dataset) for name, dataset in datasets}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
        raise DataError(f"The columns of {path} must be equally long: {told}.")
    if 0 in lengths.values():
        raise DataError(f"{path} has no rows.")


def hdf5_column(path: Path, dataset: Any, column: Column, start: int = 0, stop: int | None = None) -> NDArray[Any]:
    """Return rows of a column of an open HDF5 file.

    Args:
        path: The file, for sentences.
        dataset: The column's dataset, `[N]`.
        column: Says the dtype and the unit.
        start: Number of the first row, from 0.
        stop: Number after the last one; the end when None.

    Raises:
        DataError: If a value is not of the column's type, or not finite.
        UnitError: If the file's unit cannot be turned into the column's.
    """
    import h5py

    where = f"In {path}, column '{column.name}'"
    if h5py.check_string_dtype(dataset.dtype) is not None:
        if column.dtype != "str":
            raise DataError(f"{where} holds text, and numbers are needed.")
        try:
            return np.asarray(dataset.asstr()[start:stop], dtype=np.str_)
        except UnicodeDecodeError as error:
            raise DataError(f"{where} holds text that is not UTF-8.") from error
    if column.dtype == "str" or dataset.dtype.kind not in "iuf":
        wanted = "text" if column.dtype == "str" else "numbers"
        raise DataError(f"{where} holds {dataset.dtype}, and {wanted} are needed.")
    array = np.asarray(dataset[start:stop])
    unit = dataset.attrs.get("unit", dataset.attrs.get("units"))
    unit = unit.decode(errors="replace") if isinstance(unit, bytes) else unit
    try:
        factor = conversion_factor(unit, column.unit) if isinstance(unit, str) else 1.0
    except UnitError as error:
        raise UnitError(f"{where}: {error}") from error
    return _numbers(path, array if factor == 1.0 else array * factor, column, start)


def _numbers(path: Path, array: NDArray[Any], column: Column, start: int) -> NDArray[Any]:
    """Return a column of numbers in its declared dtype, or name the first row that does not fit."""
    whole = column.dtype == "int64"
    numbers = array.astype(np.float64)
    good = np.isfinite(numbers)
    if whole:
        good &= (numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**63)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        wanted = "a whole number" if whole else "a finite number"
        raise DataError(
            f"In {path}, row {start + row + 1}, column '{column.name}': {wanted} is needed, and {array[row]} was found."
        )
    return array.astype(np.int64) if whole else numbers
