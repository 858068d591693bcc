"""Columns say what can be stored, and ragged arrays behave like lists of arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surrogate.core.errors import DataError, UnitError
from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, SampleTable, Schema

SCHEMA = Schema(
    (
        Column("a", "input", unit="m", low=0.0),
        Column("kind", "input", dtype="str"),
        Column("y", "output", shape=(RAGGED, 3), dims=("atom", "xyz")),
        Column("z", "output", dtype="int32", shape=(2,), dims=("x",), description="two"),
    ),
    (Coordinate("x", "s", (0.5, 1.5)),),
)


def test_json_round_trip() -> None:
    assert Schema.from_json(json.loads(json.dumps(SCHEMA.to_json()))) == SCHEMA
    assert [column.name for column in SCHEMA.inputs] == ["a", "kind"]
    assert [column.name for column in SCHEMA.outputs] == ["y", "z"]
    assert SCHEMA.column("y").ragged
    assert SCHEMA.coordinate("x") == SCHEMA.coordinates[0]
    assert SCHEMA.coordinate("t") is None
    with pytest.raises(DataError, match="no column 'b'; there are"):
        SCHEMA.column("b")
    with pytest.raises(DataError, match="no schema"):
        Schema.from_json({"columns": [{}]})


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\nb", "a\0"])
def test_names_that_no_file_can_hold_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="cannot be the name of a column"):
        Column(name, "input")
    with pytest.raises(DataError, match="cannot be the name of a coordinate"):
        Coordinate(name, "1", ())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dtype": "flaot"}, "has the dtype 'flaot'"),
        ({"dtype": "object"}, "has the dtype 'object'"),
        ({"dtype": "datetime64[s]"}, "use a NumPy name"),
        ({"shape": (3,), "dims": ("x", "y")}, "1 axes and 2 names"),
        ({"shape": (3, RAGGED)}, "only the first axis"),
        ({"shape": (-2,)}, "lengths cannot be negative"),
        ({"shape": (RAGGED, -3)}, "lengths cannot be negative"),
    ],
)
def test_columns_that_cannot_be_stored_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Column("v", "output", **arguments)


def test_units_names_and_axes_must_agree() -> None:
    with pytest.raises(UnitError):
        Column("v", "output", unit="blink")
    with pytest.raises(UnitError):
        Coordinate("x", "blink", ())
    with pytest.raises(DataError, match="same name"):
        Schema((Column("a", "input"), Column("a", "output")))
    with pytest.raises(DataError, match="3 values along 'x', and the coordinate has 2"):
        Schema((Column("a", "input", shape=(3,), dims=("x",)),), SCHEMA.coordinates)


lists = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=6)


@given(lists, st.data())
def test_ragged_is_a_list_of_arrays(values: list[list[int]], data: st.DataObject) -> None:
    parts = [np.asarray(value, dtype=np.int64) for value in values]
    ragged = Ragged.from_list(parts, like=np.zeros(0, np.int64))
    assert [part.tolist() for part in ragged] == values
    assert len(ragged) == len(values)
    chosen = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=8)) if values else []
    taken = ragged.take(np.asarray(chosen, dtype=np.int64))
    assert [part.tolist() for part in taken] == [values[place] for place in chosen]
    joined = Ragged.join([ragged, taken, ragged])
    assert [part.tolist() for part in joined] == values + [values[place] for place in chosen] + values
    if values:
        assert ragged[-1].tolist() == values[-1]
    with pytest.raises(IndexError):
        ragged[len(values)]


@pytest.mark.parametrize("offsets", [[], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3], [[0, 3]]])
def test_offsets_that_do_not_describe_the_data_are_refused(offsets: list[Any]) -> None:
    with pytest.raises(DataError, match="must start at 0, never fall, and end"):
        Ragged(np.zeros(3), np.asarray(offsets, dtype=np.int64))


def test_a_table_takes_rows() -> None:
    columns = {
        "a": np.arange(3.0),
        "kind": np.array(["x", "yy", ""]),
        "y": Ragged.from_list([np.full((n, 3), n) for n in (2, 0, 1)]),
        "z": np.arange(6, dtype=np.int32).reshape(3, 2),
    }
    table = SampleTable(SCHEMA, ("i", "j", "k"), ("", "g", ""), columns)
    taken = table.take(np.array([2, 0]))
    assert len(taken) == 2
    assert taken.ids == ("k", "i")
    assert taken.groups == ("", "")
    assert taken.inputs["kind"].tolist() == ["", "x"]
    assert taken.outputs["z"].tolist() == [[4, 5], [0, 1]]
    assert [len(taken.outputs["y"][row]) for row in range(2)] == [1, 2]
