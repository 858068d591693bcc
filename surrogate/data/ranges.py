"""What values each column of a dataset has, read shard by shard."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, Ragged
from surrogate.data.dataset import Dataset

_WORDS = 20


def column_ranges(dataset: Dataset) -> list[dict[str, Any]]:
    """Describe every column: unit, declared bounds, and what was found.

    Numbers are over all elements of all samples: smallest, largest, mean and standard deviation in the column's unit.
    Complex numbers count by their magnitude, truth values as 0 and 1, words by how often they occur.
    """
    return [_describe(dataset, column) for column in dataset.schema.columns]


def _describe(dataset: Dataset, column: Column) -> dict[str, Any]:
    record: dict[str, Any] = column.to_json()
    words: Counter[str] = Counter()
    numbers = _Moments()
    lengths: list[NDArray[np.int64]] = []
    for _, values in dataset.slabs(column.name):
        if isinstance(values, Ragged):
            lengths.append(np.diff(values.offsets))
        data = values.data if isinstance(values, Ragged) else values
        if column.dtype == "str":
            words.update(data.ravel().tolist())
        else:
            numbers.add(np.abs(data) if data.dtype.kind == "c" else data)
    if column.dtype == "str":
        record["words"] = dict(words.most_common(_WORDS))
        record["distinct"] = len(words)
    else:
        record.update(numbers.record())
    if lengths:
        every = np.concatenate(lengths)
        if len(every):
            record["lengths"] = {
                "smallest": int(every.min()),
                "median": float(np.median(every)),
                "largest": int(every.max()),
            }
    return record


class _Moments:
    """Extremes, mean and variance, joined part by part (Chan, Golub & LeVeque 1983)."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = 0.0
        self._smallest, self._largest = np.inf, -np.inf

    def add(self, data: NDArray[Any]) -> None:
        """Take another part, any shape."""
        if data.size == 0:
            return
        part = data.astype(np.float64, copy=False)
        mean, count = float(part.mean()), self._count + part.size
        difference = mean - self._mean
        self._squares += float(np.square(part - mean).sum()) + difference**2 * self._count * part.size / count
        self._mean += difference * part.size / count
        self._count = count
        self._smallest, self._largest = min(self._smallest, float(part.min())), max(self._largest, float(part.max()))

    def record(self) -> dict[str, Any]:
        """Return a JSON-ready mapping; None where there is no number."""
        if not self._count:
            return {"smallest": None, "largest": None, "mean": None, "std": None}
        return {
            "smallest": self._smallest,
            "largest": self._largest,
            "mean": self._mean,
            "std": float(np.sqrt(self._squares / self._count)),
        }
