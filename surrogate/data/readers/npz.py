"""NumPy archives (.npz), read array by array and row by row; no pickle is read."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from surrogate.core.outcome import FailureKind
from surrogate.data.readers.containers import decoded, missing
from surrogate.data.readers.mapping import Mapping
from surrogate.data.readers.protocol import SourceError

_STEP = 1 << 20
_BROKEN = (OSError, ValueError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class _Header:
    """What the beginning of an array says."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


@dataclass(slots=True)
class _Stream:
    """An array that is being read from its first row on."""

    source: IO[bytes]
    row: int


class NpzContainer:
    """An open archive. Rows of an array in C order are streamed; other axes need the whole array."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        """Wrap an open archive."""
        self.path = path
        self._archive = archive
        self._members = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}
        self._headers: dict[str, _Header] = {}
        self._streams: dict[str, _Stream] = {}

    def _open(self, name: str) -> tuple[IO[bytes], _Header]:
        if name not in self._members:
            raise missing(self.path, "array", name, sorted(self._members))
        source = self._archive.open(self._members[name])
        version = npy.read_magic(source)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        header = _Header(*read(source))
        if header.dtype.hasobject:
            source.close()
            raise SourceError(
                f"The array '{name}' of {self.path} holds Python objects, which are not read. Save it as numbers.",
                FailureKind.WRONG_SHAPE,
            )
        return source, header

    def _header(self, name: str) -> _Header:
        if name not in self._headers:
            with self._reading():
                source, self._headers[name] = self._open(name)
                source.close()
        return self._headers[name]

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            if isinstance(error, SourceError):
                raise
            raise SourceError(f"{self.path} cannot be read as a NumPy archive: {error}.") from error

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array."""
        return tuple(int(length) for length in self._header(name).shape)

    def is_text(self, name: str) -> bool:
        """Return whether an array holds text."""
        return self._header(name).dtype.kind in "SU"

    def attribute(self, owner: str | None, name: str) -> Any:
        """Refuse: such archives have no attributes."""
        del owner
        raise SourceError(
            f"{self.path} is a NumPy archive, which has no attributes; give the 'path' of an array instead of "
            f"attribute = '{name}'.",
            FailureKind.OUTPUT_MISSING,
        )

    def unit(self, name: str) -> str | None:
        """Return None: such archives have no units."""
        del name
        return None

    def read(self, name: str, axis: int | None, start: int, stop: int) -> NDArray[Any]:
        """Return a slab of an array."""
        header = self._header(name)
        with self._reading():
            if axis == 0 and not header.fortran and header.shape:
                return decoded(self._rows(name, header, start, stop))
            source, _ = self._open(name)
            with source:
                count = int(np.prod(header.shape, dtype=np.int64))
                flat = np.frombuffer(_exactly(source, count * header.dtype.itemsize), dtype=header.dtype, count=count)
            whole = flat.reshape(header.shape, order="F" if header.fortran else "C")
            return decoded(whole if axis is None else whole[(*(slice(None),) * axis, slice(start, stop))])

    def _rows(self, name: str, header: _Header, start: int, stop: int) -> NDArray[Any]:
        """Read rows on from where the last call stopped; begin anew when it went further."""
        stop = min(stop, header.shape[0])
        each = int(np.prod(header.shape[1:], dtype=np.int64))
        stream = self._streams.pop(name, None)
        if stream is not None and stream.row > start:
            stream.source.close()
            stream = None
        if stream is None:
            stream = _Stream(self._open(name)[0], 0)
        _skip(stream.source, (start - stream.row) * each * header.dtype.itemsize)
        content = _exactly(stream.source, (stop - start) * each * header.dtype.itemsize)
        stream.row = stop
        self._streams[name] = stream
        rows = np.frombuffer(content, dtype=header.dtype, count=(stop - start) * each)
        return rows.reshape(stop - start, *header.shape[1:])

    def close(self) -> None:
        """Close what is open."""
        for stream in self._streams.values():
            stream.source.close()
        self._archive.close()


def _skip(source: IO[bytes], count: int) -> None:
    while count > 0:
        count -= len(_exactly(source, min(count, _STEP)))


def _exactly(source: IO[bytes], count: int) -> bytes:
    content = source.read(count)
    if len(content) != count:
        raise EOFError("an array ends before its last row")
    return content


@contextlib.contextmanager
def open_npz(path: Path, options: Mapping) -> Iterator[NpzContainer]:
    """Open a NumPy archive (see `OpensContainer`)."""
    del options
    try:
        container = NpzContainer(path, zipfile.ZipFile(path))
    except _BROKEN as error:
        raise SourceError(f"{path} cannot be read as a NumPy archive: {error}.") from error
    try:
        yield container
    finally:
        container.close()
