"""Numbers in text: columns of a table, and what a regular expression finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SimulationError, nearest

_BARE_EXPONENT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([+-]\d+)")


def number(text: str) -> float:
    """Return a number as C, Fortran or a person writes it: `1.5e-3`, `1.5D-03`, `0.15-102`, `NaN`, `Infinity`.

    Raises:
        ValueError: If it is none, as `****` where a Fortran format was too narrow.
    """
    try:
        return float(text)
    except ValueError:
        word = text.strip().lower().replace("d", "e")
        bare = _BARE_EXPONENT.fullmatch(word)
        try:
            return float(f"{bare[1]}e{bare[2]}" if bare else word)
        except ValueError:
            hint = " The field was too narrow for the number." if "***" in text else ""
            raise ValueError(f"{text.strip()[:40]!r} is no number.{hint}") from None


def read_columns(
    path: Path,
    name: str,
    columns: Sequence[int | str],
    *,
    skip_rows: int = 0,
    delimiter: str | None = None,
    comment: str = "#",
) -> NDArray[np.float64]:
    """Read columns of a text file.

    Args:
        path: The file.
        name: How sentences call it.
        columns: Columns by number, from 1 on, or by their names in the first line after the skipped ones.
        skip_rows: Lines at the start that are left out.
        delimiter: What separates columns; white space when None.
        comment: What begins a comment; empty for nothing.

    Returns:
        `[rows, len(columns)]` float64.

    Raises:
        SimulationError: If a column or a number is missing; the sentence names the line.
    """
    with path.open(encoding="utf-8", errors="replace") as source:
        lines = enumerate(islice(source, skip_rows, None), skip_rows + 1)
        places = [column - 1 for column in columns if isinstance(column, int)]
        if len(places) < len(columns):
            places = _named(next(lines, (0, ""))[1], name, columns, delimiter, comment)
        rows = list(_rows(lines, name, places, delimiter, comment))
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), len(places))


def _words(line: str, delimiter: str | None, comment: str) -> list[str]:
    text = line.partition(comment)[0] if comment else line
    return [word.strip() for word in text.split(delimiter)] if text.strip() else []


def _rows(
    lines: Iterator[tuple[int, str]], name: str, places: Sequence[int], delimiter: str | None, comment: str
) -> Iterator[list[float]]:
    """Yield the wanted numbers of every line that is neither empty nor a comment."""
    for line_number, line in lines:
        words = _words(line, delimiter, comment)
        if not words:
            continue
        try:
            yield [number(words[place]) for place in places]
        except IndexError:
            raise SimulationError(
                f"{name}, line {line_number}: column {max(places) + 1} was asked for, and the line has {len(words)}: "
                f"{line.strip()[:60]!r}.",
                kind="output_unreadable",
            ) from None
        except ValueError as error:
            raise SimulationError(f"{name}, line {line_number}: {error}", kind="output_unreadable") from None


def _named(line: str, name: str, columns: Sequence[int | str], delimiter: str | None, comment: str) -> list[int]:
    """Return the places of columns in a header line."""
    text = line.strip().removeprefix(comment) if comment else line
    header = [word.strip().strip("\"'") for word in text.split(delimiter)]
    places = []
    for column in columns:
        if isinstance(column, str) and column not in header:
            raise SimulationError(
                f"{name} has no column '{column}' in its header; it has {', '.join(header)}.{nearest(column, header)}",
                kind="output_unreadable",
            )
        places.append(column - 1 if isinstance(column, int) else header.index(column))
    return places


def read_pattern(text: str, name: str, pattern: str, match: Literal["last", "first", "all"]) -> NDArray[np.float64]:
    """Return what a regular expression finds: its group, or the whole match.

    Args:
        text: Where it is searched.
        name: How sentences call that.
        pattern: The expression.
        match: Which matches count.

    Returns:
        `[]`, or `[matches]` for all.

    Raises:
        SimulationError: If it matches nowhere, or what it finds is no number.
    """
    found = [hit[hit.re.groups] or "" for hit in re.compile(pattern, re.MULTILINE).finditer(text)]
    if not found:
        raise SimulationError(f"The pattern '{pattern}' matches nothing in {name}.", kind="output_unreadable")
    wanted = found if match == "all" else found[-1:] if match == "last" else found[:1]
    try:
        numbers = np.asarray([number(word) for word in wanted], dtype=np.float64)
    except ValueError as error:
        raise SimulationError(
            f"The pattern '{pattern}' finds in {name} what is no number: {error}", kind="output_unreadable"
        ) from error
    return numbers if match == "all" else numbers[0, ...]
