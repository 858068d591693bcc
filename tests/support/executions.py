"""Single executions of a simulator, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers import catalog
from sim_wrappers.execute import Keeping, execute
from sim_wrappers.protocol import Program, RunRequest, Simulator
from sim_wrappers.scripted.adapter import Scripted
from site_configs.resources import ResourceRequest
from surrogate.core.identity import run_id
from surrogate.core.outcome import Failure, Outcome, Success
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace
from tests.support.ranks import MPIEXEC

QUICK = Keeping(grace_s=0.2, wait_s=5.0)
SHORT = ResourceRequest(walltime_s=1)


def launch(program: Program, resources: ResourceRequest) -> list[str]:
    """Return the command line on this machine."""
    return [MPIEXEC, "-n", str(resources.ranks), *program.argv] if program.mpi else list(program.argv)


def request_for(
    simulator: Simulator, inputs: Mapping[str, Any], options: Mapping[str, Any] | None = None, **rest: Any
) -> RunRequest:
    """Return a request with complete options and the right identity."""
    complete = simulator.check_options(options or {})
    identity = run_id(simulator.name, simulator.version(complete), simulator.identity_options(complete), dict(inputs))
    return RunRequest(identity, simulator.name, complete, dict(inputs), **rest)


def schema_for(
    simulator: Simulator, options: Mapping[str, Any] | None = None, space: InputSpace | None = None
) -> Schema:
    """Return inputs of a space, the simulator's own unless one is given, and its outputs."""
    complete = simulator.check_options(options or {})
    space, outputs = space or simulator.default_space(complete), simulator.output_schema(complete)
    assert space is not None
    return Schema(space.columns + outputs.columns, outputs.coordinates)


def folder_of(workdir: Path, request: RunRequest) -> Path:
    """Return the folder of a run."""
    return workdir / "runs" / request.run_id[:2] / request.run_id


def run(workdir: Path, request: RunRequest, simulator: Simulator | None = None, **rest: Any) -> Outcome:
    """Execute a request on this machine."""
    code = simulator or catalog.get(request.simulator)
    schema = rest.pop("space_schema", None) or schema_for(code, request.options, rest.pop("space", None))
    rest = {"keeping": QUICK, **rest}
    starter = rest.pop("launch", launch)
    return execute(request, code, starter, folder_of(workdir, request), workdir=workdir, space_schema=schema, **rest)


def scripted(
    options: Mapping[str, Any] | None = None, inputs: Mapping[str, Any] | None = None, **rest: Any
) -> RunRequest:
    """Return a request of the scripted simulator."""
    return request_for(catalog.get("scripted"), inputs or {"a": 0.5, "b": 1.0}, options, **rest)


def lines(ledger: Path) -> list[list[str]]:
    """Return the ledger's lines, each as [run id, attempt, word]."""
    return [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []


def failed(outcome: Outcome) -> Failure:
    """Return an outcome that must be a failure."""
    assert isinstance(outcome, Failure), outcome
    return outcome


def succeeded(outcome: Outcome) -> Success:
    """Return an outcome that must be a success."""
    assert isinstance(outcome, Success), outcome
    return outcome


def stubborn_child(log: Path) -> int:
    """Return the process that a stubborn program has started, as it says."""
    return int(log.read_text().split("stubborn child ")[1].split()[0])


class Telling(Scripted):
    """Runs a program that prints its environment and exits with a failure."""

    def program(self, request: RunRequest, folder: Path) -> Program:
        return Program(("env",), mpi=False, environment={"OWN": "set", "OMP_NUM_THREADS": "7"})
