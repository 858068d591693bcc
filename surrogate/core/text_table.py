"""Tables of text, row after row: where each stretch of rows begins, and the cells of one stretch. Memory stays flat."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import DataError

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a table is written.

    Attributes:
        delimiter: The character between cells; empty for any white space.
        comment: Lines that begin with it are no rows; empty for none.
        skip: Lines at the top that are left out before anything else.
        names: Names of the columns where no line of the file has them; else the first row names the columns.
    """

    delimiter: str = ","
    comment: str = ""
    skip: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stretch of rows begins.

    Attributes:
        row: Number of its first row, from 0.
        offset: Byte at which that row begins.
        line: Number of that line in the file, from 1.
    """

    row: int
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class TextTable:
    """What one look over a table found.

    Attributes:
        path: The file.
        dialect: How it is written.
        names: Its columns, in order.
        rows: Number of its rows.
        places: The beginnings of stretches of `every` rows, in order.
        every: Rows of a stretch; the last one may have fewer.
    """

    path: Path
    dialect: Dialect
    names: tuple[str, ...]
    rows: int
    places: tuple[Place, ...]
    every: int

    def read(self, start: int, stop: int) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of the rows `start` … `stop − 1`.

        Raises:
            DataError: If a row has more or fewer cells than there are columns, or is no text in UTF-8.
        """
        if start >= stop:
            return
        place = self.places[start // self.every]
        for number, row in enumerate(self.read_from(place, stop), place.row):
            if number >= start:
                yield row

    def read_from(self, place: Place, stop: int) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells from a place on, up to row `stop − 1`.

        Raises:
            DataError: As `read`.
        """
        rows = read_rows(self.path, self.dialect, place)
        for number, (line, cells) in enumerate(itertools.islice(rows, stop - place.row), place.row):
            if len(cells) != len(self.names):
                raise DataError(
                    f"In {self.path}, row {number + 1} (line {line}) has {len(cells)} cells, and there are "
                    f"{len(self.names)} columns."
                )
            yield line, cells


def scan(path: Path, every: int, dialect: Dialect = Dialect()) -> TextTable:
    """Look over a table once, without keeping it.

    Args:
        path: An existing file in UTF-8.
        every: Rows of a stretch, at least 1.
        dialect: How it is written. Cells in double quotes may hold line breaks, unless white space delimits.

    Raises:
        DataError: If it has no header, or cannot be read.
    """
    names = dialect.names
    places: list[Place] = []
    rows = 0
    try:
        for line, offset, raw in _row_starts(path, dialect):
            if not names:
                names = tuple(cell.strip() for cell in _header(raw, dialect))
                continue
            if rows % every == 0:
                places.append(Place(rows, offset, line))
            rows += 1
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8: {error}.") from error
    except csv.Error as error:
        raise DataError(f"The header of {path} cannot be read: {error}.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if not names:
        raise DataError(f"{path} is empty; its first line must name the columns.")
    return TextTable(path, dialect, names, rows, tuple(places), every)


def _header(raw: bytes, dialect: Dialect) -> list[str]:
    text = raw.removeprefix(_BOM).decode("utf-8")
    if not dialect.delimiter:
        return text.split()
    return next(csv.reader([text], delimiter=dialect.delimiter, strict=True), [])


def _row_starts(path: Path, dialect: Dialect) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, byte and first line of every row: blank lines, comments and what is to be skipped are left out."""
    comment = dialect.comment.encode()
    quoting = bool(dialect.delimiter)
    offset, inside = 0, False
    with path.open("rb") as source:
        for line, raw in enumerate(source, 1):
            begin, offset = offset, offset + len(raw)
            if line <= dialect.skip:
                continue
            was_inside = inside
            # A row is at its end where the number of quotation marks so far is even.
            if quoting and raw.count(b'"') % 2:
                inside = not inside
            stripped = raw.strip()
            if was_inside or not stripped or stripped == _BOM or (comment and stripped.startswith(comment)):
                continue
            yield line, begin, raw


def read_rows(path: Path, dialect: Dialect, place: Place) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row from a place on.

    Raises:
        DataError: If the text cannot be read.
    """
    try:
        with path.open("rb") as binary:
            binary.seek(place.offset)
            text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
            yield from _split(text, dialect, place.line)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8: {error}.") from error
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as a table: {error}.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def _split(text: io.TextIOWrapper, dialect: Dialect, first: int) -> Iterator[tuple[int, list[str]]]:
    comment = dialect.comment
    if not dialect.delimiter:
        for line, words in enumerate(text, first):
            stripped = words.strip()
            if stripped and not (comment and stripped.startswith(comment)):
                yield line, stripped.split()
        return
    reader = csv.reader(text, delimiter=dialect.delimiter, strict=True)
    before = 0
    for cells in reader:
        line, before = first + before, reader.line_num
        if not cells or (len(cells) == 1 and not cells[0].strip()):
            continue
        if comment and cells[0].lstrip().startswith(comment):
            continue
        yield line, cells
