"""NetCDF files: version 4 is HDF5, the classic ones are read by SciPy. Packed values and fill values are undone.

A value that equals `_FillValue` or `missing_value` becomes NaN, and `scale_factor` and `add_offset` are applied, as the
CF conventions (version 1.11, chapters 2.5.1 and 8.1) define them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import netcdf_file

from surrogate.data.readers.containers import UNIT_ATTRIBUTES, Container, missing, plain, unit_text
from surrogate.data.readers.hdf5 import open_hdf5
from surrogate.data.readers.mapping import Mapping
from surrogate.data.readers.protocol import SourceError

_HDF5 = b"\x89HDF\r\n\x1a\n"


class ClassicContainer:
    """An open classic file; arrays are mapped into memory and not loaded whole."""

    def __init__(self, path: Path, file: Any) -> None:
        """Wrap an open file."""
        self.path = path
        self._file = file

    def _variable(self, name: str) -> Any:
        if name not in self._file.variables:
            raise missing(self.path, "variable", name, sorted(self._file.variables))
        return self._file.variables[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable."""
        variable = self._variable(name)
        shape = tuple(int(length) for length in variable.shape)
        return shape[:-1] if self.is_text(name) else shape

    def is_text(self, name: str) -> bool:
        """Return whether a variable holds characters; its last axis runs over them."""
        return bool(self._variable(name).data.dtype.kind == "S")

    def attribute(self, owner: str | None, name: str) -> Any:
        """Return an attribute of a variable, or of the file."""
        item = self._file if owner is None else self._variable(owner)
        attributes = item._attributes  # noqa: SLF001 - SciPy shows attributes and its own fields by the same names
        if name not in attributes:
            place = "attribute" if owner is None else f"attribute of '{owner}' named"
            raise missing(self.path, place, name, sorted(attributes))
        return plain(attributes[name])

    def unit(self, name: str) -> str | None:
        """Return the variable's attribute `units`."""
        attributes = self._variable(name)._attributes  # noqa: SLF001 - as above
        return next((unit_text(attributes[key]) for key in UNIT_ATTRIBUTES if key in attributes), None)

    def read(self, name: str, axis: int | None, start: int, stop: int) -> NDArray[Any]:
        """Return a slab of a variable."""
        variable = self._variable(name)
        where = () if axis is None else (*(slice(None),) * axis, slice(start, stop))
        array = np.array(variable.data[where])  # a copy: the map is gone when the file is closed
        if array.dtype.kind == "S":
            joined: NDArray[Any] = np.char.decode(
                np.ascontiguousarray(array).view(f"S{array.shape[-1]}")[..., 0], "utf-8"
            )
            return np.char.strip(joined, "\0 ")
        return array.astype(array.dtype.newbyteorder("="), copy=False)


class Unpacked:
    """Another container whose numbers are unpacked."""

    def __init__(self, inner: Container) -> None:
        """Wrap an open file."""
        self._inner = inner

    @property
    def path(self) -> Path:
        """The file."""
        return self._inner.path

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable."""
        return self._inner.shape(name)

    def is_text(self, name: str) -> bool:
        """Return whether a variable holds text."""
        return self._inner.is_text(name)

    def attribute(self, owner: str | None, name: str) -> Any:
        """Return an attribute of a variable or group, or of the file."""
        return self._inner.attribute(owner, name)

    def unit(self, name: str) -> str | None:
        """Return the variable's attribute `units`."""
        return self._inner.unit(name)

    def read(self, name: str, axis: int | None, start: int, stop: int) -> NDArray[Any]:
        """Return a slab of a variable, unpacked."""
        array = self._inner.read(name, axis, start, stop)
        if array.dtype.kind not in "iuf":
            return array
        empty = np.zeros(array.shape, dtype=np.bool_)
        for key in ("_FillValue", "missing_value"):
            mark = self._number(name, key)
            if mark is not None:
                empty |= array == mark
        factor, shift = self._number(name, "scale_factor"), self._number(name, "add_offset")
        if factor is None and shift is None and not empty.any():
            return array
        numbers = array.astype(np.float64) * (1.0 if factor is None else factor) + (0.0 if shift is None else shift)
        numbers[empty] = np.nan
        return np.asarray(numbers)

    def _number(self, name: str, key: str) -> Any:
        """Return an attribute that is a number, or None."""
        try:
            value = self._inner.attribute(name, key)
        except SourceError:
            return None
        return value if isinstance(value, int | float) else None


@contextlib.contextmanager
def open_netcdf(path: Path, options: Mapping) -> Iterator[Container]:
    """Open a NetCDF file of any version (see `OpensContainer`)."""
    try:
        with path.open("rb") as source:
            head = source.read(len(_HDF5))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from error
    if head == _HDF5:
        with open_hdf5(path, options) as inner:
            yield Unpacked(inner)
        return
    try:
        file = netcdf_file(path, "r", mmap=True, maskandscale=False)
    except (OSError, TypeError, ValueError, IndexError, KeyError, MemoryError) as error:
        raise SourceError(f"{path} cannot be read as NetCDF: {error}.") from error
    try:
        yield Unpacked(ClassicContainer(path, file))
    finally:
        file.close()
