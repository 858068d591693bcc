"""A run file's rows: the request's inputs, repeated, beside what the simulator yielded."""

from __future__ import annotations

import numpy as np

from sim_wrappers.protocol import RunData
from sim_wrappers.rows import run_columns
from surrogate.core.schema import Column, Ragged, Schema

SCHEMA = Schema(
    (
        Column("a", "input"),
        Column("n", "input", dtype="int64"),
        Column("word", "input", dtype="str"),
        Column("atoms", "input", shape=(-1, 3)),
        Column("y", "output"),
    )
)
POINT = {"a": 0.5, "n": 3, "word": "µm", "atoms": [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]}


def test_inputs_are_repeated_in_their_dtype() -> None:
    columns = run_columns(POINT, RunData({"y": np.arange(2.0)}, samples=2), SCHEMA)
    assert columns["a"].tolist() == [0.5, 0.5]
    assert columns["n"].dtype == np.int64
    assert columns["word"].tolist() == ["µm", "µm"]
    atoms = columns["atoms"]
    assert isinstance(atoms, Ragged)
    assert len(atoms) == 2
    np.testing.assert_array_equal(atoms[1], POINT["atoms"])
    assert columns["y"].tolist() == [0.0, 1.0]


def test_inputs_that_the_simulator_varies_win() -> None:
    data = RunData({"y": np.zeros(2)}, samples=2, inputs={"a": np.array([1.0, 2.0])})
    assert run_columns(POINT, data, SCHEMA)["a"].tolist() == [1.0, 2.0]


def test_what_is_missing_or_unknown_is_left_to_admission() -> None:
    columns = run_columns({"a": 1.0}, RunData({"z": np.zeros(1)}), SCHEMA)
    assert set(columns) == {"a", "z"}
