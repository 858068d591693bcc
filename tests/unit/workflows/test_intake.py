"""Outcomes are recorded, charged, packed and removed in the right order; a killed driver loses and repeats nothing."""

from __future__ import annotations

import pytest

from surrogate.core.errors import SiteError
from surrogate.core.outcome import Failure, FailureKind
from surrogate.data.dataset import Dataset
from surrogate.data.writer import DatasetWriter
from tests.support.books import SCHEMA, MemoryJournal, leave_failure, leave_success, request
from workflows.adoption import run_folder
from workflows.budgets import Account, Budgets
from workflows.ensemble_records import EnsembleRun
from workflows.intake import Intake

RUNS = [request(number) for number in range(6)]


class Books:
    """An intake with its journal and dataset; `resumed` opens them again as the next driver does."""

    def __init__(self, workdir, journal=None, per_shard=4, **options):
        self.workdir, self.per_shard, self.options = workdir, per_shard, options
        self.journal = journal or MemoryJournal()
        if journal is None:
            self.journal.plan(RUNS)
        self.writer = DatasetWriter(workdir / "dataset", SCHEMA, samples_per_shard=per_shard)
        self.seen = []
        self.intake = Intake(
            workdir=workdir,
            journal=self.journal,
            packer=self.writer,
            budgets=options.get("budgets", Budgets()),
            keep=options.get("keep", "failed"),
            progress=self.seen.append,
            storm=options.get("storm", 5),
        )

    def plan(self, runs=RUNS):
        return [again.run for again in self.intake.plan(runs, dict(self.journal.state.runs))]

    def resumed(self):
        return Books(self.workdir, self.journal, self.per_shard, **self.options)

    def start(self, one, attempt=1):
        self.journal.append({"event": "run.started", "run_id": one.run_id, "attempt": attempt})


@pytest.fixture
def books(tmp_path):
    return Books(tmp_path)


def named(runs):
    return [run.request.run_id for run in runs]


def ids(*numbers):
    return [RUNS[number].run_id for number in numbers]


def test_a_new_ensemble_executes_everything(books):
    todo = books.plan()
    assert named(todo) == ids(*range(6))
    assert all(run.account == Account() for run in todo)


def test_successes_are_journalled_then_packed_then_removed(books):
    todo = books.plan()
    for run in todo[:3]:
        books.start(run.request)
        books.intake.take([(run, leave_success(books.workdir, run.request))])
    assert all(run_folder(books.workdir, one.run_id).is_dir() for one in RUNS[:3])
    books.intake.take([(todo[3], leave_success(books.workdir, todo[3].request))])
    assert not any(run_folder(books.workdir, one.run_id).exists() for one in RUNS[:4])
    assert books.journal.kinds()[-2:] == ["run.finished", "shards.written"]
    books.intake.take([(todo[4], leave_success(books.workdir, todo[4].request))])
    books.intake.finish()
    assert len(Dataset.open(books.workdir / "dataset")) == 5
    assert books.seen[-1].finished == books.intake.counts.finished == 5
    assert books.intake.counts.executed == 5
    assert books.intake.node_seconds == 2.5


def test_all_folders_stay_on_demand(tmp_path):
    books = Books(tmp_path, per_shard=2, keep="all")
    for run in books.plan():
        books.intake.take([(run, leave_success(tmp_path, run.request))])
    assert all(run_folder(tmp_path, one.run_id).is_dir() for one in RUNS)


def test_failures_go_to_their_budgets(books):
    lost, solver, physics = books.plan()[:3]
    again = books.intake.take(
        [
            (lost, leave_failure(books.workdir, lost.request, FailureKind.NODE_LOST)),
            (solver, leave_failure(books.workdir, solver.request, FailureKind.UNCONVERGED, remedy="damping")),
            (physics, leave_failure(books.workdir, physics.request, FailureKind.NOT_FINITE)),
        ]
    )
    assert named(one.run for one in again) == ids(0, 1)
    assert again[0].delay_s > 0.0
    assert again[1].delay_s == 0.0
    assert again[1].run.account.request(RUNS[1]).remedies == ("damping",)
    counts = books.intake.counts
    assert (counts.losses, counts.solver_failures, counts.quarantined, counts.failed) == (1, 1, 1, 0)
    assert list(books.intake.failures) == ids(2)


