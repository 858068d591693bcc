"""Claims to a lock as numbered files, made by exclusive creation.

Nothing here relies on flock, and no wall clock decides anything: hard links and exclusive creation are atomic on NFS,
too, and a heartbeat is watched by the watcher's own monotonic clock.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import time
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path

from surrogate.core.files import fsync_directory
from surrogate.core.holder import Holder

_NAME = re.compile(r"(\d{8,})\.(claim|released)")
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def claims(folder: Path) -> dict[int, str]:
    """Return all claims in a lock's folder: number → file name; a released claim wins over a standing one."""
    found: dict[int, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - called before every commit: no objects are made
            if match := _NAME.fullmatch(name):
                found[int(match[1])] = name
    return found


def read_claim(path: Path, token: int) -> Holder:
    """Read a claim; a damaged one gives a holder of whom nothing but the number is known.

    Raises:
        FileNotFoundError: If it is gone.
    """
    try:
        check, _, record = path.read_bytes().partition(b" ")
        if check == b"%08x" % zlib.crc32(record):
            return Holder.from_json(json.loads(record)).numbered(token)
    except (ValueError, TypeError, AttributeError):
        pass  # a record of another version of this program
    return Holder(token, "")


def make_claim(folder: Path, holder: Holder) -> bool:
    """Make the claim numbered `holder.token`, if nobody has it and no higher one exists.

    Returns:
        Whether the claim stands; False when somebody else was faster.

    Raises:
        OSError: If the file system refuses.
    """
    target = folder / f"{holder.token:08d}.claim"
    temporary = folder / f".claim-{holder.host[:40]}-{holder.pid}-{uuid.uuid4().hex}.part"
    try:
        with temporary.open("xb") as written:
            written.write(_record(holder))
            written.flush()
            os.fsync(written.fileno())
        if not _link(temporary, target):
            return False
    finally:
        temporary.unlink(missing_ok=True)
    try:
        fsync_directory(folder)
        standing = claims(folder)
    except OSError:
        target.unlink(missing_ok=True)
        raise
    if max(standing, default=0) == holder.token and standing[holder.token] == target.name:
        return True
    target.unlink(missing_ok=True)  # a slow contender: that number had been used and passed on already
    return False


def _record(holder: Holder) -> bytes:
    """Return the bytes of a claim: a CRC-32, then JSON; a flipped digit of a pid must not make a holder look dead."""
    record = json.dumps(holder.to_json()).encode()
    return b"%08x %b" % (zlib.crc32(record), record)


def _link(temporary: Path, target: Path) -> bool:
    """Give `temporary` the name `target` unless that name is taken; return whether it worked."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        # On NFS the answer to a link that worked can be lost and the repeated request refused: look, then believe.
        with contextlib.suppress(FileNotFoundError):
            return target.stat().st_ino == temporary.stat().st_ino
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _create(target, temporary.read_bytes())
    return target.stat().st_ino == temporary.stat().st_ino


def _create(target: Path, content: bytes) -> bool:
    """Create `target` exclusively (for file systems without hard links)."""
    try:
        with target.open("xb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
    except FileExistsError:
        return False
    return True


def silent(
    path: Path,
    holder: Holder,
    stale_s: float,
    *,
    now_ns: int,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Watch a claim's heartbeat and return whether it has stopped.

    The age by the file server's clock only shortens the watch, to no less than three heartbeats by this process's own
    monotonic clock: a clock that was set back or forward can make a dead holder look dead later, never a living one
    look dead.

    Args:
        path: The claim.
        holder: Its record.
        stale_s: Seconds without a heartbeat after which a holder counts as dead.
        now_ns: The file server's clock, nanoseconds.
        sleep: Waits so many seconds.
        clock: Monotonic seconds.
    """
    first = heartbeat(path)
    if first is None:
        return False
    age = max(0.0, (now_ns - first[1]) / 1e9)
    window = min(stale_s, max(3 * holder.heartbeat_s, stale_s - age))
    end = clock() + window
    while clock() < end:
        sleep(max(0.01, min(holder.heartbeat_s / 2, end - clock(), 0.2)))
        if heartbeat(path) != first:
            return False
    return True


def heartbeat(path: Path) -> tuple[int, int] | None:
    """Return what changes with every heartbeat, or None when the claim is gone.

    The file is opened first: that is what makes an NFS client ask the server.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    return found.st_ino, found.st_mtime_ns


def server_now_ns(folder: Path) -> int:
    """Return the file server's clock in nanoseconds, by the modification time of a file made for it."""
    probe = folder / f".clock-{os.getpid()}-{uuid.uuid4().hex}.part"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime_ns
    finally:
        probe.unlink(missing_ok=True)
