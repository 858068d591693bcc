"""The background of two detectors by time slides, and the false-alarm rate that it can support.

Shifting one detector's triggers against the other's by more than light needs makes coincidences that are chance for
certain. The shift of zero is the search itself and is never part of the background.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]


def slides(span_s: float, step_s: float, least_s: float) -> Array:
    """Return the shifts of all time slides on a ring of data, `[K]`, s; zero is none of them.

    Args:
        span_s: Length of the data, s; triggers are shifted modulo it.
        step_s: Between two shifts, s.
        least_s: Smallest distance from zero, s: the coincidence window and the length of what makes a trigger.

    Raises:
        DataError: If not a single slide fits.
    """
    if step_s < least_s:
        raise DataError(
            f"Slides of {step_s} s are closer than {least_s} s, within which the same event makes triggers: they "
            "would count one chance twice."
        )
    count = math.floor((span_s - least_s) / step_s)
    shifts = step_s * np.arange(1, max(count, 0) + 1)
    shifts = shifts[(shifts >= least_s) & (span_s - shifts >= least_s)]
    if not len(shifts):
        raise DataError(f"{span_s} s of data are too short for a time slide of {step_s} s.")
    return np.asarray(shifts, dtype=np.float64)


def shifted(times: Array, shift_s: float, begin: float, span_s: float) -> Array:
    """Return trigger times shifted on the ring of data, `[K]`, s, in the order of `times`."""
    return np.asarray(begin + np.mod(times - begin + shift_s, span_s))


def coincident(first: Array, second: Array, window_s: float) -> NDArray[np.int64]:
    """Return pairs of triggers at most `window_s` apart, `[P, 2]` numbers of (first, second); each may be in several.

    Args:
        first: `[K]` times, s, in any order.
        second: `[L]` likewise.
        window_s: Light travel time and the error of both times.
    """
    order = np.argsort(second, kind="stable")
    ordered = second[order]
    low = np.searchsorted(ordered, first - window_s, side="left")
    high = np.searchsorted(ordered, first + window_s, side="right")
    pairs = [(i, int(order[j])) for i in range(len(first)) for j in range(int(low[i]), int(high[i]))]
    return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Chance coincidences.

    Attributes:
        statistics: `[B]` statistic of each, in any order.
        seconds: Time that was looked through, all slides together, s.
    """

    statistics: Array
    seconds: float

    @property
    def lowest_far(self) -> float:
        """The lowest false-alarm rate, 1/s, that this background can support: one in all of its time."""
        return 1.0 / self.seconds

    def far(self, statistic: float) -> float:
        """Return the false-alarm rate of a statistic, 1/s: (1 + chance coincidences as loud) over the time.

        The one is the event itself, which may be chance, too; no rate below `lowest_far` is ever claimed.
        """
        return (1.0 + float(np.count_nonzero(self.statistics >= statistic))) / self.seconds

    def threshold(self, far: float) -> float:
        """Return the lowest statistic whose false-alarm rate is at most `far`.

        Args:
            far: 1/s.

        Raises:
            DataError: If the background is too short to support it.
        """
        allowed = far * self.seconds - 1.0
        if allowed < 0.0:
            raise DataError(
                f"A false-alarm rate of {far:.3g} /s was asked for, and {self.seconds:.0f} s of background support no "
                f"less than {self.lowest_far:.3g} /s. Give more data."
            )
        ordered = np.sort(self.statistics)[::-1]
        louder = math.floor(allowed + 1e-9)
        if louder >= len(ordered):
            return -math.inf
        return float(np.nextafter(ordered[louder], math.inf))


def background(
    first: tuple[Array, Array],
    second: tuple[Array, Array],
    shifts: Array,
    *,
    begin: float,
    span_s: float,
    window_s: float,
) -> Background:
    """Return all chance coincidences of two detectors' triggers; the statistic of a pair is the sum of theirs.

    Args:
        first: Times `[K]` (s) and statistics `[K]`.
        second: Likewise; these are shifted.
        shifts: `[S]` s, as `slides` gives them.
        begin: GPS time of the data's first sample, s.
        span_s: Length of the data, s.
        window_s: Coincidence window, s.

    Raises:
        DataError: If a shift is so small that it is the search itself.
    """
    if np.any(np.minimum(np.mod(shifts, span_s), span_s - np.mod(shifts, span_s)) <= window_s):
        raise DataError("A time slide by less than the coincidence window is the search itself, and no background.")
    found = []
    for shift in shifts.tolist():
        pairs = coincident(first[0], shifted(second[0], shift, begin, span_s), window_s)
        found.append(first[1][pairs[:, 0]] + second[1][pairs[:, 1]])
    statistics = np.concatenate(found) if found else np.zeros(0)
    return Background(statistics, span_s * len(shifts))