def test_a_storm_ends_the_ensemble_in_a_sentence(tmp_path):
    books = Books(tmp_path, storm=3, budgets=Budgets(infrastructure=100))
    run = books.plan()[0]
    for attempt in range(1, 4):
        books.intake.take([(run, leave_failure(tmp_path, run.request, FailureKind.LAUNCHER, attempt))])
    with pytest.raises(SiteError, match=r"failed 4 times, one after the other.*It ended with launcher\."):
        books.intake.take([(run, leave_failure(tmp_path, run.request, FailureKind.LAUNCHER, 4))])


def test_losses_with_results_between_are_no_storm(tmp_path):
    books = Books(tmp_path, storm=1, budgets=Budgets(infrastructure=100))
    first, *others = books.plan()
    for attempt, run in enumerate(others, start=1):
        books.intake.take([(first, leave_failure(tmp_path, first.request, FailureKind.NODE_LOST, attempt))])
        books.intake.take([(run, leave_success(tmp_path, run.request))])
    assert books.intake.counts.losses == 5


def test_a_resumed_driver_adopts_what_was_finished_meanwhile(books):
    for one in books.plan()[:3]:
        books.start(one.request)
    leave_success(books.workdir, RUNS[0])
    leave_failure(books.workdir, RUNS[1], FailureKind.EXIT_STATUS)
    run_folder(books.workdir, RUNS[2].run_id).mkdir(parents=True)
    again = books.resumed()
    todo = again.plan()
    assert named(todo) == ids(2, 3, 4, 5, 1)
    attempts = {run.request.run_id: run.account.request(run.request).attempt for run in todo}
    assert [attempts[run_id] for run_id in ids(1, 2, 3)] == [2, 2, 1]
    assert again.intake.counts.adopted == 2
    assert again.journal.kinds(RUNS[0].run_id) == ["run.started", "run.finished"]


def test_a_run_that_was_handed_out_and_never_begun_is_still_at_its_first_attempt(books):
    books.start(books.plan()[0].request)
    todo = books.resumed().plan()
    assert todo[0].account.request(RUNS[0]).attempt == 1


def test_a_recorded_failure_is_not_charged_twice(books):
    run = books.plan()[0]
    books.start(run.request)
    books.intake.take([(run, leave_failure(books.workdir, RUNS[0], FailureKind.EXIT_STATUS, remedy="damping"))])
    again = books.resumed()
    resumed = again.plan()[0]
    assert again.intake.counts.adopted == 0
    assert resumed.account.solver_failures == 1
    assert resumed.account.request(RUNS[0]).attempt == 2
    assert resumed.account.request(RUNS[0]).remedies == ("damping",)


def test_what_was_closed_stays_closed(books):
    given_up, physics = books.plan()[:2]
    for attempt in (1, 2, 3):
        books.start(given_up.request, attempt)
        books.intake.take([(given_up, leave_failure(books.workdir, RUNS[0], FailureKind.EXIT_STATUS, attempt))])
    books.start(physics.request)
    books.intake.take([(physics, leave_failure(books.workdir, RUNS[1], FailureKind.OUT_OF_BOUNDS))])
    again = books.resumed()
    assert named(again.plan()) == ids(2, 3, 4, 5)
    assert (again.intake.counts.failed, again.intake.counts.quarantined) == (1, 1)
    assert set(again.intake.failures) == set(ids(0, 1))
    assert isinstance(again.intake.failures[RUNS[0].run_id], Failure)


def test_a_run_that_begins_anew_has_whole_budgets_and_its_old_receipt_is_passed_over(books):
    run = books.plan()[0]
    for attempt in (1, 2, 3):
        books.start(run.request, attempt)
        failure = leave_failure(books.workdir, RUNS[0], FailureKind.EXIT_STATUS, attempt, remedy="damping")
        books.intake.take([(run, failure)])
    books.journal.append({"event": "runs.retried", "runs": ids(0)})
    again = books.resumed()
    resumed = again.plan()[0]
    assert resumed.request.run_id == RUNS[0].run_id
    assert again.intake.counts.adopted == 0
    assert resumed.account.solver_failures == 0
    request = resumed.account.request(RUNS[0])
    assert (request.attempt, request.remedies) == (4, ())


