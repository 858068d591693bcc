"""What stands in somebody's file, as numbers, words and names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column
from surrogate.data.readers.mapping import Place as Entry
from surrogate.data.readers.protocol import SourceError


def from_name(path: Path, pattern: str) -> str:
    """Return what a regular expression finds in the name of a file.

    Raises:
        SourceError: If it finds nothing.
    """
    found = re.search(pattern, path.name)
    if found is None:
        raise SourceError(
            f"The name of {path} does not have the form '{pattern}' from which the mapping takes a value.",
            FailureKind.OUTPUT_MISSING,
        )
    return found[1]


def array_of(entry: Entry) -> str | None:
    """Return the array or column that an entry names, or None when it names none."""
    return None if entry.attribute is not None else entry.path or entry.column


def word(value: Any) -> str:
    """Return a key or category as text; a whole number is written without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def as_number(text: str) -> float | None:
    """Return the number that a text is, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def numbers(path: Path, name: str, raw: NDArray[Any]) -> NDArray[Any]:
    """Return numbers; a word among numbers is NaN, so that its sample is refused and no other."""
    if raw.dtype.kind in "biufc":
        return raw
    words = [str(item) for item in raw.ravel().tolist()]
    parsed = [as_number(item) for item in words]
    if all(number is None for number in parsed):
        raise SourceError(
            f"'{name}' in {path} is text ({words[0] if words else ''!r}), and numbers are needed.",
            FailureKind.WRONG_SHAPE,
        )
    return np.asarray([np.nan if number is None else number for number in parsed]).reshape(raw.shape)


def fitted(values: NDArray[Any], column: Column) -> NDArray[Any]:
    """Return whole numbers as such where the column wants them and nothing is lost."""
    if np.dtype(column.dtype).kind in "iu" and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = values.astype(column.dtype)
        if np.array_equal(whole, values):
            return whole
    return values
