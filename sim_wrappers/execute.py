"""One run, from its request to its Outcome: every way to fail ends in a value, and nothing half-written is read."""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sim_wrappers.described import Described, errors_of, physics_checks
from sim_wrappers.diagnose import FULL, INSTALL, Diagnosis, diagnose, find_known, storage_trouble
from sim_wrappers.folders import (
    RECEIPT,
    RUN_FILE,
    flushed,
    hold,
    keep_ends,
    keep_logs,
    log_name,
    put_back,
    read_receipt,
    renew,
    run_tag,
    tail,
)
from sim_wrappers.protocol import Program, RunData, RunRequest, Simulator
from sim_wrappers.provenance import provenance
from sim_wrappers.rows import run_columns
from site_configs.resources import ResourceRequest
from surrogate.core.checked import write_checked
from surrogate.core.errors import SimulationError, SurrogateError
from surrogate.core.files import sha256_file
from surrogate.core.outcome import Budget, Failure, FailureKind, Outcome, Success
from surrogate.core.process import RUN_VARIABLE, ProcessResult, run_process, scrubbed_environment
from surrogate.core.schema import Schema
from surrogate.core.world import WORLD_SIZE_VARIABLE
from surrogate.data.admission import admit
from surrogate.data.run_file import write_run_file

Launch = Callable[[Program, ResourceRequest], list[str]]
"""Turns a program and what it asks for into the command line that starts it on this site."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How much of a run is kept, and how patient its execution is.

    Attributes:
        output_bytes: Size to which the kept output is cut.
        tail_characters: Characters of its end that a Failure carries in its details.
        environment: Names or patterns of variables that the launcher needs although they speak of another job, such
            as `SLURM_*` for srun inside an allocation.
        grace_s: Seconds between asking a run's processes to end and ending them.
        wait_s: Seconds beyond the walltime that another execution of the same run is waited for.
    """

    output_bytes: int = 2**20
    tail_characters: int = 2000
    environment: tuple[str, ...] = ()
    grace_s: float = 2.0
    wait_s: float = 60.0


def execute(
    request: RunRequest,
    simulator: Simulator,
    launch: Launch,
    folder: Path,
    *,
    workdir: Path,
    space_schema: Schema,
    keeping: Keeping = Keeping(),
) -> Outcome:
    """Execute a run, or adopt what an earlier execution of it finished.

    Args:
        request: What is to be run.
        simulator: Its adapter.
        launch: Makes the command line.
        folder: Folder of the run; made anew unless it holds a finished execution.
        workdir: Working directory of the campaign; paths in the Outcome are relative to it.
        space_schema: Inputs and outputs of the run file.
        keeping: How much is kept.

    Returns:
        The Outcome. It is also `receipt.json` in the folder, written last.
    """
    execution = _Execution(request, simulator, launch, folder, workdir, space_schema, keeping)
    with hold(folder, request.resources.walltime_s + keeping.wait_s) as held:
        if not held:
            sentence = f"Another process still executes the run {request.run_id}, beyond its walltime."
            return execution.failure(Diagnosis(FailureKind.INTERRUPTED, sentence, None, "", True))
        adopted = read_receipt(request, folder, workdir)
        return execution.outcome() if adopted is None else adopted


class _Stopped(Exception):  # noqa: N818 - carries a diagnosis to the one place that makes a Failure of it
    def __init__(self, diagnosis: Diagnosis, **details: Any) -> None:
        super().__init__(diagnosis.message)
        self.diagnosis, self.details = diagnosis, details


