"""Torn ends, clocks and readers that look while somebody writes."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from surrogate.core.errors import StorageError
from surrogate.core.lock import Lease
from tests.support.journalled import finished, opened, planned, run_id
from workflows import journal_reader
from workflows.journal import Journal, JournalState, read_state, tail


def test_a_torn_end_is_dropped_and_told_where_no_commit_was_finished(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(0))
        journal.commit()
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(finished(0) | {"event": "of.a.later.version"})
        for number in range(1, 4):
            journal.append(planned(number))
        journal.commit()
        path = folder / str(journal.position.name)
        start = path.read_bytes().index(b"[2,2,")
    content = path.read_bytes()
    (folder / "newest").unlink()  # it is written behind the commit
    for end in (start - 18, start, start + 40, len(content) - 1):
        path.write_bytes(content[:end])
        loaded = read_state(folder)
        assert loaded is not None
        assert loaded.torn < end
    path.write_bytes(content[: start + 40] + bytes(300))
    with Journal.open(folder, lease, background=False) as journal:
        assert list(journal.state.runs) == [run_id(0)]
        assert any("bytes of an interrupted write" in note for note in journal.repaired)
        journal.append(planned(7))
        journal.commit()
    loaded = read_state(folder)
    assert loaded is not None
    assert list(loaded.state.runs) == [run_id(0), run_id(7)]
    assert loaded.torn == 0


def test_blocks_of_one_commit_that_reached_the_disk_out_of_order_are_a_torn_end(folder: Path, lease: Lease) -> None:
    """After a power cut a later event of the unfinished commit may be whole while an earlier one is not."""
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        journal.commit()
        pointer = (folder / "newest").read_bytes()
        for number in range(3):
            journal.append(planned(number))
        journal.commit()
        path = folder / str(journal.position.name)
    (folder / "newest").write_bytes(pointer)
    content = path.read_bytes()
    middle = content.index(b"[3,2,")
    path.write_bytes(content[:middle] + bytes(50) + content[middle + 50 :])
    with Journal.open(folder, lease, background=False) as journal:
        assert list(journal.state.runs) == [run_id(0)]
        assert "interrupted write" in journal.repaired[0]


def test_a_clock_that_was_set_back_does_not_turn_time_round(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        monkeypatch.setattr(time, "time", lambda: 0.0)
        journal.append(planned(0))
        journal.commit()
    entries, _ = tail(folder)
    assert entries[1].at >= entries[0].at > 0


def test_a_reader_looks_again_before_it_believes_damage(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        for number in range(3):
            journal.append(planned(number))
            journal.commit()
        path = folder / str(journal.position.name)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"[2,2,", b"[2,\x00,"))

    def mend(_: float) -> None:
        path.write_bytes(content)

    monkeypatch.setattr(journal_reader.time, "sleep", mend)
    loaded = read_state(folder)
    assert loaded is not None
    assert loaded.state.seq == 3


def test_a_journal_that_cannot_be_read_is_a_sentence(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(0))
    monkeypatch.setattr(journal_reader, "_BETWEEN_LOOKS_S", 0.0)

    def refuse(_: Path, *, sparse: bool) -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(journal_reader, "load", refuse)
    with pytest.raises(StorageError, match="could not be read: the system says 'Stale file handle'"):
        read_state(folder)


def test_what_is_appended_while_a_reader_reads_is_not_mistaken_for_damage(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader meets half a line at the end; before it reads on, the rest and a whole commit arrive."""
    with Journal.open(folder, lease, background=False) as journal:
        for number in range(3):
            journal.append(planned(number))
            journal.commit()
        path = folder / str(journal.position.name)
    content = path.read_bytes()
    second = content.index(b"[2,2,")
    (folder / "newest").unlink()
    path.write_bytes(content[: second + 20])
    decode = journal_reader.journal_codec.decode

    def late(blocks: Iterator[dict[str, object]], sparse: bool) -> JournalState:
        state = decode(blocks, sparse)
        path.write_bytes(content)
        return state

    monkeypatch.setattr(journal_reader.journal_codec, "decode", late)
    loaded = journal_reader.load(folder)
    assert loaded is not None
    assert loaded.state.seq == 1
