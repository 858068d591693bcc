"""What the journal or the dataset has lost is taken up again from the other, or refused in a sentence."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from surrogate.core.errors import IntegrityError
from surrogate.data.dataset import Dataset
from surrogate.data.writer import DatasetWriter
from tests.support.books import SCHEMA, MemoryJournal, leave_success, request
from workflows.driver import Driver
from workflows.journal import RunStatus
from workflows.reconcile import PLANNED_AT_ONCE, open_dataset, plan_runs
from workflows.stopping import Stopping
from workflows.workspace import Workspace

RUNS = [request(number) for number in range(6)]
PLAN = SimpleNamespace(schema=SCHEMA)


class Says:
    def __init__(self):
        self.said = []

    def say(self, message):
        self.said.append(message)


def driver(workdir, journal=None):
    return Driver(None, Workspace(workdir), journal or MemoryJournal(), Says(), Stopping())


@pytest.fixture
def packed(tmp_path):
    """A campaign of six runs in shards of two, and its journal."""
    journal = MemoryJournal()
    journal.plan(RUNS)
    writer = DatasetWriter(tmp_path / "dataset", SCHEMA, samples_per_shard=2)
    for one in RUNS:
        success = leave_success(tmp_path, one)
        journal.append({"event": "run.finished", **success.to_json()})
        writer.add_run(one.run_id, tmp_path / success.path, "design" if one is not RUNS[5] else "acquired")
    for shard in writer.flush():
        journal.append(
            {"event": "shards.written", "runs": list(shard.runs), "shard": shard.shard, "sha256": shard.sha256}
        )
    shutil.rmtree(tmp_path / "runs")
    return driver(tmp_path, journal)


def test_where_both_agree_nothing_is_done(packed):
    before = list(packed.journal.events)
    writer, lost = open_dataset(packed, PLAN)
    assert (len(writer.packed), lost) == (6, 0)
    assert packed.journal.events == before
    assert packed.progress.said == []


def test_a_lost_journal_is_made_again_from_the_shards(packed):
    again = driver(packed.workspace.root)
    again.journal.plan(RUNS[:3])
    _, lost = open_dataset(again, PLAN)
    assert lost == 0
    state, known = again.journal.state, packed.journal.state
    assert set(state.runs) == {one.run_id for one in RUNS}
    assert state.counts == known.counts
    assert state.samples == known.samples
    assert state.shards == known.shards
    assert state.runs[RUNS[5].run_id].stratum == "acquired"
    assert again.progress.said == ["6 runs of the dataset were not in the journal; they were taken up again."]
    open_dataset(again, PLAN)
    assert len(again.progress.said) == 1


def test_a_shard_that_was_not_journalled_any_more_is_no_matter_for_a_person(packed):
    journal = MemoryJournal()
    for event in packed.journal.events[:-1]:
        journal.append(event)
    again = driver(packed.workspace.root, journal)
    open_dataset(again, PLAN)
    assert again.progress.said == []
    assert journal.state.counts[RunStatus.PACKED] == 6


def test_runs_of_a_lost_shard_are_done_again(packed):
    folder = packed.workspace.dataset
    gone = Dataset.open(folder)._manifest.shards[1].file
    (folder / "shards" / gone).unlink()
    with pytest.raises(IntegrityError, match=r"is missing.*remove it together with the manifest"):
        open_dataset(packed, PLAN)
    (folder / "manifest.json").unlink()
    _, lost = open_dataset(packed, PLAN)
    assert lost == 2
    state = packed.journal.state
    assert (state.counts[RunStatus.PACKED], state.counts[RunStatus.PLANNED]) == (4, 2)
    assert gone not in state.shards
    assert "2 runs that were packed are in no shard any more" in packed.progress.said[0]


def test_a_dataset_that_is_not_there_is_refused_with_both_ways_out(packed):
    folder = packed.workspace.dataset
    shutil.rmtree(folder)
    for _ in range(2):
        with pytest.raises(IntegrityError, match=r"6 runs were packed .*Mount its disk.*mkdir -p .*shards &&"):
            open_dataset(packed, PLAN)
        assert not folder.exists() or not any(folder.iterdir())
        folder.mkdir(exist_ok=True)
    (folder / "shards").mkdir()
    _, lost = open_dataset(packed, PLAN)
    assert lost == 6
    assert packed.journal.state.counts[RunStatus.PLANNED] == 6


def test_many_runs_are_planned_in_events_of_bearable_size(tmp_path):
    one = driver(tmp_path)
    count = 2 * PLANNED_AT_ONCE + 1
    plan_runs(one, [{"run_id": f"{number:032x}", "inputs": {"x": 1.0}, "stratum": "design"} for number in range(count)])
    assert [len(event["runs"]) for event in one.journal.events] == [PLANNED_AT_ONCE, PLANNED_AT_ONCE, 1]
    assert len(one.journal.state.runs) == count
