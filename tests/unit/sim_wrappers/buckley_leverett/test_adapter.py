"""The adapter of Buckley–Leverett: options, input file, what it reads and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.buckley_leverett import outputs
from sim_wrappers.buckley_leverett.domain import Alone
from sim_wrappers.buckley_leverett.solver import saturation, solve
from sim_wrappers.diagnose import diagnose
from surrogate.core.errors import ConfigError, SimulationError
from tests.support.executions import request_for

CODE = catalog.get("buckley_leverett")
POINT = {"M": 2.0, "Swc": 0.2, "Sor": 0.1}


def test_the_space_and_the_field_are_those_of_the_problem() -> None:
    space, schema = CODE.default_space({}), CODE.output_schema({})
    assert space is not None
    assert [(column.name, column.low, column.high) for column in space.columns] == [
        ("M", 0.5, 20.0), ("Swc", 0.0, 0.3), ("Sor", 0.0, 0.3),
    ]  # fmt: skip
    assert space.from_unit(np.array([[0.5, 0.5, 0.5]]))[0]["M"] == pytest.approx(np.sqrt(10.0))
    (column,) = schema.outputs
    assert (column.name, column.shape, column.dims) == ("S", (10, 256), ("pvi", "x"))
    assert (column.low, column.high, column.unit) == (0.0, 1.0, "1")
    pvi, x = schema.coordinates
    np.testing.assert_allclose(pvi.array, np.arange(1, 11) / 10)
    np.testing.assert_array_equal(x.array, (np.arange(256) + 0.5) / 256)


def test_defaults_are_complete_and_all_decide_the_result() -> None:
    complete = CODE.check_options({})
    assert complete == {"cells": 256, "scheme": "muscl", "limiter": "monotonized_central", "cfl": 0.5}
    assert CODE.check_options(complete) == complete
    assert CODE.identity_options(complete) == complete
    assert CODE.check_options({"scheme": "upwind"})["limiter"] == "none"
    ids = {
        request_for(CODE, POINT, options).run_id
        for options in ({}, {"cells": 512}, {"scheme": "upwind"}, {"limiter": "minmod"}, {"cfl": 0.4})
    }
    assert len(ids) == 5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cell": 256}, "Did you mean 'cells'"),
        ({"cells": 300}, "multiple of 256.*Take 256"),
        ({"cells": 128}, "at least 256"),
        ({"cells": 256.0}, "whole number"),
        ({"scheme": "muscle"}, "Did you mean 'muscl'"),
        ({"scheme": "upwind", "limiter": "minmod"}, "'upwind' has none"),
        ({"limiter": "van_lear"}, "Did you mean 'van_leer'"),
        ({"cfl": 0.6}, "at most 0.5"),
        ({"cfl": 0.7, "limiter": "minmod"}, "at most 0.6667"),
        ({"cfl": 0.0}, "above 0"),
    ],
)
def test_wrong_options_are_sentences(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CODE.check_options(options)


def test_the_input_file_holds_the_case_and_the_remedies_halve_the_step(tmp_path: Path) -> None:
    CODE.prepare(request_for(CODE, POINT, remedies=("narrower_steps",)), tmp_path)
    case = json.loads((tmp_path / "input.json").read_text())
    assert (case["M"], case["Swc"], case["Sor"]) == (2.0, 0.2, 0.1)
    assert case["options"]["cfl"] == 0.25
    assert len(case["pvi"]) == 10


@pytest.mark.parametrize("wrong", [{"M": 0.0}, {"Swc": -0.1}, {"Sor": -0.1}, {"Swc": 0.6, "Sor": 0.4}])
def test_what_is_not_physical_is_not_started(tmp_path: Path, wrong: dict[str, float]) -> None:
    with pytest.raises(SimulationError, match="Narrow the space") as caught:
        CODE.prepare(request_for(CODE, {**POINT, **wrong}), tmp_path)
    assert caught.value.kind == "not_physical"


def write_output(folder: Path, field: np.ndarray, **attributes: Any) -> None:
    facts = {"code_version": "1", "ranks": 1, "steps": 9, "mass_error": 0.0, "solver_seconds": 0.1, "complete": True}
    with h5py.File(folder / outputs.OUTPUT_FILE, "w") as file:
        file["saturation"] = field
        file["produced"] = np.zeros(10)
        for name, value in {**facts, **attributes}.items():
            if value is not None:
                file.attrs[name] = value


FIELD = np.full((10, 256), 0.5)


def read(folder: Path):
    return CODE.parse(request_for(CODE, POINT), folder, folder / "stdout.txt")


def test_a_good_output_is_read_with_its_facts(tmp_path: Path) -> None:
    write_output(tmp_path, FIELD)
    data = read(tmp_path)
    assert data.outputs["S"].shape == (1, 10, 256)
    assert data.notes["steps"] == 9
    assert json.dumps(data.notes)


@pytest.mark.parametrize(
    ("field", "attributes", "kind"),
    [
        (FIELD, {"complete": False}, "no_end_marker"),
        (FIELD, {"complete": None}, "no_end_marker"),
        (FIELD, {"steps": None}, "output_unreadable"),
        (FIELD - 0.31, {}, "out_of_bounds"),
        (FIELD + 0.41, {}, "out_of_bounds"),
        (FIELD, {"mass_error": 1e-9}, "not_physical"),
        (FIELD, {"mass_error": float("nan")}, "not_physical"),
    ],
)
def test_a_bad_output_is_refused_by_its_kind(tmp_path: Path, field: np.ndarray, attributes: dict, kind: str) -> None:
    write_output(tmp_path, field, **attributes)
    with pytest.raises(SimulationError) as caught:
        read(tmp_path)
    assert caught.value.kind == kind


def test_a_missing_and_a_torn_output_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(SimulationError) as caught:
        read(tmp_path)
    assert caught.value.kind == "output_missing"
    write_output(tmp_path, FIELD)
    path = tmp_path / outputs.OUTPUT_FILE
    path.write_bytes(path.read_bytes()[:-4000])
    with pytest.raises(SimulationError) as caught:
        read(tmp_path)
    assert caught.value.kind == "output_unreadable"


def test_more_ranks_than_the_cells_can_occupy_is_a_known_error() -> None:
    class Crowd(Alone):
        size = 100

    with pytest.raises(ValueError, match="fewer ranks") as caught:
        solve(Crowd(), 1.0, [0.1], cells=256, options=CODE.check_options({}))
    found = diagnose(1, False, f"Traceback …\nValueError: {caught.value}\n", CODE.known_errors)
    assert not found.retryable
    assert "more ranks than the cells" in found.message


def test_rounding_of_the_map_is_taken_back_and_more_is_an_error() -> None:
    whole = np.array([[0.0, 0.3, 1.0]])
    for connate, residual in np.random.default_rng(1).random((200, 2)) * 0.3:
        field = saturation(whole, connate, residual)
        assert field.min() >= connate
        assert field.max() <= 1.0 - residual
    for wrong in (1.0 + 1e-9, -1e-9, float("nan")):
        with pytest.raises(ArithmeticError, match="UNSTABLE"):
            saturation(np.array([[0.5, wrong]]), 0.1, 0.1)
