"""The journal's state as blocks of JSON and back: what a snapshot holds.

Runs stand in pairs of blocks: an index (id, status, samples), and the rest. Who asks only how a campaign stands reads
the index and leaves the rest unparsed.
"""

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
REST = b'{"tables":'  # how the blocks begin that a sparse state does without
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
        "counts": state.counts,
        "samples": state.samples,
        "running": state.running,
        "failures": state.failures,
        "recent_failures": list(state.recent_failures),
        "recent_ends": list(state.recent_ends),
        "seconds": state.seconds,
        "ended": state.ended,
        "launch_lines": state.launch_lines,
        "training_losses": state.training_losses,
        "stages": state.stages,
        "requests": state.requests,
        "requests_seen": list(state.requests_seen),
        "notes": state.notes,
        "unknown": state.unknown,
    }
    yield {"shards": state.shards}
    runs = iter(state.runs.values())
    while block := list(islice(runs, RUNS_PER_BLOCK)):
        samples = [run.samples for run in block]
        yield {
            "ids": [run.run_id for run in block],
            "letters": "".join(_LETTERS[run.status] for run in block),
            "samples": samples if any(samples) else 0,
        }
        yield _encode_runs(block)


class SparseRuns(dict[str, Run]):
    """Runs of which only id, status and samples are known, made when an event names them."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, int]] = {}

    def __missing__(self, run_id: str) -> Run:
        letter, samples = self.known[run_id]
        run = self[run_id] = Run(run_id, (), (), "", _STATUSES[letter], samples=samples)
        return run

    def __contains__(self, run_id: object) -> bool:
        return super().__contains__(run_id) or run_id in self.known


def decode(blocks: Iterator[Mapping[str, Any]], sparse: bool = False) -> JournalState:
    """Rebuild the state from its blocks.

    Args:
        blocks: Those of `encode`; for a sparse state those that begin with `REST` may be absent.
        sparse: Whether `runs` need not be filled: all else is complete, and stays so when events are applied.

    Raises:
        KeyError, TypeError, ValueError, IndexError: If they are not those of `encode`.
    """
    # Every new object lives on: the collector would look through them again and again, and find nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _decode(blocks, sparse)
    finally:
        if collecting:
            gc.enable()


def _decode(blocks: Iterator[Mapping[str, Any]], sparse: bool) -> JournalState:
    """Do what `decode` says."""
    state = JournalState()
    first = next(blocks)
    for name in ("seq", "campaign", "uids", "opened_at", "updated_at", "running", "failures", "notes"):
        setattr(state, name, first[name])
    for name in ("samples", "seconds", "ended", "launch_lines", "requests"):
        setattr(state, name, first[name])
    state.training_losses = first.get("training_losses", {})
    state.recent_failures.extend(LastFailure(*entry) for entry in first["recent_failures"])
    state.recent_ends.extend(first["recent_ends"])
    state.requests_seen.extend(first["requests_seen"])
    state.stages = {name: Stage(*entry) for name, entry in first["stages"].items()}
    counts = {RunStatus(name): count for name, count in first["counts"].items()}
    runs = SparseRuns()
    index: Mapping[str, Any] = {}
    for block in blocks:
        for name, entry in block.get("shards", {}).items():
            state.shards[intern(name)] = Shard(*entry)
        if "ids" in block:
            index = block
            if sparse:
                runs.known.update(zip(block["ids"], zip(block["letters"], _samples(block), strict=True), strict=True))
        elif "runs" in block and not sparse:
            _decode_runs(state, index, block)
    if sparse:
        state.runs = runs
    elif state.counts != counts:
        raise ValueError(f"it counts {counts} and holds {state.counts}")
    state.counts = counts
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
        row: list[Any] = [names.number(run.names), run.values, texts.number(run.stratum)]
        if run.status is not RunStatus.PLANNED or run.attempts or run.failure is not None or any(run.charged):
            row += [
                run.attempts, charges.number(run.charged), remedies.number(run.remedies), run.seconds,
                texts.number(run.host), texts.number(run.shard), run.file, run.failure,
            ]  # fmt: skip
            while row[-1] is None:
                row.pop()
        rows.append(row)
    tables = [list(table.index) for table in (names, texts, charges, remedies)]
    return {"tables": tables, "runs": rows}


def _samples(index: Mapping[str, Any]) -> list[int]:
    """Return the samples of each run of an index."""
    samples: list[int] = index["samples"] or [0] * len(index["ids"])
    return samples


def _decode_runs(state: JournalState, index: Mapping[str, Any], block: Mapping[str, Any]) -> None:
    """Add one pair of blocks to the state."""
    names, texts, charges, remedies = block["tables"]
    names = [state.share(tuple(entry)) for entry in names]
    charges = [state.share(tuple(entry)) for entry in charges]
    remedies = [state.share(tuple(entry)) for entry in remedies]
    texts = [intern(entry) for entry in texts]
    add = state.add
    for run_id, letter, samples, row in zip(
        index["ids"], index["letters"], _samples(index), block["runs"], strict=True
    ):
        name, values, stratum, *rest = row
        if any(type(value) is str for value in values):
            values = [intern(value) if type(value) is str else value for value in values]
        run = Run(run_id, names[name], tuple(values), texts[stratum], _STATUSES[letter])
        run.samples = samples
        if rest:
            run.attempts, charge, remedy, run.seconds, host, shard, *last = rest
            run.charged, run.remedies = charges[charge], remedies[remedy]
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
