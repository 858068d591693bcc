"""Killed writers, full disks, lost leases: what was told durable is there afterwards, and nothing else is invented."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from surrogate.core.errors import LockError, StorageError
from surrogate.core.lock import Lease
from tests.support.journalled import finished, opened, plain, planned, run_id, started
from workflows import journal as journal_module
from workflows import journal_reader
from workflows.journal import Journal, JournalState, RunStatus, read_state, tail
from workflows.journal_format import list_files

WRITE_ON = """
import sys
from pathlib import Path
from surrogate.core.lock import Lease
from workflows.journal import Journal

def run_id(number):
    return f"{number:032x}"

base = Path(sys.argv[1])
lease = Lease.acquire(base / "lock", "writer")
with Journal.open(base / "journal", lease, every_s=0.001, renew_bytes=4000) as journal:
    print("open", journal.state.seq, flush=True)
    number = len(journal.state.runs)
    while True:
        journal.append({"event": "runs.planned", "runs": [{"run_id": run_id(number), "inputs": {"x": number / 3}}]})
        seq = journal.append({"event": "run.started", "run_id": run_id(number), "attempt": 1})
        number += 1
        if number % 3 == 0:
            journal.commit()
            print("durable", seq, flush=True)
"""


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[Lease]:
    with Lease.acquire(tmp_path / "lock", "surrogate run a.toml", background=False) as held:
        yield held


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_a_writer_killed_at_any_moment_loses_nothing_that_it_told_durable(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    moments = random.Random(seed)
    told = 0
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITE_ON, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        first = process.stdout.readline().split()
        time.sleep(moments.uniform(0.0, 0.25))
        process.kill()
        output, errors = process.communicate()
        assert first[0] == "open", errors
        assert int(first[1]) >= told
        told = max([told, *(int(line.split()[1]) for line in output.splitlines() if line.startswith("durable"))])
        print("killed at", told)
        loaded = read_state(tmp_path / "journal")
        assert loaded is not None
        assert loaded.repaired == []
        state = loaded.state
        assert state.seq >= told
        # Every second event plans a run, every second one starts it: an unbroken prefix.
        assert list(state.runs) == [f"{number:032x}" for number in range((state.seq - len(state.notes) + 1) // 2)]
        assert state.counts[RunStatus.PLANNED] <= 1 + len(state.notes)
    assert told > 100


def test_a_full_disk_is_told_and_the_journal_goes_on_when_there_is_room(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(0))
        journal.commit()
        durable = plain(journal.state)
        room = 30
        write = os.pwrite

        def nearly_full(handle: int, data: bytes, offset: int) -> int:
            nonlocal room
            if room <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            written = write(handle, bytes(data)[:room], offset)
            room -= written
            return written

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", nearly_full)
            for number in range(1, 4):
                journal.append(planned(number))
                with pytest.raises(StorageError, match=r"could not be written: the disk is full\..*Make room"):
                    journal.commit()
                assert "disk is full" in journal.problem
                loaded = read_state(folder)
                assert loaded is not None
                assert plain(loaded.state) == durable
                assert loaded.torn == 0
                room = 30 * number
        journal.commit()
        assert journal.problem == ""
        before = plain(journal.state)
    loaded = read_state(folder)
    assert loaded is not None
    assert plain(loaded.state) == before
    assert list(loaded.state.runs) == [run_id(number) for number in range(4)]


def test_a_flush_that_fails_begins_a_new_file(folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(0))
        journal.commit()

        def fail(_: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", fail)
            journal.append(started(0))
            with pytest.raises(StorageError, match="'Input/output error'"):
                journal.commit()
            assert journal.durable == 1
            patch.setattr(os, "fsync", fail)
            with pytest.raises(StorageError):
                journal.commit()
            assert journal.durable == 1
        assert journal.commit() == 2
        before = plain(journal.state)
        _, position = tail(folder)
        assert position is not None
        assert position.name.generation == 2
    loaded = read_state(folder)
    assert loaded is not None
    assert plain(loaded.state) == before


def test_a_disk_too_full_for_a_snapshot_lets_the_old_file_go_on(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal.open(folder, lease, background=False, renew_bytes=2000) as journal:
        with monkeypatch.context() as patch:
            patch.setattr("workflows.journal_writer.write_snapshot", full)
            problems = set()
            for number in range(40):
                journal.append(planned(number))
                assert journal.commit() == number + 1
                problems.add(journal.problem)
            assert list_files(folder)[-1].generation == 1
            assert any("disk is full" in problem for problem in problems)
        for number in range(40, 120):
            journal.append(planned(number))
            journal.commit()
        assert list_files(folder)[-1].generation > 1
        assert journal.problem == ""


def test_the_background_keeps_trying_and_a_backlog_is_bounded(
    folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "_AGAIN_S", 0.01)
    monkeypatch.setattr(journal_module, "BACKLOG_BYTES", 1000)
    with Journal.open(folder, lease, every_s=0.001) as journal:

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(StorageError, match="disk is full"):
                fill(journal, 100)
            taken = journal.state.seq
            assert 2 < taken < 20
        for _ in range(1000):
            if journal.durable == taken:
                break
            time.sleep(0.01)
        assert journal.durable == taken


def fill(journal: Journal, count: int, commit: bool = False) -> None:
    """Append until the disk refuses."""
    for number in range(count):
        journal.append(planned(number))
        if commit:
            journal.commit()


@pytest.mark.skipif(os.geteuid() != 0, reason="Mounting a small disk needs root.")
def test_a_really_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("This machine mounts no tmpfs.")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(120_000))
        with Lease.acquire(disk / "lock", "a", background=False) as lease:
            with Journal.open(disk / "journal", lease, background=False, renew_bytes=20_000) as journal:
                with pytest.raises(StorageError, match="disk is full"):
                    fill(journal, 10_000, commit=True)
                told = journal.durable
                assert told > 10
                loaded = read_state(disk / "journal")
                assert loaded is not None
                assert loaded.state.seq == told
                ballast.unlink()
                journal.append(opened())
                journal.commit()
                before = plain(journal.state)
            with Journal.open(disk / "journal", lease, background=False) as journal:
                assert plain(journal.state) == before
                assert journal.repaired == []
            with pytest.raises(OSError, match="No space"):
                ballast.write_bytes(bytes(1 << 20))
            with pytest.raises(StorageError, match="disk is full"):
                Journal.open(disk / "journal", lease, background=False)
            loaded = read_state(disk / "journal")
            assert loaded is not None
            assert plain(loaded.state) == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


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
