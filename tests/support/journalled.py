"""Events as a driver would journal them, and what a journal's state looks like as plain data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from surrogate.core.outcome import Failure, FailureKind, Success
from workflows import journal_codec, journal_events
from workflows.journal import JournalState, Run
from workflows.journal_records import ADMITTED


def run_id(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:32]


def opened(uid: str = "driver-1", name: str = "buckley-leverett") -> dict[str, Any]:
    return {"event": "campaign.opened", "uid": uid, "name": name}


def planned(*numbers: int, stratum: str = "design") -> dict[str, Any]:
    runs = [
        {"run_id": run_id(n), "inputs": {"M": 1 + n / 7, "Swc": n / 1000, "kind": "oil"}, "stratum": stratum}
        for n in numbers
    ]
    return {"event": "runs.planned", "runs": runs}


def started(number: int, attempt: int = 1) -> dict[str, Any]:
    return {"event": "run.started", "run_id": run_id(number), "attempt": attempt}


def finished(number: int, attempt: int = 1) -> dict[str, Any]:
    name = run_id(number)
    outcome = Success(
        run_id=name,
        path=f"runs/{name[:2]}/{name}/run.h5",
        size=30_000 + number,
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        mtime_ns=1_700_000_000_000_000_000 + number,
        samples=1,
        seconds=0.25 + number / 1024,
        host="node1",
        launch_line=("mpiexec", "-n", "2", "python", "-m", "mpi4py", f"runs/{name[:2]}/{name}/input.json"),
        attempt=attempt,
    )
    return {"event": "run.finished", **outcome.to_json()}


def failed(number: int, kind: FailureKind = FailureKind.UNCONVERGED, attempt: int = 1, **more: Any) -> dict[str, Any]:
    outcome = Failure(
        run_id=run_id(number),
        kind=kind,
        message="The iteration did not converge.",
        log=f"runs/{run_id(number)}/stdout.txt",
        seconds=0.5,
        host="node2",
        launch_line=("mpiexec", "solver"),
        attempt=attempt,
        **more,
    )
    return {"event": "run.failed", **outcome.to_json()}


def packed(*numbers: int, shard: str = "0123456789abcdef") -> dict[str, Any]:
    return {"event": "shards.written", "runs": [run_id(n) for n in numbers], "shard": shard, "sha256": shard * 4}


def plain(state: JournalState) -> list[Any]:
    """Return everything that a state holds, comparable."""
    head, shards, *_ = journal_codec.encode(state)
    assert state.samples == sum(run.samples for run in state.with_status(*ADMITTED))
    assert state.counts == {one: len(list(state.with_status(one))) for one in state.counts}
    runs = [[getattr(run, name) for name in Run.__slots__] for run in state.runs.values()]
    return json.loads(json.dumps([head, shards, runs, state.counts]))  # type: ignore[no-any-return]


def reduced(*events: dict[str, Any]) -> JournalState:
    """Return the state that events add up to; the clock ticks once a second."""
    state = JournalState()
    for number, event in enumerate(events):
        journal_events.check(state, event)
        journal_events.apply(state, event, 1000.0 + number)
    return state


def summary(state: JournalState) -> list[Any]:
    """Return what a sparse state holds, too."""
    head, shards, *_ = journal_codec.encode(state)
    return json.loads(json.dumps([head, shards, state.counts, state.total]))  # type: ignore[no-any-return]
