"""Files of one layout, made and read without HDF5's library.

All runs of an ensemble leave files that differ only in the bytes of their arrays: HDF5 stores a small contiguous
dataset as it is, without a checksum. So the first file of a layout is made and read by the library, and the others by
copying. Nothing is guessed: a file whose other bytes are not exactly those of a file that the library has read is read
by the library, too, and what is stamped is byte for byte what the library would have written.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.data.quick_hdf5 import whole

LARGEST_BYTES = 2**20
"""Above this the arrays are what takes the time, and a copy of the file would only take memory."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where one array stands.

    Attributes:
        path: Path of its dataset.
        start: Position of its first byte in the file.
        dtype: As it is stored.
        shape: Its shape.
    """

    path: str
    start: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        """Position behind its last byte."""
        return self.start + self.dtype.itemsize * math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Stencil:
    """What all files of one layout have in common.

    Attributes:
        image: A whole file of the layout.
        spans: Where its arrays stand, in the order of the file.
        shared: Pieces of the file that belong to no array, as (start, stop).
    """

    image: bytes
    spans: tuple[Span, ...]
    shared: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, content: bytes, paths: Sequence[str], header: int) -> Self | None:
        """Learn the layout of a file.

        Args:
            content: The file.
            paths: Its datasets whose content differs from file to file.
            header: Bytes at the beginning that differ from file to file.

        Returns:
            The stencil, or None when an array does not stand in the file as plain bytes.
        """
        if len(content) > LARGEST_BYTES:
            return None
        spans = []
        with h5py.File(io.BytesIO(content), "r") as file:
            for path in paths:
                dataset = file[path]
                array = whole(dataset)
                span = Span(path, dataset.id.get_offset() or 0, array.dtype, array.shape)
                if array.size and content[span.start : span.stop] != array.tobytes():
                    return None
                spans.append(span)
        spans.sort(key=lambda span: (span.start, span.stop))
        shared, end = [], header
        for span in spans:
            if span.start < span.stop:
                shared.append((end, span.start))
                end = span.stop
        shared.append((end, len(content)))
        return cls(content, tuple(spans), tuple(shared))

    def fits(self, content: bytes) -> bool:
        """Tell whether a file is of this layout."""
        return len(content) == len(self.image) and all(
            content[start:stop] == self.image[start:stop] for start, stop in self.shared
        )

    def cut(self, content: bytes) -> dict[str, NDArray[Any]]:
        """Return the arrays of a file that fits: path → array of its own."""
        return {
            span.path: np.frombuffer(content[span.start : span.stop], dtype=span.dtype).reshape(span.shape).copy()
            for span in self.spans
        }

    def stamp(self, arrays: Mapping[str, NDArray[Any]]) -> bytearray:
        """Return a file of this layout with other arrays.

        Args:
            arrays: Path → array, of the dtype and shape that stand at that path.
        """
        content = bytearray(self.image)
        for span in self.spans:
            content[span.start : span.stop] = np.ascontiguousarray(arrays[span.path]).tobytes()
        return content
