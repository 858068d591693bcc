"""Recorded noise divided between training, tuning and testing, so that no sample serves two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.strain import Strain, stretches

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of recorded time.

    Attributes:
        begin: GPS time, s.
        end: GPS time, s.
    """

    begin: float
    end: float

    def meets(self, other: Segment) -> bool:
        """Return whether the two share any time."""
        return self.begin < other.end and other.begin < self.end


def divide(begin: float, end: float, shares: Mapping[str, float], guard_s: float) -> dict[str, Segment]:
    """Cut a time into one stretch for each split, one after the other, with a gap between them.

    Args:
        begin: GPS time, s.
        end: GPS time, s.
        shares: Split → share of the time; they add up to 1.
        guard_s: Gap between two stretches, s: a window and its whitening filter reach no further.

    Raises:
        DataError: If shares are not above 0, do not add up to 1, or a stretch would be empty.
    """
    if min(shares.values(), default=0.0) <= 0.0 or abs(sum(shares.values()) - 1.0) > 1e-9:
        raise DataError(f"Shares of noise must be above 0 and add up to 1; {dict(shares)} was given.")
    found: dict[str, Segment] = {}
    usable = end - begin - guard_s * (len(shares) - 1)
    place = begin
    for name, share in shares.items():
        found[name] = Segment(place, place + share * usable)
        place = found[name].end + guard_s
    short = [name for name, segment in found.items() if segment.end - segment.begin <= guard_s]
    if short:
        raise DataError(
            f"{end - begin} s of noise cannot be divided into {', '.join(shares)} with gaps of {guard_s} s: "
            f"'{short[0]}' would have less than such a gap. Take more noise."
        )
    return found


def windows(strain: Strain, segment: Segment, length_s: float, stride_s: float) -> list[int]:
    """Return the first samples of all windows of a segment that touch no gap.

    Args:
        strain: What was recorded.
        segment: Every window lies wholly in it.
        length_s: Length of a window, s, with what its whitening needs.
        stride_s: Between two windows, s.

    Returns:
        Numbers of samples of `strain`.
    """
    length, stride = round(length_s * strain.rate), max(1, round(stride_s * strain.rate))
    first, stop = max(0, strain.index(segment.begin)), min(len(strain.data), strain.index(segment.end))
    found: list[int] = []
    for begin, end in stretches(strain.data[first:stop], length):
        found += range(first + begin, first + end - length + 1, stride)
    return found
