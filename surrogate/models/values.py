"""Arithmetic over columns that may be ragged: the same few operations for `[N, ...]` arrays and for Ragged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Ragged, Values


def flat(values: Values) -> NDArray[Any]:
    """Return all numbers of a column: the array itself, or the rows `[total, ...]` of a ragged column."""
    return values.data if isinstance(values, Ragged) else np.asarray(values)


def rebuild(like: Values, data: NDArray[Any]) -> Values:
    """Return `data` as a column that is cut into samples as `like` is.

    Args:
        like: The column whose layout is wanted.
        data: What `flat` would give, same leading axis.
    """
    return Ragged(data, like.offsets) if isinstance(like, Ragged) else data


def same_layout(one: Values, other: Values) -> bool:
    """Return whether two columns hold equally shaped samples."""
    if isinstance(one, Ragged) or isinstance(other, Ragged):
        return (
            isinstance(one, Ragged)
            and isinstance(other, Ragged)
            and one.data.shape == other.data.shape
            and np.array_equal(one.offsets, other.offsets)
        )
    return np.shape(one) == np.shape(other)


def sample_means(like: Values, data: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean over each sample's elements, `[N]` float64; NaN for a sample without elements.

    Args:
        like: Column that gives the layout.
        data: Numbers or booleans in that layout, as from `flat`.
    """
    rows = data.reshape(len(data), _width(data)).mean(axis=1, dtype=np.float64)
    if not isinstance(like, Ragged):
        return np.asarray(rows, dtype=np.float64)
    sums = np.concatenate([[0.0], np.cumsum(rows)])
    lengths = np.diff(like.offsets)
    totals = sums[like.offsets[1:]] - sums[like.offsets[:-1]]
    means = np.full(len(like), np.nan, dtype=np.float64)
    np.divide(totals, lengths, out=means, where=lengths > 0)
    return means


def element_weights(like: Values) -> NDArray[np.float64]:
    """Return the weight of each flat element, ravelled, such that every sample weighs 1 in all.

    Args:
        like: Column that gives the layout.
    """
    data = flat(like)
    if not isinstance(like, Ragged):
        return np.full(data.size, 1.0 / max(_width(data), 1), dtype=np.float64)
    lengths = np.diff(like.offsets)
    width = _width(data)
    weights: NDArray[np.float64] = np.repeat(1.0 / np.maximum(lengths * width, 1), lengths * width)
    return weights


def _width(data: NDArray[Any]) -> int:
    """Return the number of elements behind one entry of the first axis."""
    return int(np.prod(data.shape[1:], dtype=np.int64))


def count_samples(columns: Mapping[str, Values]) -> int:
    """Return the number of samples of columns that agree on it; 0 when there is no column."""
    return next((len(values) for values in columns.values()), 0)


def cut(columns: Mapping[str, Values], start: int, stop: int) -> dict[str, Values]:
    """Return samples `start` … `stop − 1` of every column, without copying fixed-shape columns."""
    parts: dict[str, Values] = {}
    for name, values in columns.items():
        if isinstance(values, Ragged):
            offsets = values.offsets[start : stop + 1]
            parts[name] = Ragged(values.data[offsets[0] : offsets[-1]], offsets - offsets[0])
        else:
            parts[name] = values[start:stop]
    return parts


def join(parts: Sequence[Values]) -> Values:
    """Return the samples of all parts, in order.

    Args:
        parts: At least one; all ragged or none.
    """
    ragged = [part for part in parts if isinstance(part, Ragged)]
    if not ragged:
        return np.concatenate([np.asarray(part) for part in parts], axis=0)
    lengths = np.concatenate([np.diff(part.offsets) for part in ragged])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Ragged(np.concatenate([part.data for part in ragged], axis=0), offsets)
