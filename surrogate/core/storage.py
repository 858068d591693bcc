"""The sentence for a disk that is full or refuses."""

from __future__ import annotations

import errno
from pathlib import Path

from surrogate.core.errors import StorageError


def is_full(error: BaseException) -> bool:
    """Tell whether the system refused because the disk is full or the quota used up."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def storage_error(path: Path, error: OSError, doing: str = "written", *, begun: bool = True) -> StorageError:
    """Return the error to raise when the system refused.

    Args:
        path: What was being written.
        error: What the system said.
        doing: What was being done to it, as a participle.
        begun: Whether anything can have been recorded before.
    """
    kept = " What was recorded before is kept." if begun else ""
    if is_full(error):
        full = "the disk is full" if error.errno == errno.ENOSPC else "your quota of disk space is used up"
        return StorageError(f"{path} could not be {doing}: {full}.{kept} Make room, then give the same command again.")
    said = error.strerror or str(error)
    return StorageError(
        f"{path} could not be {doing}: the system says '{said}'.{kept} Mend that, then give the same command again."
    )
