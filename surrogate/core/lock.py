"""The campaign's lock: a lease with a fencing token that survives shared file systems, dead holders, wrong clocks.

The lock is a folder. Every claim to it is a file named by its number, `00000007.claim`; the highest number holds, and
that number is the fencing token. A claim is never taken away and given to another: who takes over makes the next
number, exclusively, and checks afterwards that it is the highest. So numbers only grow, two contenders can never both
win, and a holder that was thought dead sees at its next `check` that it lost. A released claim keeps its number as
`00000007.released`. The heartbeat is the modification time of the claim.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from surrogate.core.claim import claims, heartbeat, make_claim, read_claim, server_now_ns, silent
from surrogate.core.errors import LockError, StorageError
from surrogate.core.holder import Holder, Presence
from surrogate.core.storage import storage_error

HEARTBEAT_S = 5.0
STALE_S = 60.0
_CONTENTIONS = 20
_LEFT_OVER_NS = 3600 * 10**9


class Lease:
    """The hold on a campaign, until it is released, lost, or its process ends.

    Attributes:
        folder: The lock's folder.
        holder: The record that others see.
    """

    def __init__(self, folder: Path, holder: Holder, stale_s: float) -> None:
        """Use `acquire`; this wraps a claim that stands already."""
        self.folder = folder
        self.holder = holder
        self._stale_s = stale_s
        self._guard = threading.RLock()
        self._lost = ""
        self._handle = os.open(self._path, os.O_RDONLY)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def acquire(
        cls,
        folder: Path,
        owner: str,
        *,
        at_least: int = 1,
        heartbeat_s: float = HEARTBEAT_S,
        stale_s: float = STALE_S,
        tell: Callable[[str], None] | None = None,
        background: bool = True,
    ) -> Lease:
        """Take the lock, at once when nobody holds it or the holder died on this host.

        A holder on another host is watched until its heartbeat is seen (then the lock is refused) or has stopped for
        `stale_s` seconds (then it is taken over).

        Args:
            folder: The lock's folder; made when missing.
            owner: The command that wants it, for people.
            at_least: Smallest token to take, for when the folder was lost and a higher one is known from elsewhere.
            heartbeat_s: Seconds between two heartbeats.
            stale_s: Seconds without a heartbeat after which a holder on another host counts as dead.
            tell: Is given a sentence when the call has to wait.
            background: Whether a thread keeps up the heartbeat; else `beat` must be called.

        Raises:
            LockError: If somebody holds it: who, since when, and what to do.
            StorageError: If the disk is full or refuses.
        """
        holder = Holder.here(owner, heartbeat_s)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for _ in range(_CONTENTIONS):
                top = max(claims(folder), default=0)
                if top:
                    _refuse_if_held(folder, top, stale_s, tell)
                holder = holder.numbered(max(top + 1, at_least))
                if make_claim(folder, holder):
                    _remove_older(folder, holder.token)
                    break
            else:
                raise LockError(f"The lock {folder} changes hands faster than it can be taken. Try again.")
        except OSError as error:
            raise storage_error(folder, error, "locked") from error
        lease = cls(folder, holder, stale_s)
        if background:
            lease._start()
        return lease

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every earlier holder."""
        return self.holder.token

    @property
    def _path(self) -> Path:
        """The file of the claim."""
        return self.folder / f"{self.token:08d}.claim"

    def check(self) -> None:
        """Make sure that the lease still stands; cheap enough to be called before every commit.

        Raises:
            LockError: If it was released, taken over or removed; it stays lost then.
            StorageError: If the lock cannot be looked at now.
        """
        with self._guard:
            if not self._lost:
                try:
                    self._lost = self._why_lost()
                except OSError as error:
                    raise storage_error(self.folder, error, "looked at") from error
            if self._lost:
                raise LockError(self._lost)

    def beat(self) -> None:
        """Show that the holder lives.

        Raises:
            LockError: If the lease is lost.
        """
        with self._guard:
            self.check()
            # A file server that does not answer now is asked again at the next beat; `check` tells what that costs.
            with contextlib.suppress(OSError):
                os.utime(self._handle)

    def raise_above(self, token: int) -> None:
        """Make the fencing token larger than `token`, which was found elsewhere (the lock's folder had been lost).

        Raises:
            LockError: If the lease is lost.
            StorageError: If the disk is full or refuses.
        """
        with self._guard:
            self.check()
            if self.token > token:
                return
            higher = self.holder.numbered(token + 1)
            try:
                if not make_claim(self.folder, higher):
                    self._lost = self._why_lost() or f"The lock {self.folder} was taken by somebody else."
                    raise LockError(self._lost)
                handle = os.open(self.folder / f"{higher.token:08d}.claim", os.O_RDONLY)
            except OSError as error:
                raise storage_error(self.folder, error, "locked") from error
            os.close(self._handle)
            self.holder, self._handle = higher, handle
            _remove_older(self.folder, higher.token)

    def release(self) -> None:
        """Give the lock back. It needs no room on the disk, and does nothing to a lease that is lost already."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=2 * self.holder.heartbeat_s)
        with self._guard:
            if self._handle < 0:
                return
            # When the file server refuses, the claim of an ended process is found dead by whoever comes next.
            with contextlib.suppress(OSError):
                self._lost = self._lost or self._why_lost()
                if not self._lost and os.getpid() == self.holder.pid:
                    self._path.rename(self._path.with_suffix(".released"))
            os.close(self._handle)
            self._handle = -1
            self._lost = self._lost or f"The lock {self.folder} was released."

    def __enter__(self) -> Self:
        """Return the lease."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        self.release()

    def _why_lost(self) -> str:
        """Return why the lease does not stand any more, or an empty string."""
        standing = claims(self.folder)
        top = max(standing, default=0)
        if top > self.token:
            try:
                taker = read_claim(self.folder / standing[top], top).describe()
            except OSError:
                taker = "Another process"
            return (
                f"The lock {self.folder} was taken over from this process, by: {taker}. That happens when a process "
                f"gives no sign of life for {self._stale_s:.0f} s. Nothing more is written from here; look at what "
                "the other process does with 'surrogate status'."
            )
        found = heartbeat(self._path)
        if found is None or found[0] != os.fstat(self._handle).st_ino:
            return (
                f"The lock {self._path} was removed while this process held it. Nothing more is written from here. "
                "Make sure that nobody else works on the campaign, then resume it."
            )
        return ""

    def _start(self) -> None:
        """Keep up the heartbeat in a thread that ends with the process."""
        self._thread = threading.Thread(target=self._beat_on, name="lease-heartbeat", daemon=True)
        self._thread.start()

    def _beat_on(self) -> None:
        """Beat until stopped or lost; whoever calls `check` next learns of the loss."""
        while not self._stop.wait(self.holder.heartbeat_s):
            try:
                self.beat()
            except StorageError:
                continue  # the file server may answer again; until then `check` refuses every commit
            except LockError:
                return


