"""Points that come through a pipe, as a file for as long as they are needed."""

from __future__ import annotations

import contextlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from surrogate.core.errors import DataError

_STDIN = ("-", "/dev/stdin")


@contextlib.contextmanager
def as_file(points: Path | None, *, shared: bool) -> Iterator[Path | None]:
    """Give the file of the points; what comes through a pipe, as comma-separated text, is written into one first.

    Args:
        points: A file, `-` for the standard input, or a named pipe; None stays None.
        shared: Whether workers of other machines read the file as well.

    Raises:
        DataError: If points that workers share come through a pipe.
    """
    if points is None or not (str(points) in _STDIN or _is_pipe(points)):
        yield points
        return
    if shared:
        raise DataError("With --site the workers read the points themselves: name a file with --input, and no pipe.")
    with tempfile.TemporaryDirectory(prefix="surrogate-points-") as folder:
        copy = Path(folder) / "standard-input.csv"
        with copy.open("wb") as target:
            if str(points) in _STDIN:
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with points.open("rb") as source:
                    shutil.copyfileobj(source, target)
        yield copy


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False
