"""The strain of one detector over a stretch of time, and its gaps.

Sample rates are whole numbers, and times are counted in samples from the first one: two periods that differ in the last
bit, as files write them, are one rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]
_PERIOD_TOLERANCE = 1e-6
"""Relative difference of a sample period from 1/rate that is taken for rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Strain:
    """What one detector recorded.

    Attributes:
        data: `[N]` float64, dimensionless strain; NaN where nothing was recorded.
        rate: Samples a second.
        start: GPS time of the first sample, s.
        detector: Its prefix, such as `H1`; may be empty.
    """

    data: Array
    rate: int
    start: float = 0.0
    detector: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no strain.

        Raises:
            DataError: If there is no sample, more than one axis, or the rate is not above 0.
        """
        if self.data.ndim != 1 or not len(self.data) or self.rate < 1:
            raise DataError(
                f"A strain is one row of samples at a rate above 0; the shape {list(self.data.shape)} and "
                f"{self.rate} Hz were found."
            )
        if self.data.dtype != np.float64:
            # A strain of 1e-21 squared is 1e-42, below what float32 can hold.
            object.__setattr__(self, "data", self.data.astype(np.float64))

    @property
    def seconds(self) -> float:
        """Length, s."""
        return len(self.data) / self.rate

    @property
    def end(self) -> float:
        """GPS time after the last sample, s."""
        return self.start + self.seconds

    def times(self) -> Array:
        """Return the GPS time of every sample, `[N]`, s."""
        return self.start + np.arange(len(self.data)) / self.rate

    def index(self, gps: float) -> int:
        """Return the number of the sample nearest to a GPS time; it may lie outside of the stretch."""
        return round((gps - self.start) * self.rate)

    def part(self, first: int, stop: int) -> Strain:
        """Return samples `first` … `stop − 1`.

        Raises:
            DataError: If there are none, or some lie outside.
        """
        if not 0 <= first < stop <= len(self.data):
            raise DataError(f"Samples {first} to {stop} were asked for, of a strain that has {len(self.data)}.")
        return replace(self, data=self.data[first:stop], start=self.start + first / self.rate)

    def between(self, begin: float, end: float) -> Strain:
        """Return what lies between two GPS times.

        Raises:
            DataError: If some of it lies outside.
        """
        first, stop = self.index(begin), self.index(end)
        if not 0 <= first < stop <= len(self.data):
            raise DataError(
                f"GPS {begin} to {end} was asked for, and the strain reaches from {self.start} to {self.end}."
            )
        return self.part(first, stop)


def whole_rate(period: float, where: str) -> int:
    """Return the sample rate of a period, Hz.

    Args:
        period: Seconds between two samples.
        where: What it belongs to, for the sentence.

    Raises:
        DataError: If it is not one over a whole number.
    """
    rate = round(1.0 / period) if np.isfinite(period) and period > 0 else 0
    if rate < 1 or abs(period * rate - 1.0) > _PERIOD_TOLERANCE:
        raise DataError(f"{where} has a sample every {period} s; a whole number of samples a second is needed.")
    return rate


def stretches(data: Array, at_least: int = 1) -> Iterator[tuple[int, int]]:
    """Yield (first, stop) of every run of finite samples, `at_least` that long.

    Args:
        data: `[N]`; NaN and infinities are gaps.
        at_least: Samples.
    """
    good = np.isfinite(data)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop - first >= at_least:
            yield first, stop


def resample(strain: Strain, rate: int) -> Strain:
    """Return a strain at a lower rate, low-passed first; gaps grow by the filter's length.

    Args:
        strain: What was recorded.
        rate: Samples a second that are wanted.

    Raises:
        DataError: If the rate is higher than the strain's: what was not recorded cannot be made up.
    """
    if rate == strain.rate:
        return strain
    if rate > strain.rate or strain.rate % rate:
        raise DataError(
            f"{strain.detector or 'The strain'} was recorded at {strain.rate} Hz and {rate} Hz was asked for; only a "
            f"rate that divides {strain.rate} can be made of it."
        )
    from scipy.signal import resample_poly

    # The polyphase filter is a direct sum over its taps, so that a NaN stays within its reach.
    return replace(strain, data=np.asarray(resample_poly(strain.data, 1, strain.rate // rate)), rate=rate)
