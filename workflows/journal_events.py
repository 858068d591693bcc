"""How each event of the journal changes its state.

Events are mappings with the key `event`. These are known; any other is kept as it is and changes nothing:

    campaign.opened   name, uid (value of SURROGATE_CAMPAIGN that this driver gives its processes)
    runs.planned      runs: [{run_id, inputs, stratum}]
    run.started       run_id, attempt
    run.finished      Success.to_json()
    run.failed        Failure.to_json()
    run.requeued      run_id, reason, shard (back to planned: its folder or that shard was lost)
    runs.retried      runs: [run_id] (failed ones that begin anew: their budgets are whole again, attempts count on)
    run.quarantined   run_id, reason (admitted earlier, and found wrong since)
    shards.written    runs: [run_id], shard, sha256
    stage.started, stage.finished, stage.failed      stage, key, record
    training.lost     kind, message (an attempt at the training whose job or node was taken from it)
    request.taken     id, request (what another command asked for)
    request.done      id
    request.refused   id, reason (its file was damaged)
    journal.repaired  note
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, NoReturn

from surrogate.core.outcome import Budget, FailureKind
from workflows.journal_records import BUDGETS, FailureNote, LastFailure, Run, RunFile, RunStatus, Shard, Stage
from workflows.journal_state import JournalState

LAUNCH_LINES = 64
_NAMING_RUNS = ("shards.written", "runs.retried")
Event = Mapping[str, Any]


def check(state: JournalState, event: Event) -> None:
    """Refuse an event that cannot be applied, before anything is changed.

    Raises:
        ValueError: If a key is missing, of a wrong type, or names a run that was never planned.
    """
    kind = event.get("event")
    if not isinstance(kind, str):
        _refuse(f"A journal event needs its kind under 'event', and {kind!r} was found.")
    if kind not in _REDUCERS:
        return
    for key, types in _KEYS[kind].items():
        value = event.get(key)
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            _refuse(f"A journal event '{kind}' needs '{key}', and {value!r} was found.")
    if kind == "runs.planned":
        for entry in event["runs"]:
            if not isinstance(entry.get("run_id"), str) or not isinstance(entry.get("inputs"), Mapping):
                _refuse(f"A planned run needs 'run_id' and 'inputs', and {entry!r} was found.")
    elif kind in ("run.failed", "training.lost"):
        FailureKind(event["kind"])
    named = event["runs"] if kind in _NAMING_RUNS else [event["run_id"]] if kind.startswith("run.") else []
    for run_id in named:
        if run_id not in state.runs:
            _refuse(f"A journal event '{kind}' names the run {run_id}, which was never planned.")


def _refuse(sentence: str) -> NoReturn:
    raise ValueError(sentence)


def apply(state: JournalState, event: Event, at: float) -> None:
    """Reduce one event that `check` let pass.

    Args:
        state: Is changed.
        event: The event, as JSON gives it back.
        at: When it was appended, seconds since 1970.
    """
    state.seq += 1
    state.updated_at = at
    reducer = _REDUCERS.get(event["event"])
    if reducer is None:
        state.unknown.append((at, dict(event)))
    else:
        reducer(state, event, at)


def _opened(state: JournalState, event: Event, at: float) -> None:
    state.campaign = {key: value for key, value in event.items() if key != "event"}
    state.opened_at = at
    if event["uid"] not in state.uids:
        state.uids.append(event["uid"])


def _planned(state: JournalState, event: Event, _: float) -> None:
    for entry in event["runs"]:
        if entry["run_id"] not in state.runs:
            names = state.share(tuple(entry["inputs"]))
            values = tuple(intern(v) if type(v) is str else v for v in entry["inputs"].values())
            state.add(Run(entry["run_id"], names, values, intern(entry.get("stratum", "design"))))


def _started(state: JournalState, event: Event, at: float) -> None:
    run = state.runs[event["run_id"]]
    state.move(run, RunStatus.RUNNING)
    run.attempts = event["attempt"]
    run.file = None
    state.running[run.run_id] = at


def _ended(state: JournalState, run: Run, event: Event, at: float, outcome: str) -> None:
    """Note what successes and failures have in common."""
    run.seconds, run.host, run.attempts = event["seconds"], intern(event["host"]), event["attempt"]
    state.seconds[outcome] += event["seconds"]
    state.ended[outcome] += 1
    state.recent_ends.append(at)
    if event["launch_line"]:
        line = " ".join(event["launch_line"]).replace(f"{run.run_id[:2]}/{run.run_id}", "{run_id}")
        line = line.replace(run.run_id, "{run_id}")
        if line not in state.launch_lines and len(state.launch_lines) >= LAUNCH_LINES:
            line = "other"
        state.launch_lines[line] = state.launch_lines.get(line, 0) + 1


def _finished(state: JournalState, event: Event, at: float) -> None:
    run = state.runs[event["run_id"]]
    if run.status is RunStatus.PACKED:
        return
    _ended(state, run, event, at, "success")
    state.move(run, RunStatus.DONE, event["samples"])
    run.failure = None
    run.file = RunFile(event["path"], event["size"], event["sha256"], event["mtime_ns"])


def _failed(state: JournalState, event: Event, at: float) -> None:
    run = state.runs[event["run_id"]]
    kind = intern(event["kind"])
    state.failures[kind] = state.failures.get(kind, 0) + 1
    remedy = None if event["remedy"] is None else intern(event["remedy"])
    note = FailureNote(
        kind, intern(event["message"]), event["retryable"], remedy, intern(event["remedy_text"]), event["log"],
        dict(event["details"]) or None,
    )  # fmt: skip
    state.recent_failures.append(
        LastFailure(at, run.run_id, event["attempt"], kind, note.message, note.remedy_text, note.log)
    )
    if run.status is RunStatus.PACKED:
        return
    _ended(state, run, event, at, "failure")
    budget = note.budget
    state.move(run, RunStatus.QUARANTINED if budget is Budget.PHYSICS else RunStatus.FAILED)
    counts = list(run.charged)
    counts[BUDGETS.index(budget)] += 1
    run.charged = state.share(tuple(counts))
    run.failure, run.file = note, None
    if note.remedy is not None and note.remedy not in run.remedies:
        run.remedies = state.share((*run.remedies, note.remedy))


def _requeued(state: JournalState, event: Event, _: float) -> None:
    run = state.runs[event["run_id"]]
    state.move(run, RunStatus.PLANNED)
    run.file, run.shard = None, ""
    shard = state.shards.pop(event.get("shard", ""), None)
    if shard is not None and shard.runs > 1:
        state.shards[event["shard"]] = shard._replace(runs=shard.runs - 1)


def _retried(state: JournalState, event: Event, _: float) -> None:
    for run_id in event["runs"]:
        run = state.runs[run_id]
        if run.status is RunStatus.FAILED:
            state.move(run, RunStatus.PLANNED)
            run.charged, run.remedies, run.failure = state.share((0, 0, 0)), (), None


def _quarantined(state: JournalState, event: Event, _: float) -> None:
    run = state.runs[event["run_id"]]
    state.move(run, RunStatus.QUARANTINED)
    run.file = None
    run.failure = FailureNote(
        FailureKind.NOT_PHYSICAL.value, event["reason"], retryable=False, remedy=None, remedy_text="", log="",
        details=None,
    )  # fmt: skip


def _packed(state: JournalState, event: Event, _: float) -> None:
    shard = intern(event["shard"])
    state.shards[shard] = Shard(event["sha256"], len(event["runs"]))
    for run_id in event["runs"]:
        run = state.runs[run_id]
        state.move(run, RunStatus.PACKED)
        run.file, run.failure, run.shard = None, None, shard


def _stage(state: JournalState, event: Event, at: float) -> None:
    status = event["event"].partition(".")[2]
    before = state.stages.get(event["stage"])
    # Only what was begun has taken time: a stage that is finished again without it, later, took none meanwhile.
    begun = before is not None and before.key == event["key"] and before.status == "started"
    started = before.started_at if before is not None and begun and status != "started" else at
    ended = 0.0 if status == "started" else at
    state.stages[event["stage"]] = Stage(event["key"], status, started, ended, dict(event.get("record") or {}))


def _training_lost(state: JournalState, event: Event, _: float) -> None:
    kind = intern(event["kind"])
    state.training_losses[kind] = state.training_losses.get(kind, 0) + 1


def _request_taken(state: JournalState, event: Event, _: float) -> None:
    state.requests[event["id"]] = dict(event["request"])
    state.requests_seen.append(event["id"])


def _request_done(state: JournalState, event: Event, _: float) -> None:
    state.requests.pop(event["id"], None)


def _request_refused(state: JournalState, event: Event, _: float) -> None:
    state.notes.append(event["reason"])


def _repaired(state: JournalState, event: Event, _: float) -> None:
    state.notes.append(event["note"])


_REDUCERS: dict[str, Callable[[JournalState, Event, float], None]] = {
    "campaign.opened": _opened, "runs.planned": _planned, "run.started": _started, "run.finished": _finished,
    "run.failed": _failed, "run.requeued": _requeued, "runs.retried": _retried, "run.quarantined": _quarantined,
    "shards.written": _packed,
    "stage.started": _stage, "stage.finished": _stage, "stage.failed": _stage, "training.lost": _training_lost,
    "request.taken": _request_taken,
    "request.done": _request_done, "request.refused": _request_refused, "journal.repaired": _repaired,
}  # fmt: skip
_NUMBER = (int, float)
_ENDED: dict[str, Any] = {"run_id": str, "seconds": _NUMBER, "host": str, "attempt": int, "launch_line": (list, tuple)}
_STAGE: dict[str, Any] = {"stage": str, "key": str}
_KEYS: dict[str, dict[str, Any]] = {
    "campaign.opened": {"uid": str},
    "runs.planned": {"runs": (list, tuple)},
    "run.started": {"run_id": str, "attempt": int},
    "run.finished": {
        **_ENDED, "path": str, "size": int, "sha256": str, "mtime_ns": int, "samples": int,
    },
    "run.failed": {
        **_ENDED, "kind": str, "message": str, "retryable": bool, "remedy": (str, type(None)),
        "remedy_text": str, "log": str, "details": Mapping,
    },
    "run.requeued": {"run_id": str},
    "runs.retried": {"runs": (list, tuple)},
    "run.quarantined": {"run_id": str, "reason": str},
    "shards.written": {"runs": (list, tuple), "shard": str, "sha256": str},
    "stage.started": _STAGE, "stage.finished": _STAGE, "stage.failed": _STAGE,
    "training.lost": {"kind": str, "message": str},
    "request.taken": {"id": str, "request": Mapping},
    "request.done": {"id": str},
    "request.refused": {"id": str, "reason": str},
    "journal.repaired": {"note": str},
}  # fmt: skip
