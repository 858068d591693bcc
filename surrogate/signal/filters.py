"""Band-passing with a finite filter whose edges are cropped, and ends that are made to join."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]


def band_pass(data: Array, rate: int, low_hz: float, high_hz: float, filter_s: float = 0.25) -> Array:
    """Return what lies in a band, without delay: `[…, N]` → `[…, N − L + 1]` for a filter of L samples.

    The filter is linear in phase and symmetric (a sinc under Hamming's window), and (L − 1)/2 samples are left out at
    each end.

    Args:
        data: `[…, N]`.
        rate: Samples a second.
        low_hz: Lower edge, half amplitude.
        high_hz: Upper edge, half amplitude.
        filter_s: Length of the filter, s; the edges are about 3/filter_s Hz wide.

    Raises:
        DataError: If the band is none of the rate's, the filter is longer than the data, or something is not finite.
    """
    from scipy.signal import firwin, oaconvolve

    if not 0.0 < low_hz < high_hz < rate / 2.0:
        raise DataError(f"A band of {low_hz} to {high_hz} Hz does not lie between 0 and {rate / 2.0} Hz.")
    length = 2 * round(filter_s * rate / 2.0) + 1
    if data.shape[-1] < length:
        raise DataError(
            f"{data.shape[-1] / rate} s were to be filtered by a filter of {length / rate} s: every sample would be an "
            "edge. Give more data, or make the filter shorter."
        )
    if not np.isfinite(data).all():
        raise DataError("Samples that are not finite cannot be filtered; leave the gap out first.")
    taps = firwin(length, [low_hz, high_hz], pass_zero=False, fs=rate)
    shaped = np.asarray(taps).reshape((1,) * (data.ndim - 1) + (-1,))
    return np.asarray(oaconvolve(data.astype(np.float64), shaped, mode="valid", axes=-1))


def faded(data: Array, rate: int, fade_s: float) -> Array:
    """Return data whose two ends fade to zero, `[N]`, so that a Fourier transform sees no jump where they join.

    Without it the jump, loudest at low frequencies, leaks into the whole band.

    Args:
        data: `[N]`.
        rate: Samples a second.
        fade_s: Seconds over which each end fades, at most half of the data.
    """
    from scipy.signal.windows import tukey

    share = min(1.0, 2.0 * fade_s * rate / data.shape[-1])
    return np.asarray(data * tukey(data.shape[-1], share), dtype=np.float64)
