"""A small schema with every sort of column, and runs that have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from surrogate.core.identity import run_id
from surrogate.core.schema import Column, Coordinate, Ragged, SampleTable, Schema
from surrogate.data.dataset import DatasetWriter, Packed
from surrogate.data.run_file import write_run_file

AXIS = Coordinate("x", "m", (0.125, 0.375, 0.625, 0.875))
SCHEMA = Schema(
    (
        Column("a", "input", unit="m", low=0.0, high=100.0, description="a length"),
        Column("steps", "input", dtype="int64"),
        Column("kind", "input", dtype="str"),
        Column("field", "output", unit="K", shape=(2, 4), dims=("t", "x"), low=0.0, high=2.0),
        Column("path", "output", unit="m", dtype="float32", shape=(-1, 3)),
        Column("label", "output", dtype="bool"),
    ),
    (AXIS,),
)


def run_columns(number: int, samples: int = 1) -> dict[str, Any]:
    """Return the columns of run `number`: paths have 0 to 4 rows, kinds are words of 0 to 2 letters."""
    random = np.random.default_rng(number)
    return {
        "a": np.full(samples, number + 0.5),
        "steps": np.full(samples, number % 3),
        "kind": ["µ" * (number % 3)] * samples,
        "field": random.random((samples, 2, 4)),
        "path": [random.random(((number + row) % 5, 3)) for row in range(samples)],
        "label": random.random(samples) > 0.5,
    }


def point_of(number: int) -> dict[str, Any]:
    """Return the inputs of run `number`."""
    return {"a": number + 0.5, "steps": number % 3, "kind": "µ" * (number % 3)}


def identity(number: int, version: str = "1") -> str:
    """Return the identity of run `number`."""
    return run_id("toy", version, {}, point_of(number))


def write_run(folder: Path, number: int, samples: int = 1, groups: tuple[str, ...] = (), **columns: Any) -> Path:
    """Write the file of run `number`, with some columns replaced, and return its path."""
    path = folder / f"run-{number}.h5"
    data = {**run_columns(number, samples), **columns}
    write_run_file(path, SCHEMA, data, groups, {"number": number, "host": "here"}, durable=False)
    return path


def fill(dataset: Path, numbers: list[int], scratch: Path, samples_per_shard: int = 256, **kwargs: Any) -> list[Packed]:
    """Add runs to a dataset in the order of `numbers` and pack them."""
    writer = DatasetWriter(dataset, SCHEMA, samples_per_shard)
    for number in numbers:
        assert writer.add_run(identity(number), write_run(scratch, number, **kwargs))
    return list(writer.flush())


def assert_same(first: SampleTable, second: SampleTable) -> None:
    """Compare two tables, column by column."""
    assert first.ids == second.ids
    assert first.groups == second.groups
    for name, values in first.columns.items():
        other = second.columns[name]
        if isinstance(values, Ragged):
            assert isinstance(other, Ragged)
            np.testing.assert_array_equal(values.offsets, other.offsets)
            np.testing.assert_array_equal(values.data, other.data)
        else:
            np.testing.assert_array_equal(values, other)
