"""Admission says in a sentence what is wrong, where, and what was expected."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surrogate.core.outcome import Budget, FailureKind
from surrogate.core.schema import Column, Coordinate, Schema
from surrogate.data.admission import admit
from surrogate.data.run_file import RunFile, write_run_file
from tests.support.runs import AXIS, SCHEMA, point_of, run_columns, write_run


def test_a_good_file_is_admitted_with_the_hash_of_each_sample(tmp_path: Path) -> None:
    admission = admit(write_run(tmp_path, 4, samples=3), SCHEMA, expected_inputs=point_of(4))
    assert admission.ok, admission.reason
    assert admission.samples == 3
    assert admission.kind is None
    assert admission.reason == ""
    assert len(set(admission.content)) == 3


def test_the_hash_does_not_depend_on_neighbours_order_or_provenance(tmp_path: Path) -> None:
    columns = run_columns(4, 2)
    together = admit(write_run(tmp_path, 4, samples=2), SCHEMA)
    columns["kind"] = ["µµµµµµ", columns["kind"][1]]  # a longer word beside it must not widen the other
    second = {name: values[1:] for name, values in reversed(columns.items())}
    write_run_file(tmp_path / "one.h5", SCHEMA, second, provenance={"host": "there"})
    assert admit(tmp_path / "one.h5", SCHEMA).content == together.content[1:]


FIELD = run_columns(4, 2)["field"]


def spoilt(place: tuple[int, ...], value: float) -> np.ndarray[Any, Any]:
    field = FIELD.copy()
    field[place] = value
    return field


@pytest.mark.parametrize(
    ("columns", "kind", "sentence"),
    [
        (
            {"field": spoilt((1, 0, 3), np.nan)},
            FailureKind.NOT_FINITE,
            r"'field' of sample 1 is nan K at \[0, 3\]; only",
        ),
        ({"field": spoilt((0, 1, 2), -np.inf)}, FailureKind.NOT_FINITE, r"'field' of sample 0 is -inf K at \[1, 2\]"),
        ({"field": spoilt((1, 1, 1), 2.5)}, FailureKind.OUT_OF_BOUNDS, r"sample 1 is 2.5 K at \[1, 1\]; at most 2 is"),
        (
            {"field": spoilt((0, 0, 0), -1e-6)},
            FailureKind.OUT_OF_BOUNDS,
            r"sample 0 is -1e-06 K at \[0, 0\]; at least 0",
        ),
        (
            {"field": FIELD[..., :3]},
            FailureKind.WRONG_SHAPE,
            r"'field' has the shape \[2, 3\] in a sample; \[2, 4\] is",
        ),
        ({"field": FIELD[:1]}, FailureKind.WRONG_SHAPE, r"'field' has 1 rows; 2 are expected"),
        ({"field": 1.0}, FailureKind.WRONG_SHAPE, r"'field' has the shape of a single value"),
        ({"label": [0.5, 0.5]}, FailureKind.WRONG_SHAPE, r"'label' has the dtype float64; bool is expected"),
        ({"steps": ["1", "1"]}, FailureKind.WRONG_SHAPE, r"'steps' has the dtype str; int64 is expected"),
        ({"extra": [1, 2]}, FailureKind.WRONG_SHAPE, r"Column 'extra' was found; only \['a', "),
        (
            {"path": [np.zeros((1, 3)), np.full((2, 3), np.nan)]},
            FailureKind.NOT_FINITE,
            r"'path' of sample 1 is nan m at \[0, 0\] \(6 such values\)",
        ),
        ({"path": np.zeros((2, 5, 3))}, FailureKind.WRONG_SHAPE, r"\[5, 3\] in a sample; \[any, 3\] is expected"),
        ({"a": [4.5, 4.6]}, FailureKind.WRONG_INPUTS, r"Input 'a' of sample 1 is 4.6; 4.5 was asked for"),
        ({"kind": ["µ", "x"]}, FailureKind.WRONG_INPUTS, r"Input 'kind' of sample 1 is 'x'; 'µ' was asked for"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, columns: dict[str, Any], kind: FailureKind, sentence: str) -> None:
    path = write_run(tmp_path, 4, samples=2, **columns)
    admission = admit(path, SCHEMA, expected_inputs=point_of(4))
    assert not admission.ok
    assert admission.kind is kind
    assert kind.budget is Budget.PHYSICS
    assert re.search(sentence, admission.reason), admission.reason
    assert admission.content == ()


def test_a_rounding_at_a_bound_is_no_fault(tmp_path: Path) -> None:
    path = write_run(tmp_path, 4, samples=2, field=spoilt((0, 0, 0), 2.0 * (1 + 2e-16)))
    assert admit(path, SCHEMA).ok


def test_inputs_that_were_asked_for_may_leave_their_range(tmp_path: Path) -> None:
    path = write_run(tmp_path, 4, a=[150.0])
    assert admit(path, SCHEMA).kind is FailureKind.OUT_OF_BOUNDS
    assert admit(path, SCHEMA, expected_inputs={**point_of(4), "a": 150.0}).ok


def test_missing_file_and_missing_column(tmp_path: Path) -> None:
    gone = admit(tmp_path / "run.h5", SCHEMA)
    assert (gone.kind, gone.samples) == (FailureKind.OUTPUT_MISSING, 0)
    columns = {name: values for name, values in run_columns(4).items() if name != "field"}
    write_run_file(tmp_path / "run.h5", SCHEMA, columns)
    lacking = admit(tmp_path / "run.h5", SCHEMA)
    assert lacking.kind is FailureKind.OUTPUT_MISSING
    assert "The output 'field' is missing; there are" in lacking.reason
    write_run_file(tmp_path / "run.h5", SCHEMA, {})
    assert "holds no sample" in admit(tmp_path / "run.h5", SCHEMA).reason


def test_units_and_coordinates_must_be_as_declared(tmp_path: Path) -> None:
    path = write_run(tmp_path, 4)
    columns = tuple(replace(column, unit="km") if column.name == "a" else column for column in SCHEMA.columns)
    assert "Column 'a' is in 'm'; 'km' is expected." in admit(path, Schema(columns, (AXIS,))).reason
    moved = Coordinate("x", "m", (0.125, 0.375, 0.7, 0.875))
    assert "'x' is 0.625 at [2]; 0.7 is expected" in admit(path, Schema(SCHEMA.columns, (moved,))).reason
    loose = Schema(SCHEMA.columns, (AXIS, Coordinate("t", "s", (1.0, 2.0))))
    assert "Coordinate 't' is missing" in admit(path, loose).reason


def test_a_torn_file_is_an_answer_and_no_exception(tmp_path: Path) -> None:
    path = write_run(tmp_path, 4)
    whole = path.read_bytes()
    for size in range(0, len(whole), 997):
        path.write_bytes(whole[:size])
        admission = admit(path, SCHEMA)
        assert (admission.ok, admission.kind) == (False, FailureKind.OUTPUT_UNREADABLE)
        assert str(path) in admission.reason


def test_a_simulators_own_checks_are_asked_last(tmp_path: Path) -> None:
    calls: list[int] = []

    def mass(run: RunFile) -> str | None:
        calls.append(run.samples)
        return "Mass of sample 0 is 1.2 kg; 1 kg is expected."

    def broken(run: RunFile) -> str | None:
        return str(run.columns["field"][9])

    path = write_run(tmp_path, 4)
    refused = admit(path, SCHEMA, checks=[mass, broken])
    assert refused.kind is FailureKind.NOT_PHYSICAL
    assert refused.reason.startswith("Mass of sample 0 is 1.2 kg")
    assert "The check 'broken' could not be computed: IndexError" in refused.reason
    assert admit(path, SCHEMA, checks=[lambda run: None]).ok
    admit(write_run(tmp_path, 4, field=run_columns(4)["field"] * np.nan), SCHEMA, checks=[mass])
    assert calls == [1]


def test_integers_and_single_precision_are_cast_as_declared(tmp_path: Path) -> None:
    schema = Schema(
        (Column("x", "input", dtype="float32"), Column("n", "output", dtype="int32"), Column("y", "output"))
    )
    write_run_file(tmp_path / "run.h5", schema, {"x": [0.1], "n": [7], "y": np.asarray([3])})
    assert admit(tmp_path / "run.h5", schema, expected_inputs={"x": 0.1}).ok
    write_run_file(tmp_path / "run.h5", schema, {"x": [0.1], "n": [2**40], "y": [3.0]})
    assert "'n' has the dtype int64; int32 is expected" in admit(tmp_path / "run.h5", schema).reason


def test_many_findings_are_counted(tmp_path: Path) -> None:
    write_run_file(tmp_path / "run.h5", SCHEMA, {"other": [1.0]})
    assert admit(tmp_path / "run.h5", SCHEMA).reason.endswith("3 further findings.")
