"""Crashes, losses and damage: what is left is a whole dataset, or is refused in a sentence."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import DataError, IntegrityError, SurrogateError
from surrogate.core.schema import Column, Schema
from surrogate.data import manifest, shards
from surrogate.data.admission import admit
from surrogate.data.dataset import Dataset, DatasetWriter
from tests.support.runs import AXIS, SCHEMA, assert_same, fill, identity, run_columns, write_run


def test_a_crash_before_the_manifest_leaves_no_wrong_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "d", [0, 1], tmp_path)
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    writer.add_run(identity(2), write_run(tmp_path, 2))
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write_text", _no_space)
        with pytest.raises(OSError, match="No space"):
            writer.flush()
    assert len(list((tmp_path / "d/shards").iterdir())) == 2
    assert len(Dataset.open(tmp_path / "d", "hash")) == 2
    again = DatasetWriter(tmp_path / "d", SCHEMA)  # what resume does: the orphan goes
    assert len(list((tmp_path / "d/shards").iterdir())) == 1
    assert identity(2) not in again.packed
    assert writer.waiting == (identity(2),)  # the first writer has forgotten nothing either
    assert [entry.runs for entry in writer.flush()] == [(identity(2),)]
    assert len(Dataset.open(tmp_path / "d", "hash")) == 3


def _no_space(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_crash_during_the_very_first_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    writer.add_run(identity(2), write_run(tmp_path, 2))
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write_text", _no_space)
        with pytest.raises(OSError, match="No space"):
            writer.flush()
    (tmp_path / "d/shards/.x.part.h5").write_bytes(b"half")
    assert DatasetWriter(tmp_path / "d", SCHEMA).packed == {identity(2)}  # it was whole, so it is taken
    assert len(Dataset.open(tmp_path / "d", "hash")) == 1
    assert len(list((tmp_path / "d/shards").iterdir())) == 1


def test_a_lost_manifest_is_rebuilt_from_the_shards(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(9)), tmp_path, 4)
    before = Dataset.open(tmp_path / "d").hash
    (tmp_path / "d/manifest.json").unlink()
    with pytest.raises(IntegrityError, match="rebuilt from the shards"):
        Dataset.open(tmp_path / "d")
    assert len(DatasetWriter(tmp_path / "d", SCHEMA).packed) == 9
    after = Dataset.open(tmp_path / "d", "hash")
    assert after.hash == before
    assert after.schema == SCHEMA


def test_a_lost_shard_and_its_manifest_leave_the_others(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(9)), tmp_path, 4)
    lost = next((tmp_path / "d/shards").iterdir())
    lost.unlink()
    with pytest.raises(IntegrityError, match=rf"{lost.name} is missing\. Restore it"):
        Dataset.open(tmp_path / "d")
    with pytest.raises(IntegrityError, match="is missing"):
        DatasetWriter(tmp_path / "d", SCHEMA)
    (tmp_path / "d/manifest.json").unlink()  # the way out that the sentence names
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    assert 0 < len(writer.packed) < 9
    for number in range(9):
        writer.add_run(identity(number), write_run(tmp_path, number))
    writer.flush()
    fill(tmp_path / "e", list(range(9)), tmp_path)
    assert Dataset.open(tmp_path / "d", "hash").hash == Dataset.open(tmp_path / "e").hash


def test_samples_that_are_in_two_shards_count_once(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0, 1, 2], tmp_path)
    fill(tmp_path / "e", [2, 3], tmp_path)
    for path in (tmp_path / "e/shards").iterdir():
        shutil.copy(path, tmp_path / "d/shards")
    (tmp_path / "d/manifest.json").unlink()
    DatasetWriter(tmp_path / "d", SCHEMA)
    both = Dataset.open(tmp_path / "d")
    fill(tmp_path / "f", [0, 1, 2, 3], tmp_path)
    assert len(both) == 4
    assert both.hash == Dataset.open(tmp_path / "f").hash
    assert_same(both.load_all(), Dataset.open(tmp_path / "f").load_all())
    assert sorted(place for places, _ in both.slabs("a") for place in places) == [0, 1, 2, 3]


def test_a_shard_cut_or_damaged_anywhere_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0, 1, 2], tmp_path)
    shard = next((tmp_path / "d/shards").iterdir())
    whole = shard.read_bytes()
    stat = shard.stat()
    for place in range(0, len(whole), 64):
        shard.write_bytes(whole[:place])
        with pytest.raises(IntegrityError, match=rf"{shard.name} has {place} bytes.*executed again"):
            Dataset.open(tmp_path / "d")
        damaged = bytearray(whole)
        damaged[place] ^= 1
        shard.write_bytes(damaged)
        with pytest.raises(IntegrityError, match=rf"{shard.name} is damaged.*executed again"):
            Dataset.open(tmp_path / "d")  # its time differs, so its hash is compared

    os.utime(shard, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    Dataset.open(tmp_path / "d")  # the fast way believes the time …
    with pytest.raises(IntegrityError, match="is damaged"):
        Dataset.open(tmp_path / "d", verify="hash")  # … the sure way does not
    shard.write_bytes(whole)
    assert len(Dataset.open(tmp_path / "d").load_all()) == 3  # as good as before, with another time


def test_a_manifest_cut_or_damaged_anywhere_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0, 1, 2], tmp_path, 2)
    path = tmp_path / "d/manifest.json"
    whole = path.read_bytes()
    reference = Dataset.open(tmp_path / "d")
    for place in range(0, len(whole), 16):
        for content in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]):
            path.write_bytes(content)
            with pytest.raises(IntegrityError, match=r"manifest\.json.*resume"):
                Dataset.open(tmp_path / "d")
            with pytest.raises(IntegrityError, match=r"manifest\.json"):
                DatasetWriter(tmp_path / "d", SCHEMA)
    path.write_bytes(whole)
    assert Dataset.open(tmp_path / "d").hash == reference.hash


def test_a_newer_dataset_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0], tmp_path)
    path = tmp_path / "d/manifest.json"
    record = json.loads(path.read_text())
    record.pop("self_check")
    record["format_version"] = 2
    record["self_check"] = manifest._hash(record)
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"version 2.*Install a newer"):
        Dataset.open(tmp_path / "d")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0], tmp_path)
    other = Schema((*SCHEMA.columns[:-1], Column("label", "output", unit="s")), (AXIS,))
    with pytest.raises(DataError, match=r"begun with other columns.*'label'.*another working directory"):
        DatasetWriter(tmp_path / "d", other)
    bounds = Schema((Column("a", "input", unit="m", high=7.0), *SCHEMA.columns[1:]), (AXIS,))
    writer = DatasetWriter(tmp_path / "d", bounds)  # bounds may change
    writer.add_run(identity(1), write_run(tmp_path, 1))
    writer.flush()
    assert Dataset.open(tmp_path / "d").schema == bounds
    (tmp_path / "d/manifest.json").unlink()
    assert len(DatasetWriter(tmp_path / "d", bounds).packed) == 2


def test_a_run_that_is_not_what_was_admitted_is_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, 1)
    content = admit(path, SCHEMA).content
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    write_run(tmp_path, 1, field=run_columns(2)["field"])
    with pytest.raises(IntegrityError, match="not what was admitted"):
        writer.add_run(identity(1), path, content=content)
    with pytest.raises(DataError, match="'field' has the shape"):
        writer.add_run(identity(1), write_run(tmp_path, 1, field=np.zeros((1, 3))))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(IntegrityError, match="torn"):
        writer.add_run(identity(1), path)
    assert writer.waiting == ()
    assert writer.add_run(identity(1), write_run(tmp_path, 1), content=content)


def test_a_shard_replaced_by_another_one_behind_our_back(tmp_path: Path) -> None:
    fill(tmp_path / "d", [0, 1], tmp_path)
    dataset = Dataset.open(tmp_path / "d")
    shard = next((tmp_path / "d/shards").iterdir())
    shard.write_bytes(b"x" * shards.ShardRecord("", "", 700, 0, 0, 0).size)
    with pytest.raises(SurrogateError, match=shard.name):
        dataset.load_all()
