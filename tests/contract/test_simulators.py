"""What every simulator of the catalogue must keep, whatever code it wraps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.described import errors_of, space_kind
from sim_wrappers.protocol import KnownError, Program, Simulator
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError
from surrogate.core.identity import canonical_json
from surrogate.core.outcome import Success
from surrogate.core.schema import Schema
from surrogate.core.structure import Structure
from surrogate.data.run_file import read_run_file
from surrogate.design.space import InputSpace
from surrogate.design.structures import StructureSet
from tests.support import cactus, external
from tests.support.executions import request_for, run, schema_for

NAMES = sorted(catalog.simulators())
# Codes that cannot be installed freely: their input files and parsers are tested, and nothing is run.
NEVER_RUN = ("cp2k", "orca")
# Those that a campaign describes need to be told what they are.
OPTIONS = {"external": external.decay(), "einstein_toolkit": cactus.standin()}
SPACES = {"external": external.SPACE, "einstein_toolkit": cactus.SPACE}
WATER = Structure.of([8, 1, 1], [[0.0, 0.0, 0.119], [0.0, 0.763, -0.477], [0.0, -0.763, -0.477]], name="H2O")


def options_of(simulator: Simulator) -> dict:
    return simulator.check_options(OPTIONS.get(simulator.name, {}))


def space_of(simulator: Simulator) -> InputSpace:
    space = SPACES.get(simulator.name) or simulator.default_space(options_of(simulator))
    if space_kind(simulator) == "structures":
        space = StructureSet((WATER,))
    assert space is not None
    return space


@pytest.fixture(params=NAMES)
def simulator(request: pytest.FixtureRequest) -> Simulator:
    code = catalog.get(request.param)
    reason = code.found()
    if reason is not None and request.param not in NEVER_RUN:
        pytest.skip(reason)
    return code


@pytest.fixture(params=[name for name in NAMES if name not in NEVER_RUN])
def runnable(request: pytest.FixtureRequest) -> Simulator:
    code = catalog.get(request.param)
    reason = code.found()
    if reason is not None:
        pytest.skip(reason)
    return code


def middle(simulator: Simulator) -> dict:
    space = space_of(simulator)
    if isinstance(space, StructureSet):
        return space.molecules[0].point()
    return space.from_unit(np.full((1, space.dimensions), 0.5))[0]


def test_it_is_a_simulator(simulator: Simulator) -> None:
    assert isinstance(simulator, Simulator)
    assert simulator.name.isidentifier()
    assert isinstance(simulator.version(options_of(simulator)), str)


def test_options_are_completed_once_and_for_all_and_unknown_ones_refused(simulator: Simulator) -> None:
    complete = options_of(simulator)
    assert simulator.check_options(complete) == complete
    assert json.loads(json.dumps(complete)) == complete
    with pytest.raises(ConfigError, match="no_such_option"):
        simulator.check_options({**OPTIONS.get(simulator.name, {}), "no_such_option": 1})


def test_identity_options_are_some_of_the_options_and_can_be_hashed(simulator: Simulator) -> None:
    complete = options_of(simulator)
    deciding = simulator.identity_options(complete)
    assert set(deciding) <= set(complete)
    assert canonical_json(deciding)


def test_space_and_outputs_make_one_schema_with_bounds(simulator: Simulator) -> None:
    schema = schema_for(simulator, options_of(simulator), space_of(simulator))
    assert schema.inputs
    assert schema.outputs
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    for column in schema.outputs:
        assert column.description, f"{column.name} says nothing of itself"


def test_known_errors_are_sentences_with_patterns_that_compile(simulator: Simulator) -> None:
    for known in errors_of(simulator, options_of(simulator)):
        assert isinstance(known, KnownError)
        assert known.message.endswith(".")
        assert known.retryable or known.remedy_text


def test_prepare_writes_into_its_folder_only_and_is_repeatable(simulator: Simulator, tmp_path: Path) -> None:
    request = request_for(simulator, middle(simulator), options_of(simulator))
    contents = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        simulator.prepare(request, folder)
        program = simulator.program(request, folder)
        assert isinstance(program, Program)
        assert all(isinstance(argument, str) and argument for argument in program.argv)
        contents.append({path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert contents[0] == contents[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


@pytest.mark.mpi
def test_it_runs_at_the_middle_of_its_space_twice_alike(runnable: Simulator, tmp_path: Path) -> None:
    resources = ResourceRequest(walltime_s=120)
    request = request_for(runnable, middle(runnable), options_of(runnable), resources=resources)
    names = [column.name for column in schema_for(runnable, request.options, space_of(runnable)).columns]
    columns = []
    for name in ("first", "second"):
        outcome = run(tmp_path / name, request, space=space_of(runnable))
        assert isinstance(outcome, Success), outcome
        columns.append(read_run_file(tmp_path / name / outcome.path).columns)
    assert set(columns[0]) == set(names)
    for name, values in columns[0].items():
        first, second = (getattr(found, "data", found) for found in (values, columns[1][name]))
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second), err_msg=name)
