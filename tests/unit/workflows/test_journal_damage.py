"""A journal cut or changed at any byte is repaired and says so, or is refused by name; it is never wrong in silence."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from surrogate.core.errors import IntegrityError
from surrogate.core.lock import Lease
from tests.support.journalled import failed, finished, opened, packed, plain, planned, started
from workflows import journal_codec, journal_reader
from workflows.journal import Journal, Loaded, read_state
from workflows.journal_reader import load


@dataclass
class Sample:
    """A small journal of two files: events behind a snapshot, and the file before.

    Attributes:
        folder: Where it stands.
        newest: The file that counts.
        before: The file before it.
        states: State behind each event, as plain data.
        commits: Numbers of the last events of the commits in the newest file.
    """

    folder: Path
    newest: Path
    before: Path
    states: list[object]
    commits: list[int]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    base = tmp_path_factory.mktemp("sample")
    folder = base / "journal"
    states: list[object] = []
    commits = []
    first = [[opened(), planned(0, 1, 2)], [started(0), finished(0)]]
    second = [[packed(0)], [started(1), failed(1)], [started(2)], [finished(2)]]
    with pytest.MonkeyPatch.context() as patch, Lease.acquire(base / "lock", "a", background=False) as lease:
        patch.setattr(journal_codec, "RUNS_PER_BLOCK", 2)
        for groups in (first, second):
            with Journal.open(folder, lease, background=False) as journal:
                states = states or [plain(journal.state)]
                for group in groups:
                    for event in group:
                        journal.append(event)
                        states.append(plain(journal.state))
                    commits.append(journal.commit())
    before, newest = sorted(folder.glob("*.journal"))
    return Sample(folder, newest, before, states, commits[2:])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_reader, "_BETWEEN_LOOKS_S", 0.0)
    monkeypatch.setattr(journal_codec, "RUNS_PER_BLOCK", 2)


def flipped(content: bytes, offset: int) -> bytes:
    return content[:offset] + bytes([content[offset] ^ (1 << offset % 8)]) + content[offset + 1 :]


def cut(content: bytes, offset: int) -> bytes:
    return content[:offset]


def zeroed(content: bytes, offset: int) -> bytes:
    return content[:offset] + bytes(len(content) - offset)


def blot(content: bytes, offset: int) -> bytes:
    """Destroy a stretch, ends of lines included."""
    return content[:offset] + b"\xff" * 40 + content[offset + 40 :]


def damaged(content: bytes, change: Callable[[bytes, int], bytes], every: int = 0) -> Iterator[bytes]:
    """Yield the damaged content for every byte, or every so many."""
    for offset in range(0, len(content), every or (1 if change is flipped else 5)):
        worse = change(content, offset)
        if worse != content:
            yield worse


def refuses_well(error: IntegrityError, path: Path) -> None:
    """A refusal names the file and the way out."""
    assert str(path) in str(error), error
    assert re.search(r"Restore (it|the file) from a copy; or .*; then resume", str(error)), error


def seen(sample: Sample, folder: Path, path: Path) -> Loaded | None:
    """Load a damaged journal; it must be right, or told, or refused by the file's name."""
    try:
        loaded = load(folder)
    except IntegrityError as error:
        refuses_well(error, path)
        return None
    assert loaded is not None
    number = loaded.state.seq
    assert plain(loaded.state) == sample.states[number]
    if number < len(sample.states) - 1:
        assert loaded.repaired or loaded.torn
    return loaded


@pytest.mark.parametrize("change", [pytest.param(flipped, marks=pytest.mark.slow), cut, zeroed, blot])
def test_the_newest_file_at_every_byte(sample: Sample, tmp_path: Path, change: Callable[[bytes, int], bytes]) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(sample.folder, folder)
    path = folder / sample.newest.name
    content = path.read_bytes()
    outcomes = {"whole": 0, "refused": 0}
    for worse in damaged(content, change):
        path.write_bytes(worse)
        loaded = seen(sample, folder, path)
        assert loaded is None or loaded.state.seq == len(sample.states) - 1, (
            "the pointer tells of the events that are gone"
        )
        outcomes["refused" if loaded is None else "whole"] += 1
    assert outcomes["refused"] > 0
    # One changed byte in a snapshot is made good from the file before it.
    assert (outcomes["whole"] > 0) == (change in (flipped, blot))


@pytest.mark.parametrize("change", [flipped, cut, zeroed, blot])
def test_the_newest_file_at_every_byte_without_its_pointer(
    sample: Sample, tmp_path: Path, change: Callable[[bytes, int], bytes]
) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(sample.folder, folder)
    (folder / "newest").unlink()
    path = folder / sample.newest.name
    numbers = set()
    for worse in damaged(path.read_bytes(), change, every=5):
        path.write_bytes(worse)
        loaded = seen(sample, folder, path)
        if loaded is not None:
            numbers.add(loaded.state.seq)
            assert loaded.repaired
    assert len(numbers) > 1


