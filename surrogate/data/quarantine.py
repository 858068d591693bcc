"""Quarantine: runs that were refused, each with its sentence. One checked line of JSON a run, appended and flushed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from surrogate.core.errors import IntegrityError
from surrogate.core.files import fsync_directory
from surrogate.core.identity import canonical
from surrogate.core.outcome import FailureKind

NAME = "quarantine.jsonl"
_CHECK = 16


@dataclass(frozen=True, slots=True)
class Refused:
    """A run that gave nothing to learn from.

    Attributes:
        run_id: Identity of the run.
        kind: What is wrong.
        reason: Sentences that say what is wrong.
        inputs: The point that was asked for.
        path: Where its files are kept, relative to the working directory of the campaign; may be empty.
    """

    run_id: str
    kind: FailureKind
    reason: str
    inputs: dict[str, Any] = field(default_factory=dict)
    path: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {**asdict(self), "kind": self.kind.value, "inputs": canonical(self.inputs)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Refused:
        """Rebuild an entry from `to_json`.

        Raises:
            TypeError: If the mapping is not one of `to_json`'s.
            ValueError: If its kind is unknown.
        """
        return cls(**{**record, "kind": FailureKind(record["kind"])})


class Quarantine:
    """The refused runs of one dataset; only the holder of the campaign adds to it."""

    def __init__(self, folder: Path) -> None:
        """Use the quarantine in `folder`, the folder of the dataset."""
        self._path = folder / NAME
        self._known: set[str] | None = None

    def add(self, entry: Refused) -> bool:
        """Keep a refused run.

        Returns:
            False when the run is there already, which changes nothing.

        Raises:
            IntegrityError: If the file is damaged.
            OSError: If the disk refuses.
        """
        if self._known is None:
            self._known = {known.run_id for known in self.entries()}
            self._mend()
        if entry.run_id in self._known:
            return False
        text = json.dumps(entry.to_json(), sort_keys=True, ensure_ascii=False, allow_nan=False)
        self._append(f"{_check(text)} {text}\n".encode())
        self._known.add(entry.run_id)
        return True

    def _append(self, line: bytes) -> None:
        """Add a whole line, or nothing."""
        new = not self._path.exists()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as target:
            size = target.seek(0, os.SEEK_END)
            try:
                rest = line
                while rest:
                    rest = rest[target.write(rest) :]
                os.fsync(target.fileno())
            except OSError:
                target.truncate(size)
                raise
        if new:
            fsync_directory(self._path.parent)

    def _mend(self) -> None:
        """Cut off a last line that an interrupted writer left without its end."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as target:
            content = target.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                target.truncate(whole)
                os.fsync(target.fileno())

    def entries(self) -> tuple[Refused, ...]:
        """Read all refused runs, oldest first. A last line without its end was never finished, and is not read.

        Raises:
            IntegrityError: If a line is damaged.
        """
        return tuple(self._read())

    def _read(self) -> Iterator[Refused]:
        if not self._path.exists():
            return
        *lines, _ = self._path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                check, text = line.decode().split(" ", 1)
                entry = Refused.from_json(json.loads(text)) if check == _check(text) else None
            except (KeyError, TypeError, ValueError) as error:
                raise IntegrityError(f"{self._damaged(number)} ({error})") from error
            if entry is None:
                raise IntegrityError(self._damaged(number))
            yield entry

    def _damaged(self, number: int) -> str:
        return (
            f"Line {number} of {self._path} is damaged. Restore the file from a copy, or remove it: it is only a list "
            "of refused runs, and the journal has them, too."
        )


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_CHECK]
