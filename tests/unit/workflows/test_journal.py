"""The journal's writer: what is appended is in the state at once, and on disk after a commit."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from surrogate.core.errors import DataError, LockError
from surrogate.core.lock import Lease
from tests.support.journalled import failed, finished, opened, packed, plain, planned, run_id, started
from workflows.journal import Journal, RunStatus, read_state
from workflows.journal_format import frame, list_files, to_bytes


def test_the_state_survives_closing_and_a_new_holder(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        assert journal.created
        for event in (opened(), planned(0, 1, 2), started(0), finished(0), started(1), failed(1), packed(0)):
            journal.append(event)
        assert journal.durable == 0
        assert journal.commit() == journal.durable == 7
        before, uid = plain(journal.state), journal.uid
    for _ in range(3):
        with Journal.open(folder, lease, background=False) as journal:
            assert not journal.created
            assert journal.repaired == []
            assert plain(journal.state) == before
            assert journal.uid == uid
    loaded = read_state(folder)
    assert loaded is not None
    assert plain(loaded.state) == before
    assert loaded.torn == 0


def test_there_is_no_state_where_there_is_no_journal(tmp_path: Path) -> None:
    assert read_state(tmp_path / "nowhere") is None


def test_what_was_appended_is_committed_in_the_background(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, every_s=0.01) as journal:
        number = journal.append(opened())
        for _ in range(1000):
            if journal.durable == number:
                break
            threading.Event().wait(0.01)
        assert journal.durable == number


def test_closing_commits(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
    loaded = read_state(folder)
    assert loaded is not None
    assert loaded.state.uids == ["driver-1"]
    with pytest.raises(LockError, match="was closed"):
        journal.append(opened())
    with pytest.raises(LockError, match="was closed"):
        journal.commit()
    journal.close()


def test_many_threads_append_and_commit(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, every_s=0.001, renew_bytes=20_000) as journal:
        journal.append(planned(*range(400)))

        def work(first: int) -> None:
            for number in range(first, first + 50):
                journal.append(started(number))
                seq = journal.append(finished(number))
                assert journal.commit() >= seq

        threads = [threading.Thread(target=work, args=(50 * part,)) for part in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        before = plain(journal.state)
    loaded = read_state(folder)
    assert loaded is not None
    assert plain(loaded.state) == before
    assert loaded.state.counts[RunStatus.DONE] == 400


def test_the_files_stay_few_and_small_while_events_go_on(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False, renew_bytes=10_000) as journal:
        journal.append(planned(*range(20)))
        for round_ in range(300):
            journal.append(started(round_ % 20))
            journal.append(failed(round_ % 20))
            journal.commit()
            assert len(list(folder.iterdir())) <= 3
        assert list_files(folder)[-1].generation > 5
        assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000
        before = plain(journal.state)
    loaded = read_state(folder)
    assert loaded is not None
    assert plain(loaded.state) == before


@pytest.mark.parametrize("event", [{"event": "x", "value": float("nan")}, {"event": "x", "value": {1, 2}}, {"x": 1}])
def test_what_is_no_event_is_refused_and_changes_nothing(folder: Path, lease: Lease, event: dict[str, object]) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        with pytest.raises((TypeError, ValueError)):
            journal.append(event)
        assert journal.state.seq == 0
        assert journal.append(opened()) == 1


def test_the_token_is_raised_above_all_that_were_written(folder: Path, tmp_path: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False):
        pass
    lease.raise_above(70)
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
    with (
        Lease.acquire(tmp_path / "lock after a loss", "b", background=False) as other,
        Journal.open(folder, other, background=False) as journal,
    ):
        assert other.token == 72
        assert journal.state.uids == ["driver-1"]


def test_an_error_under_way_is_not_hidden_by_one_of_closing(folder: Path, lease: Lease) -> None:
    def work() -> None:
        with Journal.open(folder, lease, background=False) as journal:
            journal.append(opened())
            lease.release()
            raise KeyError("the first")

    with pytest.raises(KeyError) as caught:
        work()
    assert "was released" in caught.value.__notes__[0]


def test_a_child_process_cannot_write(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        journal._pid = os.getpid() + 1
        with pytest.raises(LockError, match="not to a child"):
            journal.commit()
        journal._pid = os.getpid()


def test_a_journal_of_a_newer_version_is_refused(folder: Path, lease: Lease) -> None:
    folder.mkdir()
    newer = {"surrogate_journal": 99, "uid": "u", "after": 0, "previous": None}
    (folder / "00000001-00000001.journal").write_bytes(frame(to_bytes(newer)))
    with pytest.raises(DataError, match=r"newer version of surrogate.*Update surrogate"):
        Journal.open(folder, lease)


def test_left_over_temporary_files_are_removed(folder: Path, lease: Lease) -> None:
    folder.mkdir()
    (folder / ".00000003-00000002-abc.part.journal").write_bytes(b"half")
    with Journal.open(folder, lease, background=False):
        assert sorted(path.name for path in folder.iterdir()) == ["00000001-00000001.journal", "newest"]


def test_a_file_of_events_reads_as_json_lines(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(0))
        journal.append(started(0))
        journal.commit()
    last = (folder / "00000001-00000001.journal").read_bytes().splitlines()[-1]
    at = last.split(b",")[3].decode()
    event = f'{{"event":"run.started","run_id":"{run_id(0)}","attempt":1}}'
    assert last[18:].decode() == f"[2,1,1,{at},{event}]"
