"""The Parsl apps: everything that workers execute is here, and nothing else talks to Parsl's decorators."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim_wrappers.protocol import Program
from site_configs import allocation
from site_configs.allocation import Allocation
from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from surrogate.core.identity import digest
from surrogate.core.process import RUN_VARIABLE, find_tagged, kill_tagged, run_process, scrubbed_environment
from workflows.tasks import Command, CommandResult, RunContext, refusal, request_from_text
from workflows.worker_signals import guard, warning

if TYPE_CHECKING:
    from parsl.dataflow.dflow import DataFlowKernel


def execute_run(context: str, request: str, needs_s: float = 0.0) -> str:
    """Execute one run on a worker and return its Outcome.

    Args:
        context: A `RunContext` as text.
        request: A `RunRequest` as text.
        needs_s: Seconds that it is expected to take; 0 for not known.

    Returns:
        JSON text of the Outcome, or a refusal (see `workflows.tasks`) when the job around the worker ends too soon.
    """
    from sim_wrappers import catalog
    from sim_wrappers.execute import Keeping, execute
    from sim_wrappers.folders import log_name, run_tag
    from workflows.adoption import run_folder

    common = RunContext.from_text(context)
    run = request_from_text(request)
    workdir = Path(common.workdir)
    folder = run_folder(workdir, run.run_id)
    log, tag = folder / log_name(run.attempt), run_tag(folder)
    # Once the program has ended, its receipt is written in an instant: the work would only have to be done again.
    guard(tag, over=lambda: log.exists() and not find_tagged(RUN_VARIABLE, tag))
    around = allocation.current()
    if around is not None and around.refuses(needs_s):
        return refusal(around.block)
    with _placed(around, common.launcher, run.resources) as (launch, kept):
        if around is not None and around.slots and around.refuses(needs_s):
            return refusal(around.block)
        outcome = execute(
            run,
            catalog.get(run.simulator),
            launch,
            folder,
            workdir=workdir,
            space_schema=common.schema,
            keeping=Keeping(environment=kept),
        )
    return json.dumps(outcome.to_json())


@contextlib.contextmanager
def _placed(
    around: Allocation | None, launcher: Launcher, resources: ResourceRequest
) -> Iterator[tuple[Callable[[Program, ResourceRequest], list[str]], tuple[str, ...]]]:
    """Give a run its share of the nodes; yield how it is launched there, and which variables the launcher needs."""
    if around is None:
        yield _launch(launcher), ()
        return
    with around.placed(resources) as place:
        line, kept = around.launch(launcher, place)
        yield lambda program, size: line(program.argv, size, program.mpi), kept


def run_command(command: str) -> str:
    """Execute one command as an MPI job on a worker.

    Args:
        command: A `Command` as text.

    Returns:
        JSON text of the `CommandResult`.
    """
    task = Command.from_text(command)
    tag = digest("command", task.cwd, task.log)[:32]
    guard(tag)
    kill_tagged(RUN_VARIABLE, tag)  # what a dead worker left of the same command
    log = Path(task.log)
    log.parent.mkdir(parents=True, exist_ok=True)
    around = allocation.current()
    with (
        _placed(around, task.launcher, task.resources) as (launch, kept),
        warning(around if task.warn else None, tag),
    ):
        line = launch(Program(task.argv, task.mpi), task.resources)
        ended = run_process(
            line,
            cwd=Path(task.cwd),
            env={**scrubbed_environment(os.environ, kept), **dict(task.environment), RUN_VARIABLE: tag},
            stdout=log,
            timeout_s=task.resources.walltime_s,
        )
    return CommandResult(ended.returncode, ended.timed_out, ended.seconds, tuple(line), socket.gethostname()).to_text()


def predict_part(task: str) -> str:
    """Predict one part of a file of points on a worker.

    Args:
        task: A `workflows.prediction_part.PartTask` as text.

    Returns:
        JSON text that says how it ended.
    """
    from workflows.prediction_part import predict_part as work

    return work(task)


@dataclass(frozen=True, slots=True)
class Apps:
    """The apps of one running Parsl.

    Attributes:
        execute_run: (context, request, seconds that it needs) → future of the Outcome's text.
        run_command: (command) → future of the CommandResult's text.
        predict_part: (task) → future of the text that says how a part of a prediction ended.
    """

    execute_run: Callable[[str, str, float], Future[str]]
    run_command: Callable[[str], Future[str]]
    predict_part: Callable[[str], Future[str]]


def bind(kernel: DataFlowKernel, executor: str) -> Apps:
    """Return the apps, bound to a running Parsl.

    Args:
        kernel: Parsl's data-flow kernel.
        executor: Label of the executor they run on.
    """
    from parsl import python_app

    def app(function: Callable[..., str]) -> Any:
        return python_app(function, data_flow_kernel=kernel, executors=[executor], cache=False)

    return Apps(app(execute_run), app(run_command), app(predict_part))


def _launch(launcher: Launcher) -> Callable[[Program, ResourceRequest], list[str]]:
    """Return the function by which `execute` turns a program into a command."""
    return lambda program, resources: launcher.line(program.argv, resources, mpi=program.mpi)
