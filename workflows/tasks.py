"""What is handed to workers and what they answer, as JSON text: it means the same everywhere, and a log can show it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import lru_cache

from sim_wrappers.protocol import RunRequest
from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from surrogate.core.schema import Schema

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

    @staticmethod
    @lru_cache(maxsize=4)
    def from_text(text: str) -> RunContext:
        """Rebuild a context from `to_text`; all runs of an ensemble bring the same one."""
        record = json.loads(text)
        return RunContext(record["workdir"], Launcher.from_json(record["launcher"]), Schema.from_json(record["schema"]))


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

    @classmethod
    def from_text(cls, text: str) -> Command:
        """Rebuild a command from `to_text`."""
        record = json.loads(text)
        return cls(
            **{
                **record,
                "argv": tuple(record["argv"]),
                "resources": ResourceRequest(**record["resources"]),
                "launcher": Launcher.from_json(record["launcher"]),
                "environment": tuple((name, value) for name, value in record["environment"]),
            }
        )


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

    def to_text(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> CommandResult:
        """Rebuild a result from `to_text`."""
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


def refusal(block: str) -> str:
    """Return the answer of a worker whose job ends too soon for a run, as JSON text.

    Args:
        block: The block of nodes that the worker belongs to.
    """
    return json.dumps({_REFUSED_BY: block})


def refusing_block(text: str) -> str | None:
    """Return the block that ends too soon for a run, when a worker answered so instead of executing it, else None.

    Args:
        text: What the worker answered.
    """
    record = json.loads(text)
    return str(record[_REFUSED_BY]) if _REFUSED_BY in record else None
