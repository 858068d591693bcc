"""The rows of a run file: a request's inputs repeated beside the outputs of each of its samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.protocol import RunData
from surrogate.core.schema import Column, Ragged, Schema, Values


def run_columns(inputs: Mapping[str, Any], data: RunData, schema: Schema) -> dict[str, Values]:
    """Return all columns of a run, one row a sample.

    Args:
        inputs: The request's point.
        data: What the simulator yielded, S samples; its own inputs win over the request's.
        schema: Says which inputs there are and how they are stored.
    """
    columns = dict(data.outputs)
    for column in schema.inputs:
        if column.name in data.inputs:
            columns[column.name] = data.inputs[column.name]
        elif column.name in inputs:
            columns[column.name] = _repeated(inputs[column.name], data.samples, column)
    return columns


def _repeated(value: Any, samples: int, column: Column) -> Values:
    """Return `[S, *shape]`, or Ragged of S equal samples."""
    one: NDArray[Any] = np.asarray(value) if column.dtype == "str" else np.asarray(value, dtype=column.dtype)
    if column.ragged:
        one = one.reshape(-1, *column.shape[1:])  # an empty list has lost its shape
        return Ragged.from_list([one] * samples, like=one)
    return np.repeat(one[np.newaxis], samples, axis=0)
