"""The sentence for a disk that is full or refuses."""

import errno
from pathlib import Path

import pytest

from surrogate.core.storage import is_full, storage_error


@pytest.mark.parametrize(
    ("number", "begun", "told"),
    [
        (errno.ENOSPC, True, "the disk is full. What was recorded before is kept. Make room, then give the same"),
        (errno.EROFS, True, "file system'. What was recorded before is kept. Mend that, then give the same command"),
        (errno.EROFS, False, "file system'. Mend that, then give the same command again."),
    ],
)
def test_it_says_what_is_kept_and_what_to_do(number, begun, told):
    error = OSError(number, "Read-only file system")
    assert told in str(storage_error(Path("x"), error, begun=begun))
    assert is_full(error) is (number == errno.ENOSPC)
