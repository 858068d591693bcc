"""The snapshot with which every file of the journal begins: written, read, and told from a damaged one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from surrogate.core.errors import DataError
from workflows import journal_codec
from workflows.journal_format import FileName, frame, lines, payload_of, to_bytes
from workflows.journal_state import JournalState

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What the first and the last line of a snapshot say.

    Attributes:
        uid: Identity of the journal.
        after: Number of the last event that the snapshot holds.
        previous: Name of the file that holds the events up to it, or None.
    """

    uid: str
    after: int
    previous: FileName | None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {"uid": self.uid, "after": self.after, "previous": str(self.previous) if self.previous else None}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Header:
        """Rebuild it from `to_json`."""
        return cls(record["uid"], record["after"], FileName.parse(record["previous"] or ""))


def write_snapshot(path: Path, header: Header, state: JournalState) -> None:
    """Write a file that holds a snapshot and no event yet.

    Args:
        path: A new file.
        header: Identity and place.
        state: The state behind event number `header.after`.
    """
    hashed = hashlib.sha256()
    with path.open("xb") as out:
        first = {"surrogate_journal": FORMAT, **header.to_json()}
        for block in (first, *journal_codec.encode(state)):
            line = frame(to_bytes(block))
            hashed.update(line)
            out.write(line)
        out.write(frame(to_bytes({"end": True, **header.to_json(), "sha256": hashed.hexdigest()})))


class Snapshot:
    """The first part of a journal file while it is read.

    Attributes:
        header: Of the first line or else the last one; None when neither is whole.
        ends: Whether its last line is whole.
        events_at: Byte at which the events begin.
        damaged_at: Byte of the first line that is not as it was written, or −1.
    """

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        """Prepare to read a file from its beginning."""
        self.header: Header | None = None
        self.ends = False
        self.events_at = 0
        self.damaged_at = -1
        self._path = path
        self._lines: Iterator[tuple[int, bytes]] = lines(stream, 0)
        self._hash = hashlib.sha256()

    def blocks(self, without: bytes | None = None) -> Iterator[dict[str, Any]]:
        """Yield the blocks; it ends early at damage.

        Args:
            without: How blocks begin that are checked and not yielded.

        Raises:
            DataError: If a newer version of this program wrote the file.
        """
        for offset, line in self._lines:
            payload = payload_of(line)
            if payload is None or not payload.startswith(b"{"):
                self.damaged_at = offset
                self._lines = chain([(offset, line)], self._lines)
                return
            if without is not None and payload.startswith(without):
                self._hash.update(line)
                continue
            block = json.loads(payload)
            if "end" in block:
                self._end(block, offset, line)
                return
            self._hash.update(line)
            if self.header is None:
                self.header = self._first(block, offset)
            else:
                yield block
        if self.damaged_at < 0:
            self.damaged_at = self.events_at = self._path.stat().st_size

    def skip(self) -> None:
        """Go on to the events without a look at the blocks; finds `header`, `ends` and `events_at`."""
        for offset, line in self._lines:
            payload = payload_of(line)
            if payload is not None and payload.startswith(b"["):
                self.events_at = offset
                return
            if payload is not None and payload.startswith(b'{"end"'):
                self._end(json.loads(payload), offset, line)
                return
            if payload is None and self.damaged_at < 0:
                self.damaged_at = offset
            if self.header is None and payload is not None and payload.startswith(b'{"surrogate_journal"'):
                self.header = self._first(json.loads(payload), offset)
            self._hash.update(line)
        self.events_at = self._path.stat().st_size

    def _first(self, block: dict[str, Any], offset: int) -> Header | None:
        """Return the header that a first block is."""
        if block.get("surrogate_journal", 0) > FORMAT:
            raise DataError(
                f"The journal {self._path} was written by a newer version of surrogate (its format is "
                f"{block['surrogate_journal']}, this version reads {FORMAT}). Update surrogate, then resume."
            )
        if "surrogate_journal" not in block:
            self.damaged_at = offset
            return None
        return Header.from_json(block)

    def _end(self, block: dict[str, Any], offset: int, line: bytes) -> None:
        """Take in the last line."""
        last = Header.from_json(block)
        whole = self.damaged_at < 0 and self.header == last and block["sha256"] == self._hash.hexdigest()
        if not whole and self.damaged_at < 0:
            self.damaged_at = 0
        self.header = self.header or last
        self.ends = True
        self.events_at = offset + len(line)
