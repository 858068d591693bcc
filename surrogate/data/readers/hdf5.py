"""HDF5 files of any layout."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.data.readers.containers import UNIT_ATTRIBUTES, decoded, missing, plain, unit_text
from surrogate.data.readers.mapping import Mapping
from surrogate.data.readers.protocol import SourceError

_LOOKED_AT = 1000


class Hdf5Container:
    """An open HDF5 file."""

    def __init__(self, path: Path, file: h5py.File) -> None:
        """Wrap an open file."""
        self.path = path
        self._file = file

    def _names(self) -> list[str]:
        """Return the names of the datasets, or of the first thousand objects' of a large file."""
        found: list[str] = []
        looked = 0

        def note(name: str, item: Any) -> bool | None:
            nonlocal looked
            looked += 1
            if isinstance(item, h5py.Dataset):
                found.append(name)
            return True if looked >= _LOOKED_AT else None

        self._file.visititems(note)
        return found

    def _dataset(self, name: str) -> h5py.Dataset:
        with reading(self.path):
            item = self._file.get(name.strip("/") or "/")
            if not isinstance(item, h5py.Dataset):
                raise missing(self.path, "dataset", name, self._names())
        return item

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a dataset."""
        return tuple(int(length) for length in self._dataset(name).shape or ())

    def is_text(self, name: str) -> bool:
        """Return whether a dataset holds text."""
        return h5py.check_string_dtype(self._dataset(name).dtype) is not None

    def attribute(self, owner: str | None, name: str) -> Any:
        """Return an attribute of a dataset or group, or of the file."""
        with reading(self.path):
            item = self._file if owner is None else self._file.get(owner.strip("/") or "/")
            if item is None:
                raise missing(self.path, "object", str(owner), self._names())
            if name not in item.attrs:
                place = "attribute" if owner is None else f"attribute of '{owner}' named"
                raise missing(self.path, place, name, list(item.attrs))
            return plain(item.attrs[name])

    def unit(self, name: str) -> str | None:
        """Return the dataset's attribute `unit` or `units`."""
        with reading(self.path):
            attributes = self._dataset(name).attrs
            return next((unit_text(attributes[key]) for key in UNIT_ATTRIBUTES if key in attributes), None)

    def read(self, name: str, axis: int | None, start: int, stop: int) -> NDArray[Any]:
        """Return a slab of a dataset."""
        dataset = self._dataset(name)
        with reading(self.path):
            if axis is None:
                return decoded(np.asarray(dataset[()]))
            return decoded(np.asarray(dataset[(*(slice(None),) * axis, slice(start, stop))]))


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what h5py raises on damaged files into a sentence."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise SourceError(f"{path} cannot be read as HDF5: {error}.") from error


@contextlib.contextmanager
def open_hdf5(path: Path, options: Mapping) -> Iterator[Hdf5Container]:
    """Open an HDF5 file (see `OpensContainer`)."""
    del options
    with reading(path):
        file = h5py.File(path, "r")
    with file:
        yield Hdf5Container(path, file)
