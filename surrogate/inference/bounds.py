"""Answers beyond an output's declared physical bounds. They are told and never cut off: the number is what it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from surrogate.core.schema import Ragged, Schema
from surrogate.models.protocols import Prediction


def beyond_bounds(schema: Schema, prediction: Prediction) -> dict[str, int]:
    """Return how many points have an answer that no admitted simulation could have given.

    A network knows nothing of bounds. Cutting its answer off at one would hide that it is wrong there, so that the mean
    is left as it is; the 90 % interval may reach beyond a bound where the mean does not, and is not looked at.

    Args:
        schema: Columns of the surrogate, with `low` and `high` of the outputs.
        prediction: N answers.

    Returns:
        Output → points of which at least one element of the mean is below `low` or above `high`; only outputs with such
        points.
    """
    found = {}
    for column in schema.outputs:
        if column.name not in prediction.mean or (column.low is None and column.high is None):
            continue
        low = -np.inf if column.low is None else column.low
        high = np.inf if column.high is None else column.high
        values = prediction.mean[column.name]
        if isinstance(values, Ragged):
            count = sum(bool(((row < low) | (row > high)).any()) for row in map(values.__getitem__, range(len(values))))
        else:
            flat = np.asarray(values).reshape(len(values), -1)
            count = int(((flat < low) | (flat > high)).any(axis=1).sum())
        if count:
            found[column.name] = count
    return found


def add_counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of two counts."""
    return {
        name: one.get(name, 0) + other.get(name, 0) for name in (*one, *(name for name in other if name not in one))
    }
