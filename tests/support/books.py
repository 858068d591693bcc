"""A journal in memory, and folders of runs as workers leave them, for tests of what takes runs in."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.folders import RECEIPT, RUN_FILE
from sim_wrappers.protocol import RunRequest
from surrogate.core.checked import write_checked
from surrogate.core.files import sha256_file
from surrogate.core.identity import run_id
from surrogate.core.outcome import Failure, FailureKind, Success
from surrogate.core.schema import Column, Schema
from surrogate.data.run_file import write_run_file
from workflows import journal_events
from workflows.adoption import run_folder
from workflows.journal_state import JournalState

SCHEMA = Schema((Column("x", "input"), Column("y", "output", shape=(3,))), ())


class MemoryJournal:
    """Checks and reduces events as the real journal does, and keeps them."""

    def __init__(self) -> None:
        self.state = JournalState()
        self.events: list[dict[str, Any]] = []
        self.committed = 0

    def append(self, event: Mapping[str, Any]) -> int:
        """Take an event in."""
        plain = json.loads(json.dumps(event))
        journal_events.check(self.state, plain)
        journal_events.apply(self.state, plain, time.time())
        self.events.append(plain)
        return self.state.seq

    def commit(self) -> int:
        """Note that a commit was asked for."""
        self.committed = len(self.events)
        return self.state.seq

    def plan(self, requests: list[RunRequest], stratum: str = "design") -> None:
        """Plan runs."""
        runs = [{"run_id": one.run_id, "inputs": one.inputs, "stratum": stratum} for one in requests]
        self.append({"event": "runs.planned", "runs": runs})

    def kinds(self, run: str | None = None) -> list[str]:
        """Return the kinds of the events, of one run or of all."""
        return [event["event"] for event in self.events if run is None or event.get("run_id") == run]


def request(number: int, **more: Any) -> RunRequest:
    """Return a request for run `number`."""
    inputs = {"x": float(number)}
    return RunRequest(run_id("toy", "1", {}, inputs), "toy", {}, inputs, **more)


def leave_success(workdir: Path, one: RunRequest, attempt: int = 1) -> Success:
    """Leave a finished run as a worker does."""
    folder = run_folder(workdir, one.run_id)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUN_FILE
    x = one.inputs["x"]
    write_run_file(path, SCHEMA, {"x": np.array([x]), "y": np.full((1, 3), x)}, (), {}, durable=False)
    status = path.stat()
    success = Success(
        one.run_id, str(path.relative_to(workdir)), status.st_size, sha256_file(path), status.st_mtime_ns, 1, 0.5,
        "here", ("program",), attempt,
    )  # fmt: skip
    write_checked(folder / RECEIPT, success.to_json(), durable=False)
    return success


def leave_failure(workdir: Path, one: RunRequest, kind: FailureKind, attempt: int = 1, **more: Any) -> Failure:
    """Leave a failed run as a worker does."""
    failure = Failure(one.run_id, kind, f"It ended with {kind}.", seconds=0.25, host="here", attempt=attempt, **more)
    folder = run_folder(workdir, one.run_id)
    folder.mkdir(parents=True, exist_ok=True)
    write_checked(folder / RECEIPT, failure.to_json(), durable=False)
    return failure
