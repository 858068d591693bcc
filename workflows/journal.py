"""The journal of a campaign: its one writer appends events cheaply, commits them in groups, compacts as it grows.

Only the holder of the campaign's lock writes. The lease is checked before every commit, and again before anything is
told to be durable, so whoever takes over reads everything that this writer ever told durable.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from surrogate.core.errors import LockError, StorageError, SurrogateError
from surrogate.core.files import remove_partial
from surrogate.core.lock import Lease
from surrogate.core.storage import storage_error
from workflows import journal_events
from workflows.journal_format import Entry, Position, list_files, to_bytes
from workflows.journal_reader import Loaded, read_state
from workflows.journal_records import FailureNote, Run, RunFile, RunStatus, Shard, Stage
from workflows.journal_state import JournalState
from workflows.journal_tail import SKIPPED, tail
from workflows.journal_writer import JournalWriter, Waiting

__all__ = [
    "SKIPPED", "Entry", "FailureNote", "Journal", "JournalState", "Loaded", "Position", "Run", "RunFile", "RunStatus",
    "Shard", "Stage", "read_state", "tail",
]  # fmt: skip

COMMIT_EVERY_S = 0.05
RENEW_BYTES = 8 << 20
BACKLOG_BYTES = 8 << 20
_AGAIN_S = 1.0


class Journal:
    """The journal, open for writing; also a context manager.

    Attributes:
        folder: Where it stands.
        lease: The hold on the campaign.
        uid: Identity of the journal, the same for the life of the campaign.
        state: What all events so far add up to, those that are not durable yet included; do not change it.
        created: Whether there was no journal before.
        repaired: What had to be repaired when it was opened, as sentences; journalled, too.
        problem: Why the last attempt to write failed, or an empty string.
    """

    def __init__(self, folder: Path, lease: Lease, loaded: Loaded | None, renew_bytes: int, uid: str) -> None:
        """Use `open`."""
        self.folder = folder
        self.lease = lease
        self.uid = loaded.uid if loaded else uid or uuid.uuid4().hex
        self.state = loaded.state if loaded else JournalState()
        self.created = loaded is None
        self.repaired = list(loaded.repaired) if loaded else []
        self.problem = ""
        previous = loaded.position.name if loaded and not loaded.damaged else None
        self._writer = JournalWriter(folder, lease, self.uid, previous, self.state.seq)
        self._renew_bytes = renew_bytes
        self._over = ""
        self._pid = os.getpid()
        self._waiting: list[Waiting] = []
        self._waiting_bytes = 0
        self._io = threading.RLock()  # held while files are written; taken before the other one
        self._guard = threading.RLock()  # held while the state or the waiting events change
        self._pending, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._wall, self._monotonic = time.time(), time.monotonic()

    @classmethod
    def open(
        cls,
        folder: Path,
        lease: Lease,
        *,
        background: bool = True,
        every_s: float = COMMIT_EVERY_S,
        renew_bytes: int = RENEW_BYTES,
        uid: str = "",
    ) -> Journal:
        """Open the journal for writing; the torn end of an interrupted write is dropped, and told in `repaired`.

        Args:
            folder: Where it stands; made when missing.
            lease: The hold on the campaign; its token is raised above every one that was ever written here.
            background: Whether a thread commits what was appended.
            every_s: Seconds for which that thread gathers events into one commit.
            renew_bytes: Bytes of events after which the file is replaced by one with a new snapshot.
            uid: Identity of a journal that was here before, where there is none now; made up when empty.

        Raises:
            LockError: If the lease is lost.
            IntegrityError: If a file is damaged and cannot be made good: which, where, and what to do.
            DataError: If a newer version of this program wrote it.
            StorageError: If the disk is full or refuses.
        """
        lease.check()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_partial(folder)
            loaded = read_state(folder)
            lease.raise_above(max((name.token for name in list_files(folder)), default=0))
            journal = cls(folder, lease, loaded, renew_bytes, uid)
            try:
                journal._writer.renew(journal.state, loaded.damaged if loaded else ())
                if loaded is not None:
                    journal._settle(loaded)
            except BaseException:
                journal._writer.close()
                raise
        except OSError as error:
            raise storage_error(folder, error, "opened") from error
        if background:
            journal._start(every_s)
        return journal

    def _settle(self, loaded: Loaded) -> None:
        """Set damaged files aside, and journal what was repaired."""
        for path in loaded.damaged:
            path.rename(path.with_suffix(".damaged"))
        if loaded.torn:
            self.repaired.append(
                f"{loaded.torn} bytes of an interrupted write at the end of {self.folder / str(loaded.position.name)} "
                f"(from byte {loaded.position.offset}) were dropped; they had not been told durable."
            )
        for note in self.repaired:
            self.append({"event": "journal.repaired", "note": note})
        self.commit()

    @property
    def durable(self) -> int:
        """Number of the last event that is on disk."""
        return self._writer.durable

    @property
    def position(self) -> Position:
        """The position behind the last durable event, for `tail`."""
        with self._io:
            return self._writer.position

    def append(self, event: Mapping[str, Any]) -> int:
        """Take in an event: at once in `state`, soon on disk, certainly after the next `commit`.

        Args:
            event: JSON-ready; kinds and keys are listed in `workflows.journal_events`.

        Returns:
            The event's number.

        Raises:
            TypeError, ValueError: If the event is not one; nothing has changed then.
            LockError: If the lease is lost, or the journal was closed.
            StorageError: If so much waits for a disk that refuses that no more is taken in.
        """
        encoded = to_bytes(event)
        plain = json.loads(encoded)  # the state must be what a reader of the file gets
        if self._waiting_bytes > BACKLOG_BYTES:
            self.commit()
        with self._guard:
            self._refuse_if_over()
            journal_events.check(self.state, plain)
            at = round(self._wall + time.monotonic() - self._monotonic, 3)
            journal_events.apply(self.state, plain, at)
            self._waiting.append(Waiting(at, encoded))
            self._waiting_bytes += len(encoded)
            self._pending.set()
            return self.state.seq

    def commit(self) -> int:
        """Make everything that was appended durable.

        Returns:
            Number of the last durable event.

        Raises:
            LockError: If the lease is lost: nothing is told durable then.
            StorageError: If the disk is full or refuses: what waits is kept, and a later call tries again.
        """
        with self._io:
            self._refuse_if_over()
            try:
                if self._writer.suspect:
                    self._renew()
                else:
                    self._flush()
                    self.problem = ""
                    if self._writer.grown(self._renew_bytes):
                        self._compact()
            except StorageError as error:
                self.problem = str(error)
                raise
            except LockError as error:
                self._over = self.problem = str(error)
                raise
            return self._writer.durable

    def close(self) -> None:
        """Commit, and let the files go; the lease is the caller's to release.

        Raises:
            LockError, StorageError: As `commit`; the journal is closed all the same.
        """
        self._stop.set()
        self._pending.set()
        if self._thread is not None:
            self._thread.join()
        closed = f"The journal {self.folder} was closed."
        with self._io:
            if self._over == closed:
                return
            try:
                if self._waiting:
                    self.commit()
            finally:
                self._writer.close()
                self._over = closed

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; an error that is on its way already is not replaced by one of closing."""
        try:
            self.close()
        except SurrogateError as problem:
            if error is None:
                raise
            error.add_note(str(problem))

    def _refuse_if_over(self) -> None:
        """Raise when nothing may be written any more."""
        if self._over:
            raise LockError(self._over)
        if os.getpid() != self._pid:
            raise LockError(f"The journal {self.folder} belongs to process {self._pid}, not to a child of it.")

    def _flush(self) -> None:
        """Commit what waits."""
        with self._guard:
            group = list(self._waiting)
        self._writer.commit(group)
        self._drop(len(group))

    def _drop(self, count: int) -> None:
        """Let go of the first `count` waiting events: they are durable."""
        with self._guard:
            self._waiting_bytes -= sum(len(entry.encoded) for entry in self._waiting[:count])
            del self._waiting[:count]

    def _renew(self) -> None:
        """Begin a new file; nothing is appended meanwhile."""
        with self._guard:
            if not self._writer.suspect:
                self._flush()
            self._writer.renew(self.state)
            self._drop(len(self._waiting))
            self.problem = ""

    def _compact(self) -> None:
        """Begin a new file because the old one has grown; when the disk refuses, the old one goes on."""
        try:
            self._renew()
        except StorageError as error:
            self._writer.put_off()
            if self._writer.suspect or self._waiting:
                raise
            self.problem = str(error)

    def _start(self, every_s: float) -> None:
        """Commit in the background until closed."""

        def commit_on() -> None:
            while not self._stop.is_set():
                self._pending.wait()
                self._stop.wait(every_s)
                self._pending.clear()
                try:
                    self.commit()
                except StorageError:  # kept in `problem`, and raised to whoever calls `commit`
                    self._pending.set()
                    self._stop.wait(_AGAIN_S)
                except LockError:  # raised to whoever appends next
                    return

        self._thread = threading.Thread(target=commit_on, name="journal-commit", daemon=True)
        self._thread.start()
