"""The history is whole, repaired, or refused; never silently wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.core.errors import IntegrityError
from surrogate.registry.history import CURRENT, HISTORY, History, current_of, promotions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    history = History(tmp_path)
    for version in ("v1", "v2", "v3"):
        history.append("added", version)
        history.append("promoted", version, note="größer")
    history.append("rolled_back", "v2")
    return tmp_path


def test_events_come_back_in_order(folder: Path):
    entries = History(folder).read()
    assert [entry.sequence for entry in entries] == [1, 2, 3, 4, 5, 6, 7]
    assert promotions(entries) == ["v1", "v2"]
    assert current_of(entries) == "v2"
    assert entries[3].note == "größer"
    assert entries[6].previous == "v3"


def test_a_line_that_was_being_written_never_counted(folder: Path):
    path = folder / HISTORY
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"sequence": 8, "event": "promo')
    assert current_of(History(folder).read()) == "v2"
    History(folder).append("promoted", "v1")
    entries = History(folder).read()
    assert len(entries) == 8
    assert current_of(entries) == "v1"
    assert path.read_bytes().startswith(whole)


def test_a_history_whose_last_event_was_not_seen_yet_is_whole(folder: Path):
    """A writer that dies between the history and `current.json` has made its event happen."""
    seen = (folder / CURRENT).read_bytes()
    History(folder).append("promoted", "v1")
    (folder / CURRENT).write_bytes(seen)
    assert current_of(History(folder).read()) == "v1"


def test_lost_lines_are_missed(folder: Path):
    path = folder / HISTORY
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(IntegrityError, match=r"lines were lost or altered.*Restore"):
        History(folder).read()
    path.unlink()
    with pytest.raises(IntegrityError, match="holds 0 events"):
        History(folder).read()


def test_every_damaged_byte_is_found_or_harmless(folder: Path):
    """Flip a bit or cut the file at every 16th byte: refused in a sentence with the way out, or the same events."""
    path = folder / HISTORY
    whole = path.read_bytes()
    truth = [entry.line for entry in History(folder).read()]
    for offset in range(0, len(whole), 16):
        flipped = bytearray(whole)
        flipped[offset] ^= 0x04
        for damaged in (bytes(flipped), whole[:offset]):
            path.write_bytes(damaged)
            sentence, found = "", truth
            try:
                found = [entry.line for entry in History(folder).read()]
            except IntegrityError as error:
                sentence = str(error)
            assert found == truth, offset
            assert sentence == "" or (HISTORY in sentence and "Restore" in sentence)


def test_a_damaged_pointer_is_said(folder: Path):
    path = folder / CURRENT
    for text in ("", "{}", "[]", '{"sequence": 0, "entry_sha256": ""}', '{"sequence": "x", "entry_sha256": ""}'):
        path.write_text(text)
        with pytest.raises(IntegrityError, match=r"current\.json is damaged.*delete"):
            History(folder).read()
    path.unlink()
    assert current_of(History(folder).read()) == "v2"
    History(folder).append("promoted", "v3")
    assert path.exists()


def test_no_history_is_no_event(tmp_path: Path):
    assert History(tmp_path).read() == []
    assert current_of([]) is None
