"""Refused runs are kept with their sentence, wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.core.errors import IntegrityError
from surrogate.core.outcome import FailureKind
from surrogate.data import quarantine as module
from surrogate.data.quarantine import NAME, Quarantine, Refused

ENTRIES = [
    Refused(
        f"run{number}", FailureKind.NOT_FINITE, f"Column 'µ' of sample {number} is nan.", {"a": number / 3}, "runs/x"
    )
    for number in range(4)
]


def kept(folder: Path) -> Quarantine:
    quarantine = Quarantine(folder)
    for entry in ENTRIES:
        assert quarantine.add(entry)
    return quarantine


def test_entries_come_back_and_are_kept_once(tmp_path: Path) -> None:
    assert Quarantine(tmp_path / "d").entries() == ()
    quarantine = kept(tmp_path / "d")
    assert not quarantine.add(ENTRIES[2])
    assert not Quarantine(tmp_path / "d").add(ENTRIES[2])
    again = Quarantine(tmp_path / "d").entries()
    assert [entry.reason for entry in again] == [entry.reason for entry in ENTRIES]
    assert again[1].kind is FailureKind.NOT_FINITE
    assert again[1].inputs == {"a": pytest.approx(1 / 3, rel=1e-11)}


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    kept(tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        before = Quarantine(tmp_path).entries()
        assert before == Quarantine(tmp_path).entries()
        assert len(before) == whole[:size].count(b"\n")
        Quarantine(tmp_path).add(Refused("new", FailureKind.NOT_PHYSICAL, "No."))
        assert [entry.run_id for entry in Quarantine(tmp_path).entries()] == [*(e.run_id for e in before), "new"]


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    kept(tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, len(whole) - 1)
    for place in range(0, last, 8):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(IntegrityError, match=r"Line \d of .*quarantine\.jsonl is damaged.*remove it"):
            Quarantine(tmp_path).entries()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quarantine = kept(tmp_path)
    before = (tmp_path / NAME).read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            quarantine.add(Refused("new", FailureKind.NOT_PHYSICAL, "No."))
    assert (tmp_path / NAME).read_bytes() == before
    assert quarantine.add(Refused("new", FailureKind.NOT_PHYSICAL, "No."))
