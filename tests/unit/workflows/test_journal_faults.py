"""Killed writers, full disks, lost leases: what was told durable is there afterwards, and nothing else is invented."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surrogate.core.errors import StorageError
from surrogate.core.lock import Lease
from tests.support.journalled import opened, plain, planned, run_id, started
from workflows import journal as journal_module
from workflows.journal import Journal, RunStatus, read_state, tail
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
