"""What values each column of a dataset has, read shard by shard."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, Ragged, Values
from surrogate.data.dataset import Dataset

_WORDS = 20


def column_ranges(dataset: Dataset) -> list[dict[str, Any]]:
    """Describe every column: unit, declared bounds, and what was found.

    Numbers are over all elements of all samples: smallest, largest, mean and standard deviation in the column's unit.
    Complex numbers count by their magnitude, truth values as 0 and 1, words by how often they occur.
    """
    found = [_Description(column) for column in dataset.schema.columns]
    for _, values in dataset.slabs_of([column.name for column in dataset.schema.columns]):
        for description in found:
            description.add(values[description.column.name])
    return [description.record() for description in found]


class _Description:
    """What is found in one column, part by part."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self._words: Counter[str] = Counter()
        self._numbers = _Moments()
        self._lengths: list[NDArray[np.int64]] = []

    def add(self, values: Values) -> None:
        """Take another part."""
        if isinstance(values, Ragged):
            self._lengths.append(np.diff(values.offsets))
        data = values.data if isinstance(values, Ragged) else values
        if self.column.dtype == "str":
            self._words.update(data.ravel().tolist())
        else:
            self._numbers.add(np.abs(data) if data.dtype.kind == "c" else data)

    def record(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        record: dict[str, Any] = self.column.to_json()
        if self.column.dtype == "str":
            record["words"] = dict(self._words.most_common(_WORDS))
            record["distinct"] = len(self._words)
        else:
            record.update(self._numbers.record())
        every = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.int64)
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
