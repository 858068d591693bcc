"""Whitening: noise of every frequency made equally loud, by a filter that is shorter than what it filters.

The filter is 1/√S in time, cut to a finite length by Hann's window; every output sample is a sum over inputs that were
recorded, so that the edges, half a filter long on each side, are left out instead of being made up. All is float64:
only what is whitened is of order one and may become float32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.psd import Psd
from surrogate.signal.strain import Strain, stretches

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Whitener:
    """A whitening filter of finite length.

    Attributes:
        taps: `[2·half + 1]` float64, symmetric; noise of the spectrum becomes white with 1 for its standard deviation
            where the whole band counts.
        rate: Samples a second for which it is made.
    """

    taps: Array
    rate: int

    @property
    def half(self) -> int:
        """Samples that are lost at each end."""
        return len(self.taps) // 2

    def __call__(self, data: Array) -> Array:
        """Return whitened samples, `[…, N]` → `[…, N − 2·half]`, the edges cropped.

        Args:
            data: `[…, N]` strain.

        Raises:
            DataError: If N is not longer than the filter, or something is not finite.
        """
        samples = data.shape[-1]
        if samples < len(self.taps):
            raise DataError(
                f"{samples / self.rate} s were to be whitened by a filter of {len(self.taps) / self.rate} s: every "
                "sample would be an edge. Give more data on both sides, or make the filter shorter."
            )
        if not np.isfinite(data).all():
            raise DataError("Samples that are not finite cannot be whitened; leave the gap out (whiten_strain does).")
        from scipy.signal import oaconvolve

        taps = self.taps.reshape((1,) * (data.ndim - 1) + (-1,))
        return np.asarray(oaconvolve(data.astype(np.float64), taps, mode="valid", axes=-1))


def whitener(psd: Psd, rate: int, filter_s: float, low_hz: float, high_hz: float | None = None) -> Whitener:
    """Make a whitening filter.

    Args:
        psd: The noise.
        rate: Samples a second.
        filter_s: Length of the filter, s; spectral lines narrower than its inverse are not resolved.
        low_hz: Frequencies below are suppressed.
        high_hz: Frequencies above are suppressed; half the rate when None.

    Raises:
        DataError: If the band is empty, or lies outside of what the spectrum knows.
    """
    half = round(filter_s * rate / 2.0)
    top = rate / 2.0 if high_hz is None else min(high_hz, rate / 2.0)
    # The grid is fine enough that the filter's own truncation is what limits it.
    samples = 4 << max(2 * half + 1, round(rate / psd.df)).bit_length()
    frequencies = np.arange(samples // 2 + 1) * rate / samples
    density = psd.for_samples(samples, rate)
    inside = (frequencies >= low_hz) & (frequencies < top)
    if half < 1 or not inside.any() or not np.isfinite(density[inside]).any():
        raise DataError(
            f"No whitening filter of {filter_s} s can be made between {low_hz} and {top} Hz of a spectrum that reaches "
            f"from {psd.frequencies[np.isfinite(psd.values)][0]} to {psd.frequencies[-1]} Hz."
        )
    response = np.where(inside, np.sqrt(2.0 / (rate * density)), 0.0)
    impulse = np.fft.irfft(response, samples)
    centred = np.concatenate([impulse[-half:], impulse[: half + 1]])
    return Whitener(centred * np.hanning(2 * half + 3)[1:-1], rate)


def whiten_strain(strain: Strain, whitener: Whitener) -> Strain:
    """Whiten every stretch without a gap; the rest, half a filter around each gap included, is NaN.

    Args:
        strain: What was recorded, at the filter's rate.
        whitener: The filter.

    Raises:
        DataError: If the rates differ, or no stretch is longer than the filter.
    """
    if strain.rate != whitener.rate:
        raise DataError(
            f"The strain of {strain.detector or 'the detector'} has {strain.rate} samples a second and the whitening "
            f"filter was made for {whitener.rate}; resample the strain first."
        )
    white = np.full(len(strain.data), np.nan)
    half = whitener.half
    found = False
    for first, stop in stretches(strain.data, len(whitener.taps)):
        white[first + half : stop - half] = whitener(strain.data[first:stop])
        found = True
    if not found:
        raise DataError(
            f"No stretch of {strain.detector or 'the strain'} without a gap is longer than the whitening filter "
            f"({len(whitener.taps) / strain.rate} s)."
        )
    return replace(strain, data=white)
