"""Answers beyond declared bounds are counted, and left as they are."""

from __future__ import annotations

import numpy as np

from surrogate.core.schema import RAGGED, Column, Ragged, Schema
from surrogate.inference.bounds import add_counts, beyond_bounds
from surrogate.models.protocols import Prediction

SCHEMA = Schema(
    (
        Column("a", "input"),
        Column("heat", "output", "kelvin", shape=(3,), low=0.0),
        Column("share", "output", low=0.0, high=1.0),
        Column("free", "output"),
        Column("path", "output", shape=(RAGGED,), high=5.0),
    )
)


def prediction(**mean):
    rows = len(mean["share"])
    zeros = {name: np.zeros(rows) for name in mean}
    return Prediction(mean=mean, std=zeros, lower=zeros, upper=zeros, in_domain=np.ones(rows, dtype=np.bool_))


def test_points_beyond_a_bound_are_counted_by_output():
    mean = {
        "heat": np.asarray([[1.0, 2.0, 3.0], [1.0, -72.0, -3.0], [0.0, np.nan, 1e9]]),
        "share": np.asarray([0.0, 1.0, 0.5]),
        "free": np.asarray([-1e9, 0.0, 1e9]),
        "path": Ragged.from_list([np.asarray([1.0, 6.0]), np.asarray([5.0]), np.asarray([-9.0, 7.0, 1.0])]),
    }
    assert beyond_bounds(SCHEMA, prediction(**mean)) == {"heat": 1, "path": 2}
    assert mean["heat"][1, 1] == -72.0


def test_counts_of_chunks_add_up():
    assert add_counts({"a": 1, "b": 2}, {"b": 1, "c": 4}) == {"a": 1, "b": 3, "c": 4}
    assert add_counts({}, {"a": 1}) == {"a": 1}
