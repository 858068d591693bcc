"""Reading the journal's whole state, with or without its lock."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from surrogate.core.errors import IntegrityError
from surrogate.core.storage import storage_error
from workflows import journal_codec, journal_events
from workflows.journal_format import POINTER, Entry, FileName, Position, entry_of, lines, list_files, read_pointer
from workflows.journal_snapshot import Snapshot
from workflows.journal_state import JournalState

_TAKEN_UP = "Runs whose results are still there are taken up again."
_LOOKS = 4
_BETWEEN_LOOKS_S = 0.1


@dataclass(slots=True)
class Loaded:
    """The journal as it was read.

    Attributes:
        state: Behind the last whole event.
        uid: Identity of the journal.
        position: Behind the last whole event.
        repaired: What had to be repaired, as sentences.
        torn: Bytes behind the last whole event that are no whole event: being written now, or torn.
        damaged: Files that are damaged and were made good from others.
    """

    state: JournalState
    uid: str
    position: Position
    repaired: list[str] = field(default_factory=list)
    torn: int = 0
    damaged: list[Path] = field(default_factory=list)


def load(folder: Path, *, sparse: bool = False) -> Loaded | None:
    """Read the newest state, or return None where there is no journal.

    Args:
        folder: The journal's folder.
        sparse: Whether single runs are of no interest: `state.runs` is then filled only as far as events need it.

    Raises:
        IntegrityError: If a file is damaged elsewhere than at its torn end, or is missing; names file, byte, way out.
        DataError: If a newer version of this program wrote it.
        FileNotFoundError: If the writer replaced a file meanwhile: read again.
    """
    told = ""
    pointer = None
    try:
        pointer = read_pointer(folder)  # before the events: it must never know of more than was there to be read
    except IntegrityError as error:
        told = str(error)
    names = list_files(folder)
    newest = names[-1] if names else None
    if pointer is not None and (newest is None or newest < pointer.name):
        raise IntegrityError(
            f"The journal file {folder / str(pointer.name)} is missing, and it is the newest. {_give_up(folder)}"
        )
    if newest is None:
        return None
    loaded = _load_file(folder, newest, None, sparse)
    if pointer is not None and pointer.name == newest and loaded.state.seq < pointer.seq:
        raise IntegrityError(
            f"The journal {folder / str(newest)} holds whole events up to byte {loaded.position.offset} (number "
            f"{loaded.state.seq}), and {pointer.seq} had been written: it was cut or damaged. {_give_up(folder)}"
        )
    if pointer is None and loaded.state.seq:
        told = told or f"{folder / POINTER} was missing"
        loaded.repaired.insert(0, f"{told}; whether the last events are gone cannot be told without it.")
    return loaded


def read_state(folder: Path, *, sparse: bool = False) -> Loaded | None:
    """Read the newest state while somebody else may be writing; None where there is no journal.

    What looks damaged is looked at again, since a file may be seen half-way through a change.

    Args:
        folder: The journal's folder.
        sparse: As in `load`.

    Raises:
        IntegrityError, DataError: As `load`.
        StorageError: If a file cannot be read.
    """
    for _ in range(_LOOKS - 1):
        try:
            loaded = load(folder, sparse=sparse)
            if loaded is None or not loaded.repaired:
                return loaded
        except (OSError, IntegrityError):
            pass  # looked at again; the last look tells
        time.sleep(_BETWEEN_LOOKS_S)
    try:
        return load(folder, sparse=sparse)
    except OSError as error:
        raise storage_error(folder, error, "read") from error


def _load_file(folder: Path, name: FileName, upto: int | None, sparse: bool) -> Loaded:
    """Read one file; a damaged snapshot is rebuilt from the file before it.

    Args:
        folder: The journal's folder.
        name: File to read.
        upto: Number of the last event that counts, or None for all.
        sparse: As in `load`.
    """
    path = folder / str(name)
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        snapshot = Snapshot(stream, path)
        state: JournalState | None = None
        try:
            blocks = snapshot.blocks(journal_codec.REST if sparse else None)
            state = journal_codec.decode(blocks, sparse)
        except (StopIteration, RuntimeError, LookupError, TypeError, ValueError) as error:
            if snapshot.damaged_at < 0:
                raise IntegrityError(f"The snapshot in {path} makes no sense: {error}. {_restore(path)}") from error
        header = snapshot.header
        if state is None or header is None or snapshot.damaged_at >= 0:
            loaded = _rebuild(folder, name, snapshot, sparse)
        else:
            loaded = Loaded(state, header.uid, Position(name, snapshot.events_at, state.seq))
        end = _replay(loaded.state, path, name, lines(stream, snapshot.events_at, size), upto=upto)
    end = max(end, snapshot.events_at)
    if upto is not None and loaded.state.seq != upto:
        raise IntegrityError(
            f"The journal {path} ends at event {loaded.state.seq}, and {upto} was needed. {_restore(path)}"
        )
    loaded.position = Position(name, end, loaded.state.seq)
    loaded.torn = size - end if upto is None else 0
    return loaded


def _rebuild(folder: Path, name: FileName, snapshot: Snapshot, sparse: bool) -> Loaded:
    """Return the state at the end of a damaged snapshot, from the file before it."""
    path, where = folder / str(name), snapshot.damaged_at
    if not snapshot.ends:
        snapshot.skip()
    header = snapshot.header
    size = path.stat().st_size
    # Without its last line a file may have been cut, and events with it: that is for a person to decide.
    if header is None or (not snapshot.ends and snapshot.events_at >= size):
        raise IntegrityError(f"The journal {path} is damaged at byte {where}, inside its snapshot. {_restore(path)}")
    told = f"The snapshot in {path} was damaged at byte {where}"
    if header.after == 0:
        return Loaded(JournalState(), header.uid, Position(name, 0, 0), [f"{told}; it was empty."], damaged=[path])
    if header.previous is None:
        raise IntegrityError(f"The journal {path} is damaged at byte {where}, inside its snapshot. {_restore(path)}")
    try:
        loaded = _load_file(folder, header.previous, header.after, sparse)
    except (OSError, IntegrityError) as error:
        raise IntegrityError(
            f"The journal {path} is damaged at byte {where}, inside its snapshot, and cannot be rebuilt from the file "
            f"before it. {error} {_restore(path)}"
        ) from error
    if loaded.uid != header.uid:
        raise IntegrityError(
            f"The journal {path} is damaged at byte {where}, inside its snapshot, and {header.previous} beside it "
            f"belongs to another campaign. {_restore(path)}"
        )
    loaded.repaired.append(f"{told}; it was rebuilt from {header.previous}, and nothing is lost.")
    loaded.damaged.append(path)
    return loaded


def _replay(
    state: JournalState, path: Path, name: FileName, rest: Iterator[tuple[int, bytes]], *, upto: int | None
) -> int:
    """Apply the events of a file to the state; return the byte behind the last one that counts, 0 for none.

    Raises:
        IntegrityError: If one is damaged and events of later commits follow.
    """
    end = 0
    for offset, line in rest:
        if state.seq == upto:
            return offset
        end = offset + len(line)
        entry = entry_of(line)
        if entry is None or entry.seq != state.seq + 1 or entry.token != name.token:
            _judge(state.seq + 1, path, offset, entry, rest)
            return offset
        try:
            journal_events.apply(state, entry.event, entry.at)
        except (LookupError, TypeError, ValueError) as error:
            raise IntegrityError(
                f"Event {entry.seq} of the journal {path} (byte {offset}) makes no sense: {error!r}. {_restore(path)}"
            ) from error
    return end


def _judge(wanted: int, path: Path, offset: int, found: Entry | None, rest: Iterator[tuple[int, bytes]]) -> None:
    """Raise unless what stands at `offset` is the torn end of an interrupted write."""
    later = found
    while later is None or later.first <= wanted:
        following = next(rest, None)
        if following is None:
            if found is None:
                return
            break
        later = entry_of(following[1])
    raise IntegrityError(
        f"The journal {path} is damaged at byte {offset}: event {wanted} is not as it was written, and later ones are, "
        "so this is not the end of an interrupted write. Restore the file from a copy; or give up event "
        f"{wanted} and all later ones with: truncate -s {offset} {_quoted(path)} && rm {_quoted(path.parent / POINTER)}"
        f"; then resume. {_TAKEN_UP}"
    )


def _restore(path: Path) -> str:
    """Return the way out when a file cannot be used at all."""
    return (
        "Restore it from a copy; or go back to the state before it with: "
        f"rm {_quoted(path)} {_quoted(path.parent / POINTER)}; then resume. {_TAKEN_UP}"
    )


def _give_up(folder: Path) -> str:
    """Return the way out when events are gone."""
    return (
        f"Restore it from a copy; or go on with what is there: rm {_quoted(folder / POINTER)}; then resume. {_TAKEN_UP}"
    )


def _quoted(path: Path) -> str:
    """Return a path as it must be typed."""
    return shlex.quote(str(path))
