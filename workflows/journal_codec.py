"""The journal's state as blocks of JSON and back: what a snapshot holds."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from itertools import islice
from sys import intern
from typing import Any

from workflows import journal_events
from workflows.journal_records import FailureNote, LastFailure, Run, RunFile, RunStatus, Shard, Stage
from workflows.journal_state import JournalState

RUNS_PER_BLOCK = 2000
_LETTERS = {
    RunStatus.PLANNED: "p", RunStatus.RUNNING: "r", RunStatus.DONE: "d", RunStatus.FAILED: "f",
    RunStatus.QUARANTINED: "q", RunStatus.PACKED: "k",
}  # fmt: skip
_STATUSES = {letter: status for status, letter in _LETTERS.items()}


def encode(state: JournalState) -> Iterator[dict[str, Any]]:
    """Yield the state block by block; each is JSON-ready and no larger than some hundred kilobytes."""
    yield {
        "seq": state.seq,
        "campaign": state.campaign,
        "uids": state.uids,
        "opened_at": state.opened_at,
        "updated_at": state.updated_at,
        "running": state.running,
        "failures": state.failures,
        "recent_failures": list(state.recent_failures),
        "recent_ends": list(state.recent_ends),
        "seconds": state.seconds,
        "ended": state.ended,
        "launch_lines": state.launch_lines,
        "stages": state.stages,
        "requests": state.requests,
        "requests_seen": list(state.requests_seen),
        "notes": state.notes,
        "unknown": state.unknown,
    }
    yield {"shards": state.shards}
    runs = iter(state.runs.values())
    while block := list(islice(runs, RUNS_PER_BLOCK)):
        yield _encode_runs(block)


def decode(blocks: Iterator[Mapping[str, Any]]) -> JournalState:
    """Rebuild the state from its blocks.

    Raises:
        KeyError, TypeError, ValueError, IndexError: If they are not those of `encode`.
    """
    # Every new object lives on: the collector would look through them again and again, and find nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _decode(blocks)
    finally:
        if collecting:
            gc.enable()


def _decode(blocks: Iterator[Mapping[str, Any]]) -> JournalState:
    """Do what `decode` says."""
    state = JournalState()
    first = next(blocks)
    for name in ("seq", "campaign", "uids", "opened_at", "updated_at", "running", "failures", "notes"):
        setattr(state, name, first[name])
    for name in ("seconds", "ended", "launch_lines", "requests"):
        setattr(state, name, first[name])
    state.recent_failures.extend(LastFailure(*entry) for entry in first["recent_failures"])
    state.recent_ends.extend(first["recent_ends"])
    state.requests_seen.extend(first["requests_seen"])
    state.stages = {name: Stage(*entry) for name, entry in first["stages"].items()}
    for block in blocks:
        for name, entry in block.get("shards", {}).items():
            state.shards[intern(name)] = Shard(*entry)
        if "runs" in block:
            _decode_runs(state, block)
    # Events that an older version did not know, and this one may.
    seq, updated_at = state.seq, state.updated_at
    for at, event in first["unknown"]:
        journal_events.apply(state, event, at)
    state.seq, state.updated_at = seq, updated_at
    return state


class _Table:
    """Numbers for values that many rows share."""

    def __init__(self) -> None:
        self.index: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value."""
        return self.index.setdefault(value, len(self.index))


def _encode_runs(runs: list[Run]) -> dict[str, Any]:
    """Return one block of runs: rows that refer to tables, cut behind the last field that says something."""
    names, texts, charges, remedies = _Table(), _Table(), _Table(), _Table()
    rows: list[list[Any]] = []
    for run in runs:
        row: list[Any] = [
            run.run_id, names.number(run.names), run.values, texts.number(run.stratum), _LETTERS[run.status],
        ]  # fmt: skip
        if run.status is not RunStatus.PLANNED or run.attempts or run.failure is not None or any(run.charged):
            row += [
                run.attempts, charges.number(run.charged), remedies.number(run.remedies), run.samples, run.seconds,
                texts.number(run.host), texts.number(run.shard), run.file, run.failure,
            ]  # fmt: skip
            while row[-1] is None:
                row.pop()
        rows.append(row)
    tables = [list(table.index) for table in (names, texts, charges, remedies)]
    return {"tables": tables, "runs": rows}


def _decode_runs(state: JournalState, block: Mapping[str, Any]) -> None:
    """Add one block of runs to the state."""
    names, texts, charges, remedies = block["tables"]
    names = [state.share(tuple(entry)) for entry in names]
    charges = [state.share(tuple(entry)) for entry in charges]
    remedies = [state.share(tuple(entry)) for entry in remedies]
    texts = [intern(entry) for entry in texts]
    add = state.add
    for row in block["runs"]:
        run_id, name, values, stratum, letter, *rest = row
        if any(type(value) is str for value in values):
            values = [intern(value) if type(value) is str else value for value in values]
        run = Run(run_id, names[name], tuple(values), texts[stratum], _STATUSES[letter])
        if rest:
            attempts, charge, remedy, run.samples, run.seconds, host, shard, *last = rest
            run.attempts, run.charged, run.remedies = attempts, charges[charge], remedies[remedy]
            run.host, run.shard = texts[host], texts[shard]
            if last:
                run.file = RunFile(*last[0]) if last[0] is not None else None
                run.failure = _note(last[1]) if len(last) > 1 else None
        add(run)


def _note(entry: list[Any]) -> FailureNote:
    """Return a failure, its repeated texts shared."""
    kind, message, retryable, remedy, remedy_text, log, details = entry
    remedy = None if remedy is None else intern(remedy)
    return FailureNote(intern(kind), intern(message), retryable, remedy, intern(remedy_text), log, details)
