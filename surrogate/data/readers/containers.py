"""What the generic readers need of an open file, whatever its format: named arrays, read in slabs, and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import nearest
from surrogate.core.outcome import FailureKind
from surrogate.data.readers.mapping import Mapping
from surrogate.data.readers.protocol import SourceError

UNIT_ATTRIBUTES = ("unit", "units", "Unit", "Units", "UNIT", "UNITS")
_LISTED = 12


class Container(Protocol):
    """An open file. All methods raise SourceError for what is not there."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array."""
        ...

    def is_text(self, name: str) -> bool:
        """Return whether an array holds text rather than numbers, as far as the file says."""
        ...

    def attribute(self, owner: str | None, name: str) -> Any:
        """Return an attribute of an array or group, or of the file."""
        ...

    def unit(self, name: str) -> str | None:
        """Return what the file says about the unit of an array, or None."""
        ...

    def read(self, name: str, axis: int | None, start: int, stop: int) -> NDArray[Any]:
        """Return positions `start` … `stop − 1` along an axis, or the whole array when `axis` is None."""
        ...


class OpensContainer(Protocol):
    """Opens files of one format."""

    def __call__(self, path: Path, options: Mapping) -> AbstractContextManager[Container]:
        """Open a file.

        Raises:
            SourceError: If it is no such file, or is damaged.
        """
        ...


def missing(path: Path, what: str, name: str, known: Sequence[str]) -> SourceError:
    """Return the error for something that a file lacks.

    Args:
        path: The file.
        what: What it is called in that format.
        name: What was asked for.
        known: What there is.
    """
    listed = ", ".join(known[:_LISTED]) + (f" and {len(known) - _LISTED} more" if len(known) > _LISTED else "")
    return SourceError(
        f"{path} has no {what} '{name}'; it has {listed or 'none'}.{nearest(name, known)}", FailureKind.OUTPUT_MISSING
    )


def plain(value: Any) -> Any:
    """Return an attribute's value without the wrappers of its format: text as str, one element as a scalar."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        if value.size == 1:
            return plain(value.reshape(-1)[0])
        return decoded(value)
    return value


def decoded(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with text as `<U`; numbers are left as they are."""
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    if array.dtype.kind == "O":
        words = [entry.decode("utf-8") if isinstance(entry, bytes) else str(entry) for entry in array.ravel().tolist()]
        return np.asarray(words, dtype=np.str_).reshape(array.shape)
    return array


def unit_text(value: Any) -> str | None:
    """Return an attribute's value as the text of a unit, or None when it is none."""
    value = plain(value)
    return value.strip() if isinstance(value, str) else None
