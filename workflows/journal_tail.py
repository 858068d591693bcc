"""Reading what happened in the journal since one looked last, without its lock."""

from __future__ import annotations

from pathlib import Path

from workflows.journal_format import Entry, FileName, Position, entry_of, lines, list_files
from workflows.journal_snapshot import Snapshot

SKIPPED = "journal.skipped"


def tail(folder: Path, position: Position | None = None) -> tuple[list[Entry], Position | None]:
    """Return the events behind a position, across changes of file, and the position behind them.

    Args:
        folder: The journal's folder.
        position: From `read_state` or an earlier call; None for the oldest event that is still kept.

    Returns:
        Events and the position behind them. When events were missed (the file they stood in is gone) or must be taken
        back (their writer had lost the lock), there is one entry whose event is `journal.skipped`: call `read_state`
        and go on from its position.
    """
    entries: list[Entry] = []
    while True:
        try:
            names = list_files(folder)
            if position is None:
                if not names:
                    return entries, None
                position = _begin(folder, names[0])
            following = _successor(folder, position.name, names)
            if position.name not in names or (following is None and names[-1] > position.name):
                return [Entry(0, 0, 0, 0.0, {"event": SKIPPED})], position
            found, position = _read_from(folder, position, following[1] if following else None)
        except OSError:  # replaced meanwhile, or a file server's trouble: `read_state` will tell
            return [Entry(0, 0, 0, 0.0, {"event": SKIPPED})], position
        entries += found
        if following is None:
            return entries, position
        if position.seq != following[1]:
            return [Entry(0, 0, 0, 0.0, {"event": SKIPPED})], position
        position = _begin(folder, following[0])


def _begin(folder: Path, name: FileName) -> Position:
    """Return the position before the first event of a file."""
    path = folder / str(name)
    with path.open("rb") as stream:
        snapshot = Snapshot(stream, path)
        snapshot.skip()
    return Position(name, snapshot.events_at, snapshot.header.after if snapshot.header else 0)


def _successor(folder: Path, name: FileName, names: list[FileName]) -> tuple[FileName, int] | None:
    """Return the file that goes on from the file `name`, and the number of the last event that it takes over."""
    for newer in reversed(names):
        if newer > name:
            path = folder / str(newer)
            with path.open("rb") as stream:
                snapshot = Snapshot(stream, path)
                next(snapshot.blocks(), None)
            if snapshot.header is not None and snapshot.header.previous == name:
                return newer, snapshot.header.after
    return None


def _read_from(folder: Path, position: Position, upto: int | None) -> tuple[list[Entry], Position]:
    """Return the whole events of one file behind a position, up to the one numbered `upto`."""
    entries: list[Entry] = []
    offset, seq = position.offset, position.seq
    with (folder / str(position.name)).open("rb") as stream:
        for start, line in lines(stream, position.offset):
            entry = entry_of(line)
            if seq == upto or entry is None or entry.seq != seq + 1:
                break
            entries.append(entry)
            offset, seq = start + len(line), entry.seq
    return entries, Position(position.name, offset, seq)
