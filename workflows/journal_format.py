"""How the journal stands on disk: frames, names, the pointer to the newest file; see `journal_snapshot`, too.

The folder holds files `GENERATION-TOKEN.journal`. Each begins with a snapshot of the whole state and goes on with the
events since; a new generation replaces it when it has grown, and whenever a holder of another fencing token opens the
journal, so that two holders never write into one file. The previous generation is kept, so that a damaged snapshot can
be rebuilt from it.

Every line is a frame: length and CRC-32 of its payload (8 hexadecimal digits each), the payload as JSON, a newline.
A snapshot is a header, blocks and a trailer with the SHA-256 of what precedes it (JSON objects); an event is

    [number, number of the first event of its commit, fencing token, seconds since 1970, event]

Events are numbered without a gap. The events of one commit are on disk before the next is begun, so a broken frame is
the torn end of an interrupted write only when no event of a later commit follows it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from surrogate.core.errors import IntegrityError

POINTER = "newest"
_PREFIX = 18  # two numbers of 8 digits, each followed by a blank
_NAME = re.compile(r"(\d{8,})-(\d{8,})\.journal")


class Entry(NamedTuple):
    """One event as it was journalled.

    Attributes:
        seq: Its number.
        first: Number of the first event of the same commit.
        token: Fencing token of the writer.
        at: When it was appended, seconds since 1970.
        event: The event.
    """

    seq: int
    first: int
    token: int
    at: float
    event: dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class FileName:
    """Name of a journal file; a later holder's file is newer than any of an earlier holder."""

    token: int
    generation: int

    def __str__(self) -> str:
        return f"{self.generation:08d}-{self.token:08d}.journal"

    @classmethod
    def parse(cls, text: str) -> FileName | None:
        """Return the name that `text` is, or None."""
        match = _NAME.fullmatch(text)
        name = cls(int(match[2]), int(match[1])) if match else None
        return name if name is not None and str(name) == text else None


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the journal from which `tail` goes on.

    Attributes:
        name: File.
        offset: Byte behind the last event that was seen.
        seq: Number of that event.
    """

    name: FileName
    offset: int
    seq: int


def to_bytes(value: Any) -> bytes:
    """Return compact JSON.

    Raises:
        TypeError: If the value is not JSON-ready.
        ValueError: If a number is not finite.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def frame(payload: bytes) -> bytes:
    """Return the line that holds a payload."""
    return b"%08x %08x %b\n" % (len(payload), zlib.crc32(payload), payload)


def payload_of(line: bytes) -> bytes | None:
    """Return the payload of a line, or None when not every byte of it is as it was written."""
    payload = line[_PREFIX:-1]
    return payload if line == frame(payload) else None


def frame_entry(seq: int, first: int, token: int, at: float, encoded: bytes) -> bytes:
    """Return the line of an event whose JSON is `encoded`."""
    return frame(b"[%d,%d,%d,%.3f,%b]" % (seq, first, token, at, encoded))


def entry_of(line: bytes) -> Entry | None:
    """Return the event of a line, or None when it is no whole event."""
    payload = payload_of(line)
    if payload is None or not payload.startswith(b"["):
        return None
    return Entry(*json.loads(payload))


def lines(stream: IO[bytes], offset: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield each line of a file with its own offset.

    Args:
        stream: The file.
        offset: Byte from which to read.
        end: Byte behind the last one to read, so that what is appended meanwhile is not seen in part; None for all.
    """
    stream.seek(offset)
    for line in stream:
        if end is not None and offset + len(line) > end:
            if offset < end:
                yield offset, line[: end - offset]
            return
        yield offset, line
        offset += len(line)


def list_files(folder: Path) -> list[FileName]:
    """Return the names of all journal files, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(name for path in folder.iterdir() if (name := FileName.parse(path.name)) is not None)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which file is the newest, and how far it had been committed.

    It is replaced with the newest file, and then written over in place behind every commit, without being flushed: it
    may say less than what is durable, and never more. So it tells a torn end from a loss.

    Attributes:
        name: The newest file.
        seq: Number of an event that was committed.
    """

    name: FileName
    seq: int

    def to_bytes(self) -> bytes:
        """Return the content of the file `newest`; always of one length for one file name."""
        return frame(b'["%b",%20d]' % (str(self.name).encode(), self.seq))


def read_pointer(folder: Path) -> Pointer | None:
    """Return the pointer, or None when there is none.

    Raises:
        IntegrityError: If it is damaged.
    """
    try:
        payload = payload_of((folder / POINTER).read_bytes())
    except FileNotFoundError:
        return None
    name, seq = json.loads(payload) if payload is not None else ("", 0)
    parsed = FileName.parse(name)
    if parsed is None:
        raise IntegrityError(f"{folder / POINTER} was damaged")
    return Pointer(parsed, seq)
