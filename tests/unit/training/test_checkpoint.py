"""Checkpoints: sealed, the newest two kept, damage told from absence."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import IntegrityError
from surrogate.training.checkpoint import CheckpointFolder, array_list, list_arrays, pack, unpack

ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array(7), "b": np.array([True, False])}


def content(epoch=1):
    return pack(ARRAYS, {"epoch": epoch, "loss": 0.1 + 0.2})


def test_a_checkpoint_comes_back_bit_by_bit():
    found = unpack(content(), "here")
    assert found.record == {"epoch": 1, "loss": 0.1 + 0.2}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found.arrays[name], array)
        assert found.arrays[name].dtype == array.dtype


def test_lists_of_arrays_keep_their_order():
    arrays = [np.full(1, number) for number in range(12)]
    assert [int(array[0]) for array in array_list("w", list_arrays("w", arrays))] == list(range(12))


def test_damage_at_any_64th_byte_is_noticed():
    whole = content()
    for place in range(0, len(whole), 64):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        for damaged in (bytes(flipped), whole[:place]):
            with pytest.raises(IntegrityError, match="here is damaged"):
                unpack(damaged, "here")


def test_python_objects_are_not_stored():
    with pytest.raises(ValueError, match="allow_pickle"):
        pack({"o": np.array([object()])}, {})


def test_the_newest_two_are_kept(tmp_path):
    folder = CheckpointFolder(tmp_path)
    for epoch in range(4):
        folder.save(content(epoch))
    assert len(list(tmp_path.iterdir())) == 2
    found, damaged = folder.newest()
    assert unpack(found, "").record["epoch"] == 3
    assert damaged == []


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.save(content(1))
    torn = folder.save(content(2))
    torn.write_bytes(torn.read_bytes()[:100])
    found, damaged = folder.newest()
    assert unpack(found, "").record["epoch"] == 1
    assert len(damaged) == 1
    assert str(torn) in damaged[0]


def test_only_damaged_checkpoints_are_refused_with_the_way_out(tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.save(content()).write_bytes(b"")
    with pytest.raises(IntegrityError, match=r"No whole checkpoint is left\. Remove the folder"):
        folder.newest()


def test_no_checkpoint_is_none(tmp_path):
    assert CheckpointFolder(tmp_path / "absent").newest() == (None, [])


def test_a_finished_member_replaces_its_checkpoints(tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.save(content())
    folder.save_member(0, content(9))
    assert folder.newest() == (None, [])
    assert unpack(folder.member(0), "").record["epoch"] == 9
    assert folder.member(1) is None


def test_a_damaged_member_counts_as_missing(tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.save_member(0, b"nonsense")
    assert folder.member(0) is None
