"""What events add up to, and the same state after a snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from surrogate.core.outcome import Budget, Failure, FailureKind, Success, outcome_from_json
from tests.support.journalled import failed, finished, opened, packed, plain, planned, reduced, run_id, started, summary
from workflows import journal_codec, journal_events
from workflows.journal import JournalState, RunStatus


def again(state: JournalState) -> JournalState:
    """Return the state after a way through JSON."""
    blocks = [json.loads(json.dumps(block)) for block in journal_codec.encode(state)]
    return journal_codec.decode(iter(blocks))


def everything() -> list[dict[str, Any]]:
    """Every kind of event, at least once."""
    return [
        opened(),
        planned(*range(8)),
        planned(8, stratum="acquired"),
        *(started(n) for n in range(8)),
        finished(0),
        finished(1),
        failed(2, remedy="smaller_steps", remedy_text="Use a smaller step."),
        failed(3, FailureKind.NOT_FINITE, details={"column": "S", "cells": [3, 4]}),
        failed(4, FailureKind.NODE_LOST),
        started(4, 2),
        finished(5),
        finished(6),
        packed(5, 6),
        {"event": "run.requeued", "run_id": run_id(6), "reason": "its shard was lost"},
        {"event": "run.quarantined", "run_id": run_id(1), "reason": "Its mass does not balance."},
        failed(8, FailureKind.EXIT_STATUS),
        {"event": "runs.retried", "runs": [run_id(1), run_id(8)]},
        {"event": "stage.started", "stage": "simulate", "key": "k1"},
        {"event": "stage.finished", "stage": "simulate", "key": "k1", "record": {"runs": 8}},
        {"event": "stage.started", "stage": "train", "key": "k2"},
        {"event": "training.lost", "kind": "walltime", "budget": "infrastructure", "message": "The job ended."},
        {"event": "request.taken", "id": "r1", "request": {"kind": "stop"}},
        {"event": "request.taken", "id": "r2", "request": {"kind": "approve"}},
        {"event": "request.done", "id": "r1"},
        {"event": "request.refused", "id": "r3", "reason": "It was damaged."},
        {"event": "journal.repaired", "note": "Something was repaired."},
        {"event": "drift.seen", "score": 0.5},
    ]


def test_every_event_has_its_effect() -> None:
    state = reduced(*everything())
    status = [run.status for run in state.runs.values()]
    assert status == [
        RunStatus.DONE, RunStatus.QUARANTINED, RunStatus.FAILED, RunStatus.QUARANTINED, RunStatus.RUNNING,
        RunStatus.PACKED, RunStatus.PLANNED, RunStatus.RUNNING, RunStatus.PLANNED,
    ]  # fmt: skip
    assert state.counts == {one: status.count(one) for one in RunStatus}
    assert set(state.running) == {run_id(4), run_id(7)}
    assert state.failures == {"unconverged": 1, "not_finite": 1, "node_lost": 1, "exit_status": 1}
    assert state.ended == {"success": 4, "failure": 4}
    assert state.seconds["failure"] == 2.0
    anew = state.runs[run_id(8)]
    assert (anew.charged, anew.remedies, anew.failure, anew.attempts) == ((0, 0, 0), (), None, 1)
    assert state.uids == ["driver-1"]
    assert [run.run_id for run in state.with_status(RunStatus.FAILED)] == [run_id(2)]
    assert state.stages["simulate"].status == "finished"
    assert state.stages["simulate"].record == {"runs": 8}
    assert state.stages["train"].ended_at == 0.0
    assert state.training_losses == {"walltime": 1}
    assert list(state.requests) == ["r2"]
    assert list(state.requests_seen) == ["r1", "r2"]
    assert state.notes == ["It was damaged.", "Something was repaired."]
    assert [event["event"] for _, event in state.unknown] == ["drift.seen"]
    assert state.launch_lines == {
        "mpiexec -n 2 python -m mpi4py runs/{run_id}/input.json": 4,
        "mpiexec solver": 4,
    }
    assert state.runs[run_id(8)].stratum == "acquired"
    assert state.runs[run_id(2)].inputs == {"M": 1 + 2 / 7, "Swc": 0.002, "kind": "oil"}


def test_a_snapshot_holds_everything_at_every_moment() -> None:
    events = everything()
    for count in range(len(events) + 1):
        state = reduced(*events[:count])
        copy = again(state)
        assert plain(copy) == plain(state)
        assert copy.counts == state.counts


def test_a_sparse_state_is_right_in_all_but_its_runs_and_stays_so() -> None:
    events = everything()
    for count in range(len(events) + 1):
        blocks = [json.loads(json.dumps(block)) for block in journal_codec.encode(reduced(*events[:count]))]
        slim = [
            block
            for block in blocks
            if not json.dumps(block, separators=(",", ":")).encode().startswith(journal_codec.REST)
        ]
        assert len(slim) < len(blocks) or count < 2
        state = journal_codec.decode(iter(slim), sparse=True)
        whole = reduced(*events[:count])
        assert summary(state) == summary(whole)
        for number, event in enumerate(events[count:], count):
            journal_events.apply(state, event, 1000.0 + number)
            journal_events.apply(whole, event, 1000.0 + number)
            assert summary(state) == summary(whole)


def test_a_snapshot_of_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_codec, "RUNS_PER_BLOCK", 3)
    state = reduced(*everything())
    assert plain(again(state)) == plain(state)


def test_outcomes_come_back_without_their_launch_line() -> None:
    events = [planned(0, 1, 2), started(0), finished(0), started(2), failed(2, remedy="a", details={"x": 1})]
    state = reduced(*events)
    success = state.runs[run_id(0)].outcome()
    assert isinstance(success, Success)
    assert success.launch_line == ()
    expected = outcome_from_json({key: value for key, value in finished(0).items() if key != "event"})
    assert success == Success(**{**expected_fields(expected), "launch_line": ()})
    failure = state.runs[run_id(2)].outcome()
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.UNCONVERGED
    assert failure.details == {"x": 1}
    assert failure.remedy == "a"
    assert state.runs[run_id(1)].outcome() is None


def expected_fields(outcome: Any) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in outcome.__slots__}


def test_failures_are_charged_to_three_budgets_and_remedies_add_up() -> None:
    state = reduced(
        planned(0),
        started(0),
        failed(0, FailureKind.NODE_LOST),
        started(0, 2),
        failed(0, remedy="slower", attempt=2),
        started(0, 3),
        failed(0, remedy="slower", attempt=3),
        started(0, 4),
        failed(0, remedy="finer", attempt=4),
    )
    run = state.runs[run_id(0)]
    assert [run.charged_to(budget) for budget in Budget] == [1, 3, 0]
    assert run.remedies == ("slower", "finer")
    assert run.attempts == 4
    assert plain(again(state)) == plain(state)


def test_samples_are_counted_while_their_run_is_admitted() -> None:
    state = reduced(planned(0, 1), {**finished(0), "samples": 5}, {**finished(1), "samples": 7})
    assert state.samples == 12
    for event, samples in (
        (packed(0), 12),
        ({**finished(1), "samples": 8}, 13),
        ({"event": "run.quarantined", "run_id": run_id(1), "reason": "x"}, 5),
        ({"event": "run.requeued", "run_id": run_id(0), "reason": "x"}, 0),
        (started(0), 0),
        ({**finished(0), "samples": 2}, 2),
    ):
        journal_events.apply(state, event, 1.0)
        assert state.samples == samples


def test_planning_again_changes_nothing_and_a_packed_run_stays_packed() -> None:
    state = reduced(planned(0), started(0), finished(0), packed(0), planned(0, 1), finished(0), failed(0))
    assert state.counts[RunStatus.PACKED] == 1
    assert state.counts[RunStatus.PLANNED] == 1
    assert state.ended == {"success": 1, "failure": 0}
    assert state.failures == {"unconverged": 1}


def test_events_of_a_later_version_are_kept_until_a_version_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    state = reduced(opened(), {"event": "stage.dreamt", "stage": "x", "key": "k"})
    assert len(again(state).unknown) == 1
    monkeypatch.setitem(journal_events._REDUCERS, "stage.dreamt", journal_events._stage)
    newer = again(state)
    assert newer.unknown == []
    assert newer.stages["x"].status == "dreamt"
    assert newer.seq == state.seq


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": 3},
        {"event": "run.started", "run_id": run_id(0)},
        {"event": "run.started", "run_id": run_id(0), "attempt": True},
        {"event": "run.started", "run_id": run_id(9), "attempt": 1},
        {"event": "runs.planned", "runs": [{"run_id": run_id(1)}]},
        {**failed(0), "kind": "bad_luck"},
        {**finished(0), "sha256": None},
        packed(0, 9),
    ],
)
def test_an_event_that_makes_no_sense_is_refused_before_it_changes_anything(event: dict[str, Any]) -> None:
    state = reduced(planned(0))
    before = plain(state)
    with pytest.raises(ValueError, match=r"event|FailureKind|run"):
        journal_events.check(state, event)
    assert plain(state) == before


def test_the_launch_lines_that_are_kept_are_bounded() -> None:
    state = reduced(planned(0))
    for number in range(200):
        journal_events.apply(state, {**finished(0), "launch_line": ["run", str(number)]}, 1.0)
    assert len(state.launch_lines) == journal_events.LAUNCH_LINES + 1
    assert sum(state.launch_lines.values()) == 200


def test_a_stage_takes_no_time_while_nobody_works() -> None:
    begun = {"event": "stage.started", "stage": "train", "key": "k"}
    ended = {"event": "stage.finished", "stage": "train", "key": "k", "record": {}}
    stage = reduced(begun, opened(), opened(), ended, opened(), ended).stages["train"]
    assert stage.ended_at - stage.started_at == 0.0, "it was not begun anew, and not worked on"
    stage = reduced(begun, opened(), ended).stages["train"]
    assert stage.ended_at - stage.started_at == 2.0
