"""Datasets: the same samples give the same hash and tables, and nothing damaged is read."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import h5py
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surrogate.core.identity import sample_id
from surrogate.data.dataset import Dataset, DatasetWriter
from surrogate.data.split import SPLITS, SplitConfig
from tests.support.hdf5_headers import headers_with_times
from tests.support.runs import SCHEMA, assert_same, fill, identity, point_of, run_columns, write_run

SPLIT = SplitConfig("salt", tune=0.2, holdout=0.3)


def test_samples_come_back_with_their_identity(tmp_path: Path) -> None:
    packed = fill(tmp_path / "d", list(range(10)), tmp_path, samples_per_shard=4, samples=2)
    assert [len(entry.runs) for entry in packed] == [2, 2, 2, 2, 2]
    dataset = Dataset.open(tmp_path / "d")
    assert len(dataset) == 20
    assert list(dataset.ids) == sorted(dataset.ids)
    assert dataset.strata == ("design",) * 20
    table = dataset.load_all()
    for number in range(10):
        written = run_columns(number, 2)
        for row in range(2):
            place = table.ids.index(sample_id(identity(number), row))
            np.testing.assert_array_equal(table.columns["field"][place], written["field"][row])
            np.testing.assert_array_equal(table.columns["path"][place], written["path"][row].astype(np.float32))
            assert table.columns["kind"][place] == written["kind"][row]
    assert dataset.provenance()[identity(3)] == {"number": 3, "host": "here"}


@settings(deadline=None, max_examples=6)
@given(st.permutations(range(8)), st.integers(1, 9))
def test_hash_and_tables_do_not_depend_on_packing(order: list[int], per_shard: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "one", list(range(8)), folder, 5)
        fill(folder / "two", order, folder, per_shard)
        one, two = Dataset.open(folder / "one", "hash"), Dataset.open(folder / "two", "hash")
        assert one.hash == two.hash
        assert_same(one.load_all(), two.load_all())
        for split in SPLITS:
            assert_same(one.load(SPLIT, split), two.load(SPLIT, split))


def test_hash_depends_on_content_and_identity(tmp_path: Path) -> None:
    fill(tmp_path / "one", [1, 2], tmp_path)
    fill(tmp_path / "two", [1, 3], tmp_path)
    writer = DatasetWriter(tmp_path / "three", SCHEMA)
    field = run_columns(2)["field"]
    field[0, 0, 0] = np.nextafter(field[0, 0, 0], 1)
    writer.add_run(identity(1), write_run(tmp_path, 1))
    writer.add_run(identity(2), write_run(tmp_path, 2, field=field))
    writer.flush()
    assert len({Dataset.open(tmp_path / name).hash for name in ("one", "two", "three")}) == 3


def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    fill(tmp_path / "d", [1, 2], tmp_path)
    before = (tmp_path / "d/manifest.json").read_bytes()
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    assert writer.packed == {identity(1), identity(2)}
    assert not writer.add_run(identity(1), tmp_path / "no such file")
    assert writer.flush() == ()
    assert (tmp_path / "d/manifest.json").read_bytes() == before
    assert writer.add_run(identity(3), write_run(tmp_path, 3))
    assert not writer.add_run(identity(3), write_run(tmp_path, 3))
    assert writer.waiting == (identity(3),)
    assert writer.samples == 3


def test_the_same_runs_give_the_same_shards_at_any_time(tmp_path: Path) -> None:
    fill(tmp_path / "one", list(range(6)), tmp_path, 4)
    fill(tmp_path / "two", list(range(6)), tmp_path, 4)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "shards").iterdir()} for name in ("one", "two")
    )
    assert one == two
    # Times are whole seconds, which this test does not wait for.
    assert [headers_with_times(content) for content in one.values()] == [0, 0]


def test_later_runs_never_rewrite_old_shards(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(6)), tmp_path, 4)
    old = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "d/shards").iterdir()}
    first = Dataset.open(tmp_path / "d")
    holdout = set(first.load(SPLIT, "holdout").ids)
    writer = DatasetWriter(tmp_path / "d", SCHEMA, 4)
    for number in range(6, 20):
        writer.add_run(identity(number), write_run(tmp_path, number), stratum="acquired")
    writer.flush()
    assert all((path.read_bytes(), path.stat().st_mtime_ns) == kept for path, kept in old.items())
    later = Dataset.open(tmp_path / "d", "hash")
    assert set(later.load(SPLIT, "holdout").ids) == holdout
    assert set(later.load(SPLIT, "holdout", None).ids) > holdout
    assert len(later.load(SPLIT, "train", "acquired")) > 0
    assert len(first.load_all()) == 6  # an open dataset stays what it was


def test_split_of_stored_samples_is_that_of_the_planned_points(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(30)), tmp_path, 7)
    dataset = Dataset.open(tmp_path / "d")
    for which in SPLITS:
        ids = set(dataset.load(SPLIT, which).ids)
        assert ids == {sample_id(identity(n), 0) for n in range(30) if SPLIT.of(None, point_of(n)) == which}
    counts = dataset.counts(SPLIT)
    assert sum(count.samples for count in counts.values()) == 30


def test_another_version_of_the_simulator_stays_in_the_same_split_and_is_told(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(8)), tmp_path)
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    for number in range(4):
        writer.add_run(identity(number, "2"), write_run(tmp_path, number, field=run_columns(99)["field"]))
    writer.flush()
    dataset = Dataset.open(tmp_path / "d")
    repeated = dataset.repeated_points()
    assert sorted(len(pair) for pair in repeated) == [2, 2, 2, 2]
    split = dict(zip(dataset.ids, dataset.assigned(SPLIT).tolist(), strict=True))
    assert all(split[first] == split[second] for first, second in repeated)
    counts = dataset.counts(SPLIT)
    assert sum(count.samples for count in counts.values()) == 12
    assert sum(count.groups for count in counts.values()) == 8


def test_an_empty_dataset_is_a_dataset(tmp_path: Path) -> None:
    assert DatasetWriter(tmp_path / "d", SCHEMA).flush() == ()
    dataset = Dataset.open(tmp_path / "d")
    assert len(dataset) == 0
    table = dataset.load_all()
    assert len(table) == 0
    assert table.columns["field"].shape == (0, 2, 4)
    assert len(table.columns["path"]) == 0
    assert dataset.hash == Dataset.open(tmp_path / "d").hash
    assert dataset.repeated_points() == []
    assert all(count.samples == 0 for count in dataset.counts(SPLIT).values())


def test_a_shard_is_written_when_enough_bytes_wait(tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path / "d", SCHEMA, bytes_per_shard=200)
    for number in range(6):
        writer.add_run(identity(number), write_run(tmp_path, number))
    assert len(writer.packed) >= 4
    assert sorted(run for entry in writer.flush() for run in entry.runs) == sorted(identity(n) for n in range(6))


def test_random_choice_of_rows_in_any_order(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(20)), tmp_path, 6)
    dataset = Dataset.open(tmp_path / "d")
    everything = dataset.load_all()
    rows = np.asarray(random.Random(1).sample(range(20), 9), dtype=np.int64)
    assert_same(dataset.load_rows(rows), everything.take(rows))
    np.testing.assert_array_equal(dataset.column("a", rows), everything.columns["a"][rows])


def test_shards_are_plain_hdf5(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0, 1], tmp_path)
    with h5py.File(next((tmp_path / "d/shards").iterdir())) as file:
        assert file["outputs/field"].shape == (2, 2, 4)
        assert file["samples/id"].asstr()[0] == sample_id(identity(0), 0)
