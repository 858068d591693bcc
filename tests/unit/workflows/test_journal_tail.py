"""Following the journal without its lock, across changes of file."""

from __future__ import annotations

import threading
from pathlib import Path

from surrogate.core.lock import Lease
from tests.support.journalled import finished, opened, plain, planned, run_id, started, summary
from workflows import journal_events
from workflows.journal import SKIPPED, Journal, Position, read_state, tail
from workflows.journal_format import FileName
from workflows.status import Follower


def test_a_tail_goes_on_where_it_stopped(folder: Path, lease: Lease) -> None:
    assert tail(folder) == ([], None)
    with Journal.open(folder, lease, background=False) as journal:
        position = None
        for number in range(5):
            journal.append(planned(number))
            journal.append(started(number))
            journal.commit()
            entries, position = tail(folder, position)
            assert [entry.seq for entry in entries] == [2 * number + 1, 2 * number + 2]
            assert entries[1].event == started(number)
            assert position == journal.position
        assert tail(folder, position) == ([], position)


def test_a_tail_goes_over_to_the_next_file_and_over_to_the_next_holder(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        journal.commit()
        _, position = tail(folder)
        journal.append(planned(0))
        journal.commit()
        journal._renew()
        journal.append(planned(1))
        journal.commit()
        entries, position = tail(folder, position)
        assert [entry.seq for entry in entries] == [2, 3]
        journal.append(planned(2))
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(3))
        journal.commit()
        entries, position = tail(folder, position)
        assert [entry.seq for entry in entries] == [4, 5]
        assert position == journal.position


def test_a_tail_that_fell_behind_is_told_to_read_again(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        journal.commit()
        _, position = tail(folder)
        for number in range(3):
            journal.append(planned(number))
            journal.commit()
            journal._renew()
        entries, _ = tail(folder, position)
        assert [entry.event["event"] for entry in entries] == [SKIPPED]
        loaded = read_state(folder)
        assert loaded is not None
        journal.append(planned(9))
        journal.commit()
        entries, _ = tail(folder, loaded.position)
        assert [entry.seq for entry in entries] == [5]


def test_a_position_of_nowhere_is_told_to_read_again(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False):
        entries, _ = tail(folder, Position(FileName(9, 9), 0, 0))
        assert entries[0].event["event"] == SKIPPED


def test_events_that_are_half_written_are_left_for_later(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(planned(0))
        journal.commit()
        journal.append(planned(1))
        journal.commit()
        path = folder / str(journal.position.name)
    content = path.read_bytes()
    position = None
    numbers = []
    for end in range(content.index(b"[1,1,") - 18, len(content) + 1, 3):
        path.write_bytes(content[:end])
        entries, position = tail(folder, position)
        numbers += [entry.seq for entry in entries]
    path.write_bytes(content)
    entries, _ = tail(folder, position)
    assert [*numbers, *(entry.seq for entry in entries)] == [1, 2]


def test_followers_see_every_event_once_and_in_order_while_files_change(tmp_path: Path, lease: Lease) -> None:
    """One writer that compacts all the time, three followers that never hold its lock."""
    count = 400
    with Journal.open(tmp_path / "journal", lease, every_s=0.001, renew_bytes=3000) as journal:
        journal.append(opened())
        journal.append(planned(*range(count)))
        journal.commit()
        done = threading.Event()
        results: list[object] = []

        def follow() -> None:
            follower = Follower(tmp_path)
            while True:
                last = done.is_set()
                follower.refresh()
                if last:
                    break
            results.append(summary(follower.loaded.state))

        followers = [threading.Thread(target=follow) for _ in range(3)]
        for thread in followers:
            thread.start()
        for number in range(count):
            journal.append(started(number))
            journal.append(finished(number))
            if number % 5 == 0:
                journal.commit()
        journal.commit()
        done.set()
        for thread in followers:
            thread.join()
        assert journal.position.name.generation > 3
        assert results == [summary(journal.state)] * 3


def test_what_was_tailed_adds_up_to_the_state(folder: Path, lease: Lease) -> None:
    with Journal.open(folder, lease, background=False) as journal:
        journal.append(opened())
        journal.append(planned(0, 1))
        journal.commit()
        loaded = read_state(folder)
        assert loaded is not None
        for event in (started(0), finished(0), started(1)):
            journal.append(event)
        journal.commit()
        entries, _ = tail(folder, loaded.position)
        for entry in entries:
            journal_events.apply(loaded.state, entry.event, entry.at)
        assert plain(loaded.state) == plain(journal.state)
        assert set(loaded.state.running) == {run_id(1)}
