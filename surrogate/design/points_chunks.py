"""Points in large files, stretch by stretch: a file is looked over once, then any stretch can be read alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import Column
from surrogate.core.text_table import Dialect, Place, TextTable, scan
from surrogate.design.csv_columns import column_places, typed
from surrogate.design.points_io import check_points_file, hdf5_column, open_hdf5_columns


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of rows; plain data, so that it can travel to a worker.

    Attributes:
        start: Number of the first row, from 0.
        stop: Number after the last one.
        offset: Byte at which it begins in a table of text, else 0.
        line: Number of that line, from 1, else 0.
    """

    start: int
    stop: int
    offset: int = 0
    line: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PointsFile:
    """A file of points that was looked over.

    Attributes:
        path: The file.
        rows: Number of its rows, at least 1.
        names: Names in the header of a table of text; empty for HDF5.
        chunks: All rows, cut.
    """

    path: Path
    rows: int
    names: tuple[str, ...]
    chunks: tuple[Chunk, ...]


def look_over(path: Path, columns: Sequence[Column], rows_per_chunk: int) -> PointsFile:
    """Look over a file of points without keeping it.

    Args:
        path: See `surrogate.design.points_io.read_columns`.
        columns: Scalar columns that are wanted.
        rows_per_chunk: Rows of a chunk, at least 1.

    Raises:
        DataError: If the file cannot be used; values are looked at when a chunk is read.
    """
    if check_points_file(path, columns) == ".csv":
        table = scan(path, rows_per_chunk)
        column_places(path, table.names, columns)
        if not table.rows:
            raise DataError(f"{path} has a header and no rows below it.")
        chunks = tuple(
            Chunk(place.row, min(place.row + rows_per_chunk, table.rows), place.offset, place.line)
            for place in table.places
        )
        return PointsFile(path, table.rows, table.names, chunks)
    with open_hdf5_columns(path, columns) as datasets:
        rows = len(datasets[0][1]) if datasets else 0
    starts = range(0, rows, rows_per_chunk)
    return PointsFile(path, rows, (), tuple(Chunk(start, min(start + rows_per_chunk, rows)) for start in starts))


def read_chunk(path: Path, names: Sequence[str], columns: Sequence[Column], chunk: Chunk) -> dict[str, NDArray[Any]]:
    """Read one stretch of rows.

    Args:
        path: The file.
        names: `PointsFile.names`.
        columns: Scalar columns that are wanted.
        chunk: One of `PointsFile.chunks`.

    Returns:
        Name → `[stop − start]` float64, int64 or str.

    Raises:
        DataError: As `surrogate.design.points_io.read_columns`; rows are counted from the beginning of the file.
        UnitError: If a unit in the file cannot be turned into the declared one.
    """
    if not names:
        with open_hdf5_columns(path, columns) as datasets:
            found: Mapping[str, Any] = dict(datasets)
            return {
                column.name: hdf5_column(path, found[column.name], column, chunk.start, chunk.stop)
                for column in columns
            }
    place = Place(chunk.start, chunk.offset, chunk.line)
    table = TextTable(path, Dialect(), tuple(names), chunk.stop, (place,), 1)
    lines: list[int] = []
    cells: list[list[str]] = [[] for _ in columns]
    places = column_places(path, names, columns)
    for line, row in table.read_from(place, chunk.stop):
        lines.append(line)
        for values, where in zip(cells, places, strict=True):
            values.append(row[where])
    if len(lines) != chunk.stop - chunk.start:
        raise DataError(f"{path} was changed while it was read: it ends before row {chunk.stop}.")

    def told(name: str, row: int) -> str:
        return f"In {path}, row {chunk.start + row + 1} (line {lines[row]}), column '{name}'"

    return {column.name: typed(values, column, told) for column, values in zip(columns, cells, strict=True)}
