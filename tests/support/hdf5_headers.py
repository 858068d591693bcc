"""What HDF5 has written into the headers of a file's objects."""

from __future__ import annotations

import re

_HEADER = re.compile(rb"OHDR\x02(.)", re.DOTALL)
_KEEPS_TIMES = 0x20


def headers_with_times(content: bytes) -> int:
    """Return how many groups and datasets of a file in the format of HDF5 1.8 and later keep their times.

    Args:
        content: The file.
    """
    flags = [found[1][0] for found in _HEADER.finditer(content)]
    assert flags, "no object of that format was found"
    return sum(1 for flag in flags if flag & _KEEPS_TIMES)
