"""The journal's file that is written now: commits that are whole or told to have failed, and its replacement."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from surrogate.core.errors import IntegrityError
from surrogate.core.files import atomic_path, write_bytes
from surrogate.core.lock import Lease
from surrogate.core.storage import storage_error
from workflows.journal_format import POINTER, FileName, Pointer, Position, frame_entry, list_files
from workflows.journal_snapshot import Header, Snapshot, write_snapshot
from workflows.journal_state import JournalState


class Waiting(NamedTuple):
    """An event that is not durable yet: when it was appended, and its JSON."""

    at: float
    encoded: bytes


class JournalWriter:
    """Writes one file after the other; not safe for several threads.

    Attributes:
        uid: Identity of the journal.
        durable: Number of the last event that is on disk.
        suspect: Whether what stands behind the last commit is unknown, so that a new file must be begun.
    """

    def __init__(self, folder: Path, lease: Lease, uid: str, previous: FileName | None, seq: int) -> None:
        """Prepare to write; `renew` begins the first file.

        Args:
            folder: The journal's folder.
            lease: Checked before every write and after it.
            uid: Identity of the journal.
            previous: The whole file from which the state was read, or None.
            seq: Number of the last event in it.
        """
        self.uid = uid
        self.durable = seq
        self.suspect = False
        self._folder = folder
        self._lease = lease
        self._previous = previous
        self._name: FileName | None = None
        self._handle = self._pointer = -1
        self._base = self._end = 0

    @property
    def name(self) -> FileName:
        """The file that is written."""
        if self._name is None:
            raise ValueError("No file has been begun.")
        return self._name

    @property
    def position(self) -> Position:
        """The position behind the last commit."""
        return Position(self.name, self._end, self.durable)

    def grown(self, least: int) -> bool:
        """Return whether the events take more bytes than `least` and than the snapshot before them."""
        return self._end - self._base >= max(least, self._base)

    def put_off(self) -> None:
        """Let the file go on although it has grown, until it has grown by as much again."""
        self._base = self._end

    def commit(self, group: Sequence[Waiting]) -> None:
        """Write the events behind the last commit, flush them, and only then count them as durable.

        Raises:
            LockError: If the lease is lost, before or after.
            StorageError: If the disk refuses; the file is as it was, or `suspect`.
        """
        if not group:
            return
        self._lease.check()
        first, token = self.durable + 1, self.name.token
        data = b"".join(
            frame_entry(first + index, first, token, entry.at, entry.encoded) for index, entry in enumerate(group)
        )
        self._write(data)
        self._lease.check()
        self._end += len(data)
        self.durable += len(group)
        # It only sharpens what a later reader can tell, so a refusal costs nothing that was promised.
        with contextlib.suppress(OSError):
            if self._pointer >= 0:
                os.pwrite(self._pointer, Pointer(self.name, self.durable).to_bytes(), 0)

    def _write(self, data: bytes) -> None:
        """Put bytes behind the last commit and flush them."""
        path = self._folder / str(self.name)
        try:
            view, offset = memoryview(data), self._end
            while view:
                written = os.pwrite(self._handle, view, offset)
                view, offset = view[written:], offset + written
        except OSError as error:
            try:
                os.ftruncate(self._handle, self._end)
            except OSError:
                self.suspect = True
            raise storage_error(path, error) from error
        try:
            os.fdatasync(self._handle)
        except OSError as error:
            # What a failed flush left on the disk is unknown, and asking again would not tell.
            self.suspect = True
            raise storage_error(path, error) from error

    def renew(self, state: JournalState, spare: Collection[Path] = ()) -> None:
        """Begin a new file with a snapshot of the state, and remove those before the last one.

        Args:
            state: Unless the writer is `suspect`, all its events must have been committed.
            spare: Files that are not to be removed.

        Raises:
            LockError: If the lease is lost.
            StorageError: If the disk refuses; the old file goes on.
            IntegrityError: If the disk does not give back what was written.
        """
        names = list_files(self._folder)
        name = FileName(self._lease.token, max((name.generation for name in names), default=0) + 1)
        previous = None if self.suspect else self._name or self._previous
        path = self._folder / str(name)
        try:
            with atomic_path(path, check=self._check_snapshot) as temporary:
                write_snapshot(temporary, Header(self.uid, state.seq, previous), state)
            handle = os.open(path, os.O_RDWR)
        except OSError as error:
            raise storage_error(path, error) from error
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._name, self.suspect = handle, name, False
        self._base = self._end = os.fstat(handle).st_size
        self._lease.check()
        self.durable = state.seq
        self._point()
        for old in names:
            if old != previous and old.token <= name.token and self._folder / str(old) not in spare:
                (self._folder / str(old)).unlink(missing_ok=True)

    def _check_snapshot(self, path: Path) -> None:
        """Refuse a snapshot that does not read back as it was written, or that comes too late."""
        with path.open("rb") as stream:
            snapshot = Snapshot(stream, path)
            snapshot.skip()
        if snapshot.damaged_at >= 0 or not snapshot.ends:
            raise IntegrityError(
                f"A file just written into {self._folder} does not read back as it was written: its disk is not to be "
                "trusted. Copy the campaign to another disk and resume it there."
            )
        self._lease.check()

    def _point(self) -> None:
        """Let the pointer name the file that is written now."""
        path = self._folder / POINTER
        # When the disk refuses, the old pointer stays true: a newer file than it names is always believed.
        with contextlib.suppress(OSError):
            write_bytes(path, Pointer(self.name, self.durable).to_bytes())
            handle = os.open(path, os.O_WRONLY)
            if self._pointer >= 0:
                os.close(self._pointer)
            self._pointer = handle

    def close(self) -> None:
        """Let the files go."""
        for handle in (self._handle, self._pointer):
            if handle >= 0:
                os.close(handle)
        self._handle = self._pointer = -1
