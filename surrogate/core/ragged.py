"""Arrays of different lengths, held flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Arrays whose first axis differs in length, held flat.

    Attributes:
        data: `[total, ...]`, all samples' rows one after the other.
        offsets: `[N + 1]` int64; sample i is `data[offsets[i]:offsets[i + 1]]`.
    """

    data: NDArray[Any]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Refuse offsets that do not describe the data.

        Raises:
            DataError: If they do not start at 0, fall, or end elsewhere than the data.
        """
        bad = self.offsets.ndim != 1 or len(self.offsets) < 1 or self.offsets[0] != 0
        if bad or np.any(np.diff(self.offsets) < 0) or self.offsets[-1] != len(self.data):
            raise DataError("Ragged offsets must start at 0, never fall, and end at the number of rows.")

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[Any]:
        """Return the rows of one sample, `[length, ...]`."""
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return self.data[self.offsets[index] : self.offsets[index + 1]]

    def take(self, indices: NDArray[np.int64]) -> Ragged:
        """Return the samples at `indices`, `[K]`, in that order."""
        starts, lengths = self.offsets[:-1][indices], np.diff(self.offsets)[indices]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        rows = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1], dtype=np.int64)
        return Ragged(self.data[rows], offsets)

    @classmethod
    def join(cls, parts: Sequence[Ragged]) -> Ragged:
        """Put the samples of several Raggeds one after the other; at least one is needed."""
        shifts = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=True)]
        data = np.concatenate([part.data for part in parts])
        return cls(data, np.concatenate([np.zeros(1, np.int64), *offsets]))

    @classmethod
    def from_list(cls, arrays: list[NDArray[Any]], like: NDArray[Any] | None = None) -> Ragged:
        """Join arrays of shape `[length_i, ...]`.

        Args:
            arrays: One array a sample; their trailing shapes agree.
            like: Gives dtype and trailing shape when `arrays` is empty.
        """
        lengths = np.asarray([len(array) for array in arrays], dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        if arrays:
            return cls(np.concatenate(arrays, axis=0), offsets)
        return cls(like[:0] if like is not None else np.zeros(0), offsets)


Values = NDArray[Any] | Ragged
