"""Tables of text: comma-separated, or delimited otherwise; only the rows that are asked for are in memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.outcome import FailureKind
from surrogate.core.text_table import Dialect, TextTable, scan
from surrogate.data.readers.containers import missing
from surrogate.data.readers.mapping import Mapping, TableMapping
from surrogate.data.readers.protocol import SourceError

_STRETCH = 4096


class TableContainer:
    """An open table; each column is an array `[N]`."""

    def __init__(self, path: Path, table: TextTable) -> None:
        """Wrap a table that was looked over."""
        self.path = path
        self._table = table
        self._range = (0, 0)
        self._cells: list[list[str]] = []

    def _place(self, name: str) -> int:
        if name not in self._table.names:
            raise missing(self.path, "column", name, list(self._table.names))
        if self._table.names.count(name) > 1:
            raise SourceError(f"{self.path} has two columns '{name}'; give each a name with 'columns'.")
        return self._table.names.index(name)

    def _load(self, start: int, stop: int) -> list[list[str]]:
        if self._range != (start, stop):
            try:
                self._cells = [cells for _, cells in self._table.read(start, stop)]
            except DataError as error:
                raise SourceError(str(error)) from error
            self._range = (start, stop)
        return self._cells

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the number of rows."""
        self._place(name)
        return (self._table.rows,)

    def is_text(self, name: str) -> bool:
        """Return whether the first cell of a column is no number."""
        place = self._place(name)
        first = self._load(0, min(1, self._table.rows))
        return bool(first) and _number(first[0][place]) is None

    def attribute(self, owner: str | None, name: str) -> Any:
        """Refuse: tables of text have no attributes."""
        del owner
        raise SourceError(
            f"{self.path} is a table of text, which has no attributes; give the 'column' instead of "
            f"attribute = '{name}'.",
            FailureKind.OUTPUT_MISSING,
        )

    def unit(self, name: str) -> str | None:
        """Return None: nothing in the table says it."""
        del name
        return None

    def read(self, name: str, axis: int | None, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a column; cells that are empty are NaN in a column of numbers."""
        place = self._place(name)
        first, last = (0, self._table.rows) if axis is None else (start, min(stop, self._table.rows))
        cells = [row[place].strip() for row in self._load(first, last)]
        numbers = [math.nan if cell == "" else _number(cell) for cell in cells]
        if any(number is None for number in numbers):
            return np.asarray(cells, dtype=np.str_)
        return np.asarray(numbers, dtype=np.float64)


def _number(cell: str) -> float | None:
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        # Fortran writes double precision as 1.0D+00.
        try:
            return float(cell.replace("D", "e").replace("d", "e")) if cell[:1] in "+-.0123456789" else None
        except ValueError:
            return None


@contextlib.contextmanager
def open_table(path: Path, options: Mapping) -> Iterator[TableContainer]:
    """Open a table of text (see `OpensContainer`)."""
    dialect = Dialect()
    if isinstance(options, TableMapping):
        delimiter = "" if options.delimiter == "whitespace" else options.delimiter
        dialect = Dialect(delimiter, options.comment, options.skip_lines, options.columns)
    try:
        table = scan(path, _STRETCH, dialect)
    except DataError as error:
        raise SourceError(str(error)) from error
    yield TableContainer(path, table)
