"""The Parsl apps: everything that workers execute is here, and nothing else talks to Parsl's decorators.

Arguments and results are JSON text, so that a task means the same on every worker and can be read in a log.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim_wrappers.protocol import Program, RunRequest
from site_configs import allocation
from site_configs.allocation import Allocation
from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from surrogate.core.identity import digest
from surrogate.core.process import RUN_VARIABLE, find_tagged, kill_tagged, run_process, scrubbed_environment
from surrogate.core.proctable import process_table
from surrogate.core.schema import Schema

if TYPE_CHECKING:
    from parsl.dataflow.dflow import DataFlowKernel

_GRACE_S = 0.5
_LOOK_S = 0.5
_LAST_S, _LAST_LOOK_S = 0.25, 0.02
_REFUSED_BY = "refused_by_block"


@dataclass(frozen=True, slots=True)
class RunContext:
    """What all runs of an ensemble have in common.

    Attributes:
        workdir: Working directory of the campaign.
        launcher: How MPI programs are started.
        schema: Inputs and outputs of a run file.
    """

    workdir: str
    launcher: Launcher
    schema: Schema

    def to_text(self) -> str:
        """Return the context as JSON text."""
        record = {"workdir": self.workdir, "launcher": self.launcher.to_json(), "schema": self.schema.to_json()}
        return json.dumps(record, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Command:
    """One command that is started as an MPI job, with a log.

    Attributes:
        argv: Program and arguments.
        resources: The ranks it gets.
        cwd: Folder it runs in.
        log: File that receives its output.
        launcher: How MPI programs are started.
        mpi: Whether it speaks MPI.
        environment: Variables to set for it.
        warn: Whether it receives SIGUSR1 when the job around it is about to end.
    """

    argv: tuple[str, ...]
    resources: ResourceRequest
    cwd: str
    log: str
    launcher: Launcher
    mpi: bool = True
    environment: tuple[tuple[str, str], ...] = ()
    warn: bool = False

    def to_text(self) -> str:
        """Return the command as JSON text."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.

    Attributes:
        returncode: Exit status; negative for the signal that ended it.
        timed_out: Whether it was ended because its walltime was over.
        seconds: Wall-clock seconds.
        launch_line: What was started.
        host: Where.
    """

    returncode: int
    timed_out: bool
    seconds: float
    launch_line: tuple[str, ...]
    host: str

    @classmethod
    def from_text(cls, text: str) -> CommandResult:
        """Rebuild a result from the text that `run_command` returns."""
        record = json.loads(text)
        return cls(**{**record, "launch_line": tuple(record["launch_line"])})


def request_to_text(request: RunRequest) -> str:
    """Return a run request as JSON text."""
    record = {entry.name: getattr(request, entry.name) for entry in fields(request)}
    return json.dumps({**record, "resources": asdict(request.resources)})


def request_from_text(text: str) -> RunRequest:
    """Rebuild a run request from `request_to_text`."""
    record = json.loads(text)
    resources = ResourceRequest(**record.pop("resources"))
    tuples = {name: tuple(record[name]) for name in ("remedies", "groups")}
    return RunRequest(**{**record, **tuples, "resources": resources})


def execute_run(context: str, request: str, needs_s: float = 0.0) -> str:
    """Execute one run on a worker and return its Outcome.

    Args:
        context: A `RunContext` as text.
        request: A `RunRequest` as text.
        needs_s: Seconds that it is expected to take; 0 for not known.

    Returns:
        JSON text of the Outcome, or a refusal (see `refusing_block`) when the job around the worker ends too soon.
    """
    from sim_wrappers import catalog
    from sim_wrappers.execute import Keeping, execute
    from sim_wrappers.folders import log_name
    from workflows.adoption import run_folder

    common = _context(context)
    run = request_from_text(request)
    workdir = Path(common.workdir)
    log = run_folder(workdir, run.run_id) / log_name(run.attempt)
    # Once the program has ended, its receipt is written in an instant: the work would only have to be done again.
    _guard(run.run_id, over=lambda: log.exists() and not find_tagged(RUN_VARIABLE, run.run_id))
    around = allocation.current()
    if around is not None and around.refuses(needs_s):
        return json.dumps({_REFUSED_BY: around.block})
    with _placed(around, common.launcher, run.resources) as (launch, kept):
        if around is not None and around.slots and around.refuses(needs_s):
            return json.dumps({_REFUSED_BY: around.block})
        outcome = execute(
            run,
            catalog.get(run.simulator),
            launch,
            run_folder(workdir, run.run_id),
            workdir=workdir,
            space_schema=common.schema,
            keeping=Keeping(environment=kept),
        )
    return json.dumps(outcome.to_json())


def refusing_block(text: str) -> str | None:
    """Return the block that ends too soon for a run, when a worker answered so instead of executing it, else None.

    Args:
        text: What `execute_run` returned.
    """
    record = json.loads(text)
    return str(record[_REFUSED_BY]) if _REFUSED_BY in record else None


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
    record = json.loads(command)
    tag = digest("command", record["cwd"], record["log"])[:32]
    _guard(tag)
    kill_tagged(RUN_VARIABLE, tag)  # what a dead worker left of the same command
    resources = ResourceRequest(**record["resources"])
    program = Program(tuple(record["argv"]), record["mpi"])
    log = Path(record["log"])
    log.parent.mkdir(parents=True, exist_ok=True)
    around = allocation.current()
    with (
        _placed(around, Launcher.from_json(record["launcher"]), resources) as (launch, kept),
        _warning(around if record["warn"] else None, tag),
    ):
        line = launch(program, resources)
        ended = run_process(
            line,
            cwd=Path(record["cwd"]),
            env={**scrubbed_environment(os.environ, kept), **dict(record["environment"]), RUN_VARIABLE: tag},
            stdout=log,
            timeout_s=resources.walltime_s,
        )
    result = CommandResult(ended.returncode, ended.timed_out, ended.seconds, tuple(line), socket.gethostname())
    return json.dumps(asdict(result))


@contextlib.contextmanager
def _warning(around: Allocation | None, tag: str) -> Iterator[None]:
    """Pass the warning of the job around a command on to its launcher, which hands it to all ranks.

    Args:
        around: The job, or None where there is none or nothing is to be passed on.
        tag: Value of `RUN_VARIABLE` in the command's environment.
    """
    if around is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            if around.warned:
                table = process_table()
                for pid in find_tagged(RUN_VARIABLE, tag):
                    if pid in table and table[pid].parent == os.getpid():
                        os.kill(pid, signal.SIGUSR1)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


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


@lru_cache(maxsize=4)
def _context(text: str) -> RunContext:
    record = json.loads(text)
    return RunContext(record["workdir"], Launcher.from_json(record["launcher"]), Schema.from_json(record["schema"]))


def _launch(launcher: Launcher) -> Callable[[Program, ResourceRequest], list[str]]:
    """Return the function by which `execute` turns a program into a command."""
    return lambda program, resources: launcher.line(program.argv, resources, mpi=program.mpi)


def _guard(tag: str, over: Callable[[], bool] = lambda: False) -> None:
    """Let SIGTERM end this worker with the program that it is about to run.

    Parsl gives a worker one second between SIGTERM and SIGKILL; the program must be gone by then.

    Args:
        tag: Value of `RUN_VARIABLE` in the program's environment.
        over: Whether the program has ended, so that the worker had better finish; SIGKILL ends it soon enough. One that
            is just ending gets the moment that it takes to leave MPI.
    """

    def leave(number: int, frame: object) -> None:
        del frame
        deadline = time.monotonic() + _LAST_S
        while not over():
            if time.monotonic() > deadline:
                break
            time.sleep(_LAST_LOOK_S)
        else:
            return
        # A second one must not interrupt the first one's work.
        signal.signal(number, signal.SIG_IGN)
        kill_tagged(RUN_VARIABLE, tag, grace_s=_GRACE_S)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