@pytest.mark.parametrize("change", [flipped, cut])
def test_the_pointer_at_every_byte(sample: Sample, tmp_path: Path, change: Callable[[bytes, int], bytes]) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(sample.folder, folder)
    path = folder / "newest"
    for worse in damaged(path.read_bytes(), change):
        path.write_bytes(worse)
        loaded = seen(sample, folder, path)
        assert loaded is not None
        assert loaded.state.seq == len(sample.states) - 1
        assert "newest was damaged" in loaded.repaired[0]


def test_both_files_damaged(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(sample.folder, folder)
    newest, before = folder / sample.newest.name, folder / sample.before.name
    newest.write_bytes(flipped(newest.read_bytes(), 300))
    refused = 0
    for change in (flipped, cut):
        for worse in damaged(sample.before.read_bytes(), change, every=7):
            before.write_bytes(worse)
            refused += seen(sample, folder, newest) is None
    assert refused > 10
    before.unlink()
    assert seen(sample, folder, newest) is None


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_writer_goes_on_at_every_64th_byte(
    sample: Sample, tmp_path: Path, change: Callable[[bytes, int], bytes]
) -> None:
    opened_again = 0
    for offset, worse in enumerate(damaged(sample.newest.read_bytes(), change, every=64)):
        folder = tmp_path / str(offset) / "journal"
        shutil.copytree(sample.folder, folder)
        (folder / sample.newest.name).write_bytes(worse)
        if offset % 2:
            (folder / "newest").unlink()
        with Lease.acquire(folder.parent / "lock", "b", background=False) as lease:
            try:
                journal = Journal.open(folder, lease, background=False)
            except IntegrityError as error:
                refuses_well(error, folder / sample.newest.name)
                continue
            with journal:
                opened_again += 1
                told = len(journal.repaired)
                assert journal.state.notes == journal.repaired
                journal.append(opened("driver-2"))
                journal.commit()
                before = plain(journal.state)
            with Journal.open(folder, lease, background=False) as journal:
                assert journal.repaired == []
                assert len(journal.state.notes) == told
                before[0]["seq"] = journal.state.seq
                assert plain(journal.state) == before
            assert len(list(folder.glob("*.damaged"))) <= 1
    assert opened_again > 0


def way_out(error: IntegrityError) -> str:
    """Return the command that a refusal names."""
    found = re.search(r"; or .*?: (.*?); then resume", str(error))
    assert found, error
    return found[1]


def test_the_way_out_that_a_refusal_names_works(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "a 'journal'"
    shutil.copytree(sample.folder, folder)
    path = folder / sample.newest.name
    content = path.read_bytes()
    tried = set()
    for offset in (
        10,
        content.rindex(b'{"end"') + 3,
        content.index(b"run.failed"),
        len(content) - 9,
        len(content) - 200,
    ):
        for change in (flipped, cut):
            path.write_bytes(change(content, offset))
            shutil.copy(sample.before, folder)
            shutil.copy(sample.folder / "newest", folder)
            try:
                load(folder)
            except IntegrityError as error:
                command = way_out(error)
                subprocess.run(command, shell=True, check=True)
                tried.add(command.split()[0])
                loaded = load(folder)
                assert loaded is not None
                assert plain(loaded.state) == sample.states[loaded.state.seq]
                assert loaded.repaired
    assert tried == {"rm", "truncate"}


def test_a_newest_file_that_was_removed_is_missed(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(sample.folder, folder)
    (folder / sample.newest.name).unlink()
    with pytest.raises(IntegrityError, match=f"{sample.newest.name} is missing"):
        load(folder)
    (folder / sample.before.name).unlink()
    with pytest.raises(IntegrityError, match=f"{sample.newest.name} is missing"):
        read_state(folder)


def test_events_that_were_taken_out_or_exchanged_are_missed(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(sample.folder, folder)
    path = folder / sample.newest.name
    lines = sample.newest.read_bytes().splitlines(keepends=True)
    ends = next(number for number, line in enumerate(lines) if b'{"end"' in line)
    path.write_bytes(b"".join(lines[:ends] + lines[ends + 1 :]))
    whole = seen(sample, folder, path)
    assert whole is not None
    assert whole.state.seq == len(sample.states) - 1
    for number in range(ends + 1, len(lines)):
        path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        assert seen(sample, folder, path) is None
    path.write_bytes(b"".join([*lines[:-2], lines[-1], lines[-2]]))
    assert seen(sample, folder, path) is None
    path.write_bytes(b"".join([*lines, lines[-1]]))
    assert seen(sample, folder, path) is None


def test_a_file_of_another_campaign_is_not_used_for_a_repair(sample: Sample, tmp_path: Path) -> None:
    folder, other = tmp_path / "journal", tmp_path / "other"
    shutil.copytree(sample.folder, folder)
    with Lease.acquire(tmp_path / "lock", "b", background=False) as lease, Journal.open(other, lease) as journal:
        for event in (opened(), planned(0, 1, 2), started(0), finished(0)):
            journal.append(event)
    shutil.copy(other / sample.before.name, folder)
    path = folder / sample.newest.name
    path.write_bytes(flipped(path.read_bytes(), 300))
    with pytest.raises(IntegrityError, match="belongs to another campaign"):
        load(folder)
