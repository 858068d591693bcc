"""The sentence for a disk that is full or refuses."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from surrogate.core.errors import StorageError

_ERRNO = re.compile(r"errno = (\d+)")
"""How HDF5 tells what the system said."""


def is_full(error: BaseException) -> bool:
    """Tell whether the system refused because the disk is full or the quota used up."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def refusals_of(path: Path) -> Iterator[None]:
    """Turn what the system refuses while `path` is written as a whole into a sentence; nothing was recorded before.

    Raises:
        StorageError: If the disk is full or refuses.
    """
    try:
        yield
    except RuntimeError as error:  # so HDF5 says it when it closes a file on a full disk
        number = _ERRNO.search(str(error))
        if number is None:
            raise
        raise storage_error(path, OSError(int(number[1]), os.strerror(int(number[1]))), begun=False) from error
    except OSError as error:
        number = _ERRNO.search(str(error)) if error.errno is None else None
        said = error if number is None else OSError(int(number[1]), os.strerror(int(number[1])))
        raise storage_error(path, said, begun=False) from error


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
