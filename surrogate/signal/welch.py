"""Spectra of recorded noise by Welch's method, with a median over segments that a glitch does not move.

B. Allen et al., FINDCHIRP, Phys. Rev. D 85, 122006 (2012), appendix B: the median of n powers of Gaussian noise lies
below their mean by a known factor, which is divided out.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.psd import Psd
from surrogate.signal.strain import stretches

Array = NDArray[np.float64]
FEWEST = 3
"""Segments below which no spectrum is worth having."""


def median_bias(count: int) -> float:
    """Return the expected median of `count` exponential variables of mean 1 (for even counts that of one fewer).

    The alternating harmonic series Σ (−1)^{k+1}/k up to k = count.
    """
    odd = count if count % 2 else count - 1
    return math.fsum((-1.0) ** (k + 1) / k for k in range(1, max(odd, 1) + 1))


def welch(data: Array, rate: int, segment_s: float = 4.0, *, average: Literal["median", "mean"] = "median") -> Psd:
    """Return the one-sided spectrum of recorded noise; segments that touch a gap are left out.

    Segments overlap by half and are windowed by Hann's window. The median is robust: a glitch in one segment moves a
    mean by its whole power, and a median hardly.

    Args:
        data: `[N]`, strain; NaN in gaps.
        rate: Samples a second.
        segment_s: Length of a segment, s; its inverse is the spectrum's resolution.
        average: How segments are put together.

    Raises:
        DataError: If fewer than three whole segments are there.
    """
    length = round(segment_s * rate)
    step = length // 2
    starts = [
        first + step * number
        for first, stop in stretches(data, length)
        for number in range((stop - first - length) // step + 1)
    ]
    if len(starts) < FEWEST or length < 2:
        raise DataError(
            f"A spectrum of segments of {segment_s} s needs {FEWEST} of them without a gap, and {len(starts)} were "
            f"found in {len(data) / rate} s. Take shorter segments or more data."
        )
    window = np.hanning(length)
    norm = 2.0 / (rate * float(np.sum(window**2)))
    powers = np.empty((len(starts), length // 2 + 1))
    for row, start in enumerate(starts):
        segment = data[start : start + length]
        powers[row] = np.abs(np.fft.rfft((segment - segment.mean()) * window)) ** 2
    middle = np.median(powers, axis=0) / median_bias(len(starts)) if average == "median" else powers.mean(axis=0)
    return Psd.of(norm * middle, rate / length)