def read_holder(folder: Path) -> tuple[Holder, Presence] | None:
    """Return who holds a lock and what can be seen of that process from here, or None when nobody holds it."""
    standing = claims(folder)
    top = max(standing, default=0)
    if not top or standing[top].endswith(".released"):
        return None
    try:
        holder = read_claim(folder / standing[top], top)
    except FileNotFoundError:
        return None
    return holder, holder.presence()


def _refuse_if_held(folder: Path, top: int, stale_s: float, tell: Callable[[str], None] | None) -> None:
    """Raise LockError when the claim numbered `top` is a living holder's; watch it when that cannot be seen."""
    found = read_holder(folder)
    if found is None or found[0].token != top:
        return  # released or superseded meanwhile: making the next claim will tell
    holder, presence = found
    if presence is Presence.GONE:
        return
    if presence is Presence.ELSEWHERE:
        if tell is not None:
            tell(
                f"{holder.describe()} holds the lock {folder} and cannot be seen from here; its heartbeat is watched "
                f"for up to {stale_s:.0f} s."
            )
        if silent(folder / f"{top:08d}.claim", holder, stale_s, now_ns=server_now_ns(folder)):
            return
        if read_holder(folder) is None or max(claims(folder), default=0) != top:
            return
    raise LockError(f"{holder.describe()} holds the lock {folder}. {holder.way_out(presence)}")


def _remove_older(folder: Path, token: int) -> None:
    """Remove the claims that `token` superseded, and what contenders that were killed left an hour ago."""
    old = server_now_ns(folder) - _LEFT_OVER_NS
    for path in folder.glob(".*.part"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime_ns < old:
                path.unlink()
    for number, name in claims(folder).items():
        if number < token:
            (folder / name).unlink(missing_ok=True)
