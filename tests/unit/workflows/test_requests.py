"""Requests to the holder of a campaign: each is journalled exactly once, whenever the holder dies."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from surrogate.core import files
from surrogate.core.errors import StorageError
from surrogate.core.lock import Lease
from workflows.journal import Journal, tail
from workflows.requests import leave_request, serving, take_requests


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "requests"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with (
        Lease.acquire(tmp_path / "lock", "a", background=False) as lease,
        Journal.open(tmp_path / "journal", lease, background=False) as opened,
    ):
        yield opened


def test_requests_are_taken_in_order_and_stay_until_they_are_done(folder: Path, journal: Journal) -> None:
    assert take_requests(folder, journal) == []
    first = leave_request(folder, "stop")
    second = leave_request(folder, "approve", name="A. Scientist", note="looks right")
    assert take_requests(folder, journal) == [first, second]
    assert list(folder.iterdir()) == []
    assert second.values == {"name": "A. Scientist", "note": "looks right"}
    assert second.user
    journal.append({"event": "request.done", "id": first.id})
    assert take_requests(folder, journal) == [second]


def test_a_holder_killed_between_the_journal_and_the_file_takes_a_request_once(
    folder: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = leave_request(folder, "stop")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            take_requests(folder, journal)
    assert len(list(folder.iterdir())) == 1
    assert take_requests(folder, journal) == [request]
    assert list(folder.iterdir()) == []
    journal.append({"event": "request.done", "id": request.id})
    (folder / f"{request.id}.json").write_text("{}")
    assert take_requests(folder, journal) == []
    journal.commit()
    entries, _ = tail(journal.folder)
    assert [entry.event["event"] for entry in entries] == ["request.taken", "request.done"]


def test_a_request_waits_while_the_disk_is_full(
    folder: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_request(folder, "stop")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", full)
        with pytest.raises(StorageError, match="disk is full"):
            take_requests(folder, journal)
    assert len(list(folder.iterdir())) == 1
    assert len(take_requests(folder, journal)) == 1


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"kind": "stop", "values": 3, "user": "", "host": ""}', '{"kin'])
def test_a_damaged_request_is_set_aside_and_told(folder: Path, journal: Journal, content: str) -> None:
    request = leave_request(folder, "stop")
    (folder / f"{request.id}.json").write_text(content)
    good = leave_request(folder, "cancel")
    assert take_requests(folder, journal) == [good]
    assert [path.name for path in folder.iterdir()] == [f"{request.id}.damaged"]
    assert request.id in journal.state.notes[0]
    assert "Ask again." in journal.state.notes[0]


def test_a_request_that_cannot_be_left_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StorageError, match="quota of disk space is used up"):
        leave_request(folder, "stop")
    assert list(folder.iterdir()) == []


def wait_for(condition: threading.Event) -> None:
    assert condition.wait(20.0)


def test_a_request_to_stop_reaches_the_campaign_as_a_signal_does(folder: Path, journal: Journal) -> None:
    came, said = threading.Event(), []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.set())
    try:
        with serving(folder, journal, said.append, every_s=0.01):
            leave_request(folder, "stop")
            wait_for(came)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert journal.state.requests == {}
    assert "asked the campaign to stop" in said[0]
    assert list(folder.iterdir()) == []


def test_a_request_to_stop_an_earlier_driver_stops_no_later_one(folder: Path, journal: Journal) -> None:
    leave_request(folder, "stop")
    with serving(folder, journal, lambda words: None, every_s=0.01):
        assert journal.state.requests == {}


def test_what_is_asked_and_not_known_is_refused_in_the_journal(folder: Path, journal: Journal) -> None:
    told = threading.Event()
    with serving(folder, journal, lambda words: told.set(), every_s=0.01):
        leave_request(folder, "make coffee")
        wait_for(told)
    assert journal.state.requests == {}
    assert "asked for 'make coffee'" in journal.state.notes[0]