def test_done_and_unpacked_runs_are_packed_by_the_next_driver(books):
    for run in books.plan()[:2]:
        books.intake.take([(run, leave_success(books.workdir, run.request))])
    again = books.resumed()
    assert named(again.plan()) == ids(2, 3, 4, 5)
    again.intake.finish()
    assert len(Dataset.open(books.workdir / "dataset")) == 2
    assert again.intake.counts.finished == 2
    assert again.intake.counts.executed == 0


@pytest.mark.parametrize("loss", ["folder", "file"])
def test_a_done_run_whose_file_is_gone_or_damaged_is_executed_again(books, loss):
    run = books.plan()[0]
    success = leave_success(books.workdir, RUNS[0])
    books.intake.take([(run, success)])
    if loss == "folder":
        (books.workdir / success.path).unlink()
    else:
        (books.workdir / success.path).write_bytes(b"\x00" * success.size)
    again = books.resumed()
    todo = again.plan()
    assert RUNS[0].run_id in named(todo)
    assert again.journal.kinds(RUNS[0].run_id)[-1] == "run.requeued"
    assert todo[0].account.request(RUNS[0]).attempt == 2


def test_a_shard_that_was_written_when_the_driver_was_killed_is_recorded(books):
    runs = books.plan()
    for run in runs[:3]:
        books.intake.take([(run, leave_success(books.workdir, run.request))])
    # The fourth completes the shard, and the driver dies before it can say so.
    success = leave_success(books.workdir, RUNS[3])
    books.journal.append({"event": "run.finished", **success.to_json()})
    books.writer.add_run(RUNS[3].run_id, books.workdir / success.path)
    again = books.resumed()
    assert named(again.plan()) == ids(4, 5)
    assert again.journal.kinds()[-1] == "shards.written"
    assert len(again.journal.state.shards) == 1
    assert not any(run_folder(books.workdir, one.run_id).exists() for one in RUNS[:4])
    assert again.intake.counts.finished == 4


def test_folders_that_a_killed_driver_had_not_removed_yet_are_removed(books, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("workflows.intake.remove_run", lambda *_: None)
        for run in books.plan():
            books.intake.take([(run, leave_success(books.workdir, run.request))])
        books.intake.finish()
    assert all(run_folder(books.workdir, one.run_id).is_dir() for one in RUNS)
    again = books.resumed()
    assert again.plan() == []
    assert not any(run_folder(books.workdir, one.run_id).exists() for one in RUNS)
    assert len(Dataset.open(books.workdir / "dataset")) == len(RUNS)


def test_a_lost_shard_is_made_again(tmp_path):
    books = Books(tmp_path, per_shard=3)
    for run in books.plan():
        books.intake.take([(run, leave_success(tmp_path, run.request))])
    for path in (tmp_path / "dataset").rglob("*"):
        if path.is_file():
            path.unlink()
    again = books.resumed()
    assert named(again.plan()) == ids(*range(6))


def test_a_file_that_was_damaged_since_its_admission_is_not_packed(books):
    run = books.plan()[0]
    success = leave_success(books.workdir, RUNS[0])
    content = bytearray((books.workdir / success.path).read_bytes())
    content[len(content) // 2] ^= 0xFF
    (books.workdir / success.path).write_bytes(content)
    again = books.intake.take([(run, success)])
    assert named(one.run for one in again) == ids(0)
    assert books.journal.kinds(RUNS[0].run_id) == ["run.finished", "run.requeued"]
    assert (books.intake.counts.finished, books.intake.counts.losses) == (0, 1)


def test_acquired_points_keep_their_stratum(tmp_path):
    journal = MemoryJournal()
    journal.plan(RUNS[:1], "acquired")
    books = Books(tmp_path, journal)
    run = books.plan(RUNS[:1])[0]
    assert EnsembleRun.of(RUNS[0], journal.state.runs[RUNS[0].run_id]).stratum == "acquired"
    books.intake.take([(run, leave_success(tmp_path, RUNS[0]))])
    books.intake.finish()
    assert set(Dataset.open(tmp_path / "dataset").strata) == {"acquired"}
