"""Samples as rows: an axis that a network is asked along gives every sample as many rows as the axis is long."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, Values
from surrogate.models.features import InputEncoder


def axis_length(column: Column, axis: str) -> int:
    """Return the length of a named axis of a column."""
    return column.shape[column.dims.index(axis)]


def unrolled(column: Column, axis: str, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return `[N·T, *rest]` rows of a column `[N, *shape]`, and the names of the remaining axes."""
    dims = column.dims or tuple("" for _ in column.shape)
    if not axis:
        return values, dims
    place = dims.index(axis)
    moved = np.moveaxis(values, place + 1, 1)
    return moved.reshape(-1, *moved.shape[2:]), dims[:place] + dims[place + 1 :]


def rolled(column: Column, axis: str, rows: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return the column `[N, *shape]` of rows `[N·T, *rest]`."""
    if not axis:
        return rows
    return np.moveaxis(rows.reshape(-1, steps, *rows.shape[1:]), 1, column.dims.index(axis) + 1)


def row_features(
    encoder: InputEncoder, along: NDArray[np.float64], inputs: Mapping[str, Values]
) -> NDArray[np.float64]:
    """Return `[N·T, D + F]` float64: every sample's features beside those of every place along the axis."""
    features = encoder.encode(inputs)
    count, steps = len(features), len(along)
    return np.concatenate([np.repeat(features, steps, axis=0), np.tile(along, (count, 1))], axis=1)


def sample_norms(values: Values) -> NDArray[np.float64]:
    """Return the root mean square of each sample's elements, `[N]`."""
    array = np.asarray(values, dtype=np.float64)
    return np.asarray(np.sqrt(np.mean(array.reshape(len(array), -1) ** 2, axis=1)), dtype=np.float64)


def row_weights(values: NDArray[np.float64], typical: float, steps: int) -> NDArray[np.float32]:
    """Return the weight of each row, `[N·T]`: (typical norm / a sample's norm)², at most 100; 1 if `typical` is 0."""
    if typical == 0.0:
        return np.ones(len(values) * steps, dtype=np.float32)
    weights = (typical / np.maximum(sample_norms(values), 0.1 * typical)) ** 2
    return np.repeat(weights, steps).astype(np.float32)