class _Execution:
    """One attempt at a run, and the facts that every Outcome carries."""

    def __init__(  # noqa: PLR0917 - the parameters of execute
        self,
        request: RunRequest,
        simulator: Simulator,
        launch: Launch,
        folder: Path,
        workdir: Path,
        schema: Schema,
        keeping: Keeping,
    ) -> None:
        self.request, self.simulator, self.launch = request, simulator, launch
        self.folder, self.workdir, self.schema, self.keeping = folder, workdir, schema, keeping
        self.log = folder / log_name(request.attempt)
        self.launch_line: tuple[str, ...] = ()
        self.begun = datetime.now(UTC)
        self._started = time.monotonic()
        self._seconds: float | None = None

    def outcome(self) -> Outcome:
        """Go through the steps; stop at the first that does not succeed; write the receipt."""
        try:
            outcome: Outcome = self._steps()
        except _Stopped as stop:
            outcome = self.failure(stop.diagnosis, **stop.details)
        except OSError as error:
            outcome = self.failure(storage_trouble(error))
        try:
            # Lost with the machine's power, it only costs the run once more; its hash tells a torn run file anyway.
            write_checked(self.folder / RECEIPT, outcome.to_json(), durable=False)
        except OSError as error:
            return self.failure(storage_trouble(error))
        return outcome

    def _steps(self) -> Success:
        previous = renew(self.folder)
        if previous is not None and isinstance(self.simulator, Described):
            put_back(previous, self.folder, self.simulator.restart_files(self.request.options))
        try:
            program = self._prepare()
        finally:
            if previous is not None:
                keep_logs(previous, self.folder)
        self._run(program)
        data = self._parse()
        return self._admit(data)

    def failure(self, diagnosis: Diagnosis, **details: Any) -> Failure:
        """Return the Failure of this attempt."""
        end = tail(self.log, self.keeping.tail_characters)
        return Failure(
            run_id=self.request.run_id,
            kind=diagnosis.kind,
            message=diagnosis.message,
            retryable=diagnosis.retryable and diagnosis.kind.budget is not Budget.PHYSICS,
            remedy=diagnosis.remedy,
            remedy_text=diagnosis.remedy_text,
            log=os.path.relpath(self.log, self.workdir) if self.log.exists() else "",
            seconds=time.monotonic() - self._started if self._seconds is None else self._seconds,
            host=platform.node(),
            launch_line=self.launch_line,
            attempt=self.request.attempt,
            details={"remedies": list(self.request.remedies), "tail": end, **details},
        )

    def _prepare(self) -> Program:
        """Let the adapter write its input files and name its program."""
        try:
            self.simulator.prepare(self.request, self.folder)
            return self.simulator.program(self.request, self.folder)
        except SimulationError as error:
            raise _Stopped(Diagnosis(FailureKind(error.kind), str(error), None, "", True)) from error
        except SurrogateError as error:
            raise _Stopped(Diagnosis(FailureKind.EXIT_STATUS, str(error), None, "", False)) from error
        except OSError:
            raise
        except Exception as error:  # anybody's adapter: its fault is this run's failure, not the campaign's end
            raise self._fault("prepare the run", FailureKind.EXIT_STATUS, error, again=False) from error

    def _run(self, program: Program) -> None:
        """Start the program and wait for its end."""
        resources = self.request.resources
        try:
            line = self.launch(program, resources)
        except SurrogateError as error:
            raise _Stopped(Diagnosis(FailureKind.LAUNCHER, str(error), None, "", False)) from error
        self.launch_line = tuple(line)
        try:
            result = run_process(
                line,
                cwd=self.folder,
                env=self._environment(program),
                stdout=self.log,
                timeout_s=resources.walltime_s,
                grace_s=self.keeping.grace_s,
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            sentence = f"The program {line[0]} could not be started: {error.strerror}."
            raise _Stopped(Diagnosis(FailureKind.LAUNCHER, sentence, None, INSTALL, False)) from error
        self._seconds = result.seconds
        keep_ends(self.log, self.keeping.output_bytes)
        if result.timed_out or result.returncode != 0:
            raise self._bad_end(result)

    def _environment(self, program: Program) -> dict[str, str]:
        """Return the program's whole environment: this one's, scrubbed, and what the run adds."""
        environment = scrubbed_environment(os.environ, self.keeping.environment)
        environment["OMP_NUM_THREADS"] = str(self.request.resources.cores_per_rank)
        environment[RUN_VARIABLE] = run_tag(self.folder)
        if program.mpi:
            environment[WORLD_SIZE_VARIABLE] = str(self.request.resources.ranks)
        return {**environment, **program.environment}

    def _bad_end(self, result: ProcessResult) -> _Stopped:
        known_errors = errors_of(self.simulator, self.request.options)
        diagnosis = diagnose(result.returncode, result.timed_out, self._text(), known_errors)
        details: dict[str, Any] = {"returncode": result.returncode}
        if result.survivors:
            details["survivors"] = list(result.survivors)
        return _Stopped(diagnosis, **details)

    def _text(self) -> str:
        """Return what the program said: its output, and the files that it is known to write more into."""
        logs = [self.log]
        if isinstance(self.simulator, Described):
            logs += [self.folder / name for name in self.simulator.log_files(self.request.options)]
        return "\n".join(tail(log, self.keeping.output_bytes) for log in logs)

    def _parse(self) -> RunData:
        """Let the adapter read what the program left."""
        try:
            return self.simulator.parse(self.request, self.folder, self.log)
        except SimulationError as error:
            known = find_known(self._text(), errors_of(self.simulator, self.request.options))
            diagnosis = Diagnosis(FailureKind(error.kind), str(error), None, "", True)
            raise _Stopped(diagnosis if known is None else known) from error
        except OSError as error:
            if error.errno in FULL:
                raise
            raise self._fault("read the output", FailureKind.OUTPUT_UNREADABLE, error) from error
        except Exception as error:  # anybody's adapter, and whatever a damaged file makes it raise
            raise self._fault("read the output", FailureKind.OUTPUT_UNREADABLE, error) from error

    def _fault(self, task: str, kind: FailureKind, error: Exception, *, again: bool = True) -> _Stopped:
        sentence = f"The adapter '{self.simulator.name}' could not {task}: {type(error).__name__}: {error}."
        lines = "".join(traceback.format_exception(error))
        return _Stopped(Diagnosis(kind, sentence, None, "", again), traceback=lines)

    def _admit(self, data: RunData) -> Success:
        """Write the run file and let admission judge it."""
        path, inputs = self.folder / RUN_FILE, self.request.inputs
        try:
            columns = run_columns(inputs, data, self.schema)
            groups = data.groups or self.request.groups
            write_run_file(path, self.schema, columns, groups, self._provenance(data), durable=False)
        except SurrogateError as error:
            raise _Stopped(Diagnosis(FailureKind.OUTPUT_UNREADABLE, str(error), None, "", True)) from error
        expected = {name: value for name, value in inputs.items() if name not in data.inputs}
        admission = admit(path, self.schema, expected_inputs=expected, checks=physics_checks(self.simulator))
        if not admission.ok:
            kind = admission.kind or FailureKind.OUTPUT_UNREADABLE
            raise _Stopped(Diagnosis(kind, admission.reason, None, "", True))
        status = flushed(path)
        return Success(
            run_id=self.request.run_id,
            path=os.path.relpath(path, self.workdir),
            size=status.st_size,
            sha256=sha256_file(path),
            mtime_ns=status.st_mtime_ns,
            samples=admission.samples,
            seconds=self._seconds or 0.0,
            host=platform.node(),
            launch_line=self.launch_line,
            attempt=self.request.attempt,
        )

    def _provenance(self, data: RunData) -> dict[str, Any]:
        version = self.simulator.version(self.request.options)
        return provenance(
            self.request, version, self.launch_line, began=self.begun, seconds=self._seconds, notes=data.notes
        )
