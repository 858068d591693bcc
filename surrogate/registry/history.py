"""What happened to a campaign's versions, in order: an append-only file whose lines are chained by their hashes.

The history is the truth about which version is current. `current.json` repeats its last entry: it is what other
programs may read, and it tells when lines have been lost from the history's end.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from surrogate.core.errors import IntegrityError
from surrogate.core.files import fsync_directory, read_json, write_json

HISTORY = "history.jsonl"
CURRENT = "current.json"

Event = Literal["added", "judged", "approved", "promoted", "rolled_back"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One event.

    Attributes:
        sequence: 1 for the first.
        event: `added`, `judged` (a verdict that moved nothing), `approved` (a word for what is current already),
            `promoted` or `rolled_back`.
        version: The version that it is about; for `rolled_back` the one that became current.
        previous: The version that was current before, or None.
        at: Time, UTC, ISO 8601.
        by: User and host.
        note: A person's or the campaign's word.
        approved_by: Who approved it, or empty.
        verdict: File of the verdict beside the history, or empty.
        verdict_sha256: Hash of that file, or empty.
        chain: SHA-256 of the line before; empty for the first.
    """

    sequence: int
    event: Event
    version: str
    previous: str | None
    at: str
    by: str
    note: str
    approved_by: str
    verdict: str
    verdict_sha256: str
    chain: str

    @property
    def line(self) -> str:
        """The entry as a line of JSON that ends with the hash of the rest."""
        body = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f'{body[:-1]}, "sha256": "{hashlib.sha256(body.encode()).hexdigest()}"}}\n'

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the line."""
        return hashlib.sha256(self.line.encode()).hexdigest()


class History:
    """The events of one campaign in a registry."""

    def __init__(self, folder: Path) -> None:
        """Take the campaign's folder; nothing is read yet.

        Args:
            folder: Folder that holds `history.jsonl`.
        """
        self._path = folder / HISTORY
        self._current = folder / CURRENT

    def read(self) -> list[Entry]:
        """Return all events, oldest first.

        Raises:
            IntegrityError: If a line is damaged, lost or out of order.
        """
        return self._read()[0]

    def _read(self) -> tuple[list[Entry], int]:
        """Return all events, and how many bytes of the file are whole lines."""
        # First what was seen, then the history: a writer at work does it the other way round.
        seen = self._seen()
        content = self._path.read_bytes() if self._path.exists() else b""
        # A last line without its end was being written when the writer died, or is being written now: it never counted.
        whole = content[: content.rfind(b"\n") + 1]
        entries: list[Entry] = []
        for number, line in enumerate(whole.splitlines(keepends=True), start=1):
            entries.append(self._parse(line, number, entries[-1].sha256 if entries else ""))
        if seen is not None and (seen[0] > len(entries) or entries[seen[0] - 1].sha256 != seen[1]):
            raise IntegrityError(
                f"{self._path} holds {len(entries)} events, and {self._current} has seen event {seen[0]} of another "
                f"history: lines were lost or altered. {self._way_out}"
            )
        if seen is not None and current_of(entries[: seen[0]]) != seen[2]:
            raise IntegrityError(f"The file {self._current} is damaged: it names another version. {self._way_out}")
        return entries, len(whole)

    def _parse(self, line: bytes, number: int, chain: str) -> Entry:
        """Return the entry of one line, checked against its own hash and the line before."""
        try:
            record = json.loads(line.decode())
            record.pop("sha256")
            entry = Entry(**record)
            whole = entry.line.encode() == line and entry.chain == chain and entry.sequence == number
        except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError):
            whole = False
        if not whole:
            raise IntegrityError(
                f"Line {number} of {self._path} is damaged or was altered. Restore the file from a backup; or, to give "
                f"up what it says from there on, remove line {number} and all after it together with {self._current}, "
                "and promote again."
            )
        return entry

    @property
    def _way_out(self) -> str:
        return (
            f"Restore {self._path.parent} from a backup; or, if what {self._path.name} still holds is what you want, "
            f"delete {self._current}: it is written anew at the next promotion."
        )

    def _seen(self) -> tuple[int, str, str | None] | None:
        """Return number and hash of the last event that `current.json` has seen, and the version that it names.

        None when there is no such file.
        """
        if not self._current.exists():
            return None
        try:
            record = read_json(self._current)
            seen = int(record["sequence"]), str(record["entry_sha256"]), record["version"]
        except (IntegrityError, KeyError, TypeError, ValueError) as error:
            raise IntegrityError(f"The file {self._current} is damaged. {self._way_out}") from error
        if seen[0] < 1:
            raise IntegrityError(f"The file {self._current} is damaged. {self._way_out}")
        return seen

    def append(
        self,
        event: Event,
        version: str,
        *,
        note: str = "",
        approved_by: str = "",
        verdict: str = "",
        verdict_sha256: str = "",
    ) -> Entry:
        """Write one event to disk; when this returns, it has happened. The caller holds the campaign's lock.

        Args:
            event: What happened.
            version: To which version.
            note: A person's or the campaign's word.
            approved_by: Who approved it.
            verdict: File of the verdict.
            verdict_sha256: Hash of that file.

        Raises:
            IntegrityError: If the history is damaged.
        """
        entries, whole = self._read()
        entry = Entry(
            len(entries) + 1,
            event,
            version,
            current_of(entries),
            datetime.now(UTC).isoformat(timespec="seconds"),
            f"{_user()}@{socket.gethostname()}",
            note,
            approved_by,
            verdict,
            verdict_sha256,
            entries[-1].sha256 if entries else "",
        )
        with self._path.open("ab") as target:
            target.truncate(whole)
            target.write(entry.line.encode())
            target.flush()
            os.fsync(target.fileno())
        fsync_directory(self._path.parent)
        state = {"sequence": entry.sequence, "entry_sha256": entry.sha256, "version": current_of([*entries, entry])}
        write_json(self._current, state)
        return entry


def promotions(entries: Sequence[Entry]) -> list[str]:
    """Return the promoted versions that a rollback could reach, oldest first; the last one is current."""
    stack: list[str] = []
    for entry in entries:
        if entry.event == "promoted":
            stack.append(entry.version)
        elif entry.event == "rolled_back":
            while stack and stack[-1] != entry.version:
                stack.pop()
            stack = stack or [entry.version]
    return stack


def current_of(entries: Sequence[Entry]) -> str | None:
    """Return the version that is current after these events, or None."""
    stack = promotions(entries)
    return stack[-1] if stack else None


def _user() -> str:
    """Return who is at work; a number where the machine knows no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
