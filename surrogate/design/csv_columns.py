"""Columns of a CSV table, with sentences that name row and column of what is wrong."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError, nearest
from surrogate.core.schema import Column


def read_csv_columns(path: Path, columns: Sequence[Column]) -> dict[str, NDArray[Any]]:
    """Read the named columns of a CSV file with a header line; other columns and empty lines are left alone.

    Args:
        path: An existing file, comma-separated, UTF-8.
        columns: Scalar columns that are wanted.

    Returns:
        Name → `[N]` float64, int64 or str, N ≥ 1.

    Raises:
        DataError: If the file is no such table; row (counted from 1 below the header) and column are named.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as source:
            reader = csv.reader(source, strict=True)
            header = next((row for row in reader if row), [])
            places = column_places(path, [name.strip() for name in header], columns)
            cells: list[list[str]] = [[] for _ in columns]
            lines: list[int] = []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise DataError(
                        f"In {path}, row {len(lines) + 1} (line {reader.line_num}) has {len(row)} cells, and the "
                        f"header has {len(header)}."
                    )
                lines.append(reader.line_num)
                for values, place in zip(cells, places, strict=True):
                    values.append(row[place])
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}.") from error
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV: {error}.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if not lines:
        raise DataError(f"{path} has a header and no rows below it.")

    def told(name: str, row: int) -> str:
        return f"In {path}, row {row + 1} (line {lines[row]}), column '{name}'"

    return {column.name: typed(values, column, told) for column, values in zip(columns, cells, strict=True)}


def column_places(path: Path, header: Sequence[str], columns: Sequence[Column]) -> list[int]:
    """Return where in a row each wanted column stands.

    Raises:
        DataError: If a column is missing or there twice, or commas do not separate the columns.
    """
    if not header:
        raise DataError(f"{path} is empty; its first line must name the columns.")
    names = ", ".join(column.name for column in columns)
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise DataError(f"The columns of {path} must be separated by commas; its first line is '{header[0]}'.")
    for column in columns:
        if column.name not in header:
            raise DataError(
                f"{path} has no column '{column.name}'; its first line is '{','.join(header)}', and it must name "
                f"{names} (names alone, no units).{nearest(column.name, header)}"
            )
        if list(header).count(column.name) > 1:
            raise DataError(f"{path} has two columns '{column.name}'; give each a name of its own.")
    return [list(header).index(column.name) for column in columns]


def typed(cells: Sequence[str], column: Column, place: Callable[[str, int], str]) -> NDArray[Any]:
    """Turn the cells of one column into its dtype.

    Args:
        cells: N texts.
        column: Says the dtype: `str`, `int64`, else float64.
        place: (column's name, row from 0) → where that cell stands, the start of a sentence.

    Returns:
        `[N]` float64, int64 or str.

    Raises:
        DataError: If a cell is empty, or no finite number where one is needed.
    """
    if column.dtype == "str":
        words = [cell.strip() for cell in cells]
        if "" in words:
            raise DataError(_sentence(place(column.name, words.index("")), "a word", ""))
        return np.asarray(words, dtype=np.str_)
    convert = _whole if column.dtype == "int64" else _finite
    wanted = "a whole number" if column.dtype == "int64" else "a finite number"
    values: list[float] = []
    for row, cell in enumerate(cells):
        try:
            values.append(convert(cell))
        except ValueError as error:
            raise DataError(_sentence(place(column.name, row), wanted, cell.strip())) from error
    try:
        return np.asarray(values, dtype=np.int64 if column.dtype == "int64" else np.float64)
    except OverflowError as error:
        raise DataError(
            f"A whole number of column '{column.name}' is too large: at most 2⁶³ − 1 can be stored."
        ) from error


def _sentence(place: str, wanted: str, found: str) -> str:
    return f"{place}: {wanted} is needed, and {repr(found) if found else 'nothing'} was found."


def _finite(cell: str) -> float:
    value = float(cell) if "_" not in cell else math.nan
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


def _whole(cell: str) -> int:
    try:
        return int(cell)
    except ValueError:
        value = _finite(cell)
    if not value.is_integer():
        raise ValueError(cell)
    return int(value)
