"""A writer whose lease went to somebody else: what it still writes is neither read nor told durable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from surrogate.core.errors import LockError
from surrogate.core.lock import Lease
from tests.support.journalled import opened, planned, run_id
from workflows.journal import Journal, read_state, tail
from workflows.journal_format import list_files


def test_a_writer_whose_lease_is_lost_writes_nothing(folder: Path, tmp_path: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        journal.commit()
        journal.append(planned(0))
        content = (folder / str(journal.position.name)).read_bytes()
        taker = succeed(lease, tmp_path)
        for _ in range(2):
            with pytest.raises(LockError, match="taken over"):
                journal.commit()
        with pytest.raises(LockError, match="taken over"):
            journal.append(planned(1))
        assert (folder / str(list_files(folder)[-1])).read_bytes() == content
        assert journal.durable == 1
        journal._waiting.clear()
    taker.release()


def succeed(lease: Lease, tmp_path: Path) -> Lease:
    """Take the lock over, as a process elsewhere would that saw no heartbeat."""
    claim = tmp_path / "lock" / f"{lease.token:08d}.claim"
    claim.write_bytes(b"")
    return Lease.acquire(tmp_path / "lock", "taker", background=False, heartbeat_s=0.01, stale_s=0.02)


def test_what_a_fenced_writer_still_writes_is_neither_read_nor_told_durable(
    folder: Path, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: the old writer has checked its lease, and is held up before it writes."""
    old = Journal.open(folder, lease, background=False)
    old.append(planned(0))
    old.commit()
    reader = read_state(folder)
    assert reader is not None
    old.append(planned(1))
    takers: list[tuple[Lease, Journal]] = []
    write = os.pwrite

    def late(handle: int, data: bytes, offset: int) -> int:
        if not takers:
            taker = succeed(lease, tmp_path)
            takers.append((taker, Journal.open(folder, taker, background=False)))
        return write(handle, data, offset)

    monkeypatch.setattr(os, "pwrite", late)
    with pytest.raises(LockError, match="taken over"):
        old.commit()
    assert old.durable == 1
    ((taker, new),) = takers
    assert list(new.state.runs) == [run_id(0)]
    new.append(planned(2))
    new.commit()
    loaded = read_state(folder)
    assert loaded is not None
    assert list(loaded.state.runs) == [run_id(0), run_id(2)]
    # A reader that follows the old file is told to read again, or goes over to the new one; it never mixes both.
    entries, _ = tail(folder, reader.position)
    assert [entry.event["runs"][0]["run_id"] for entry in entries if "runs" in entry.event] == [run_id(2)]
    old._waiting.clear()
    old.close()
    new.close()
    taker.release()


def test_a_fenced_writer_that_compacts_harms_nobody(
    folder: Path, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its snapshot is finished and named after another has taken over and gone on for a while."""
    old = Journal.open(folder, lease, background=False)
    old.append(planned(0))
    old.commit()
    taker = succeed(lease, tmp_path)
    new = Journal.open(folder, taker, background=False)
    new.append(planned(1))
    new.commit()
    monkeypatch.setattr(Lease, "check", lambda _: None)
    old._writer.renew(old.state)
    monkeypatch.undo()
    assert len(list_files(folder)) > 2
    new.append(planned(2))
    new.commit()
    loaded = read_state(folder)
    assert loaded is not None
    assert loaded.repaired == []
    assert list(loaded.state.runs) == [run_id(0), run_id(1), run_id(2)]
    new._writer.renew(new.state)
    new._writer.renew(new.state)
    assert len(list_files(folder)) == 2
    old.close()
    new.close()
    taker.release()
