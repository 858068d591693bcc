"""Inner products under noise, and the signal-to-noise ratios made of them.

(a|b) = 4 ∫ ã(f) b̃*(f) / S(f) df over positive frequencies (C. Cutler, É. É. Flanagan, Phys. Rev. D 49, 2658 (1994));
the optimal ratio of a signal h is √(h|h), and a matched filter's is |(s|h)| / √(h|h), maximal over phase by taking the
complex product and over time by its Fourier transform.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.psd import Psd

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Band:
    """The frequencies that count.

    Attributes:
        low_hz: Lowest.
        high_hz: Highest; half the sample rate when None.
    """

    low_hz: float = 20.0
    high_hz: float | None = None

    def weights(self, psd: Psd, samples: int, rate: int) -> Array:
        """Return 4·df/S inside the band and 0 outside, `[samples // 2 + 1]`, on the frequencies of a transform.

        Raises:
            DataError: If the spectrum knows nothing inside the band.
        """
        frequencies = np.arange(samples // 2 + 1) * rate / samples
        top = rate / 2.0 if self.high_hz is None else self.high_hz
        inside = (frequencies >= self.low_hz) & (frequencies < top)
        weights = np.where(inside, 4.0 * (rate / samples) / psd.for_samples(samples, rate), 0.0)
        if not weights.any():
            raise DataError(
                f"The spectrum says nothing between {self.low_hz} and {top} Hz; it reaches from "
                f"{psd.frequencies[np.isfinite(psd.values)][0]} to {psd.frequencies[-1]} Hz."
            )
        return weights


def spectrum(data: Array, rate: int, samples: int | None = None) -> Complex:
    """Return the Fourier integral ∫ x(t) e^{−2πift} dt, `[N]` → `[samples // 2 + 1]` complex128.

    Args:
        data: `[N]` float64.
        rate: Samples a second.
        samples: Zeros are appended up to so many samples; N when None.
    """
    return np.asarray(np.fft.rfft(np.asarray(data, dtype=np.float64), samples) / rate)


def optimal_snr(signal: Array, rate: int, psd: Psd, band: Band = Band()) -> float:
    """Return √(h|h), the ratio at which a signal stands out on average when its form is known.

    Args:
        signal: `[N]` strain; zeros are appended, so that its length need not be the spectrum's.
        rate: Samples a second.
        psd: The noise.
        band: The frequencies that count.
    """
    samples = max(len(signal), round(rate / psd.df))
    power = np.abs(spectrum(signal, rate, samples)) ** 2
    return float(np.sqrt(np.sum(power * band.weights(psd, samples, rate))))


def matched_filter(data: Array, template: Array, rate: int, psd: Psd, band: Band = Band()) -> Complex:
    """Return the complex signal-to-noise ratio at every time, `[N]` complex128.

    Sample t belongs to the template's first sample at t, times modulo N: the ends, as long as the template and as the
    spectrum's finest structure (1/df), mix what is far apart. Crop them.

    Args:
        data: `[N]` strain without gaps.
        template: `[M ≤ N]` strain of any amplitude; one phase is enough.
        rate: Samples a second.
        psd: The noise.
        band: The frequencies that count.

    Raises:
        DataError: If data are not finite or shorter than the template, or the template is nowhere in the band.
    """
    samples = len(data)
    if len(template) > samples:
        raise DataError(f"A template of {len(template) / rate} s does not fit into {samples / rate} s of data.")
    if not np.isfinite(data).all():
        raise DataError("The data have a gap, which no matched filter crosses; filter the stretches beside it.")
    weights = band.weights(psd, samples, rate)
    signal = spectrum(template, rate, samples)
    norm = float(np.sqrt(np.sum(np.abs(signal) ** 2 * weights)))
    if not norm > 0.0:
        raise DataError("The template is silent in the band of the filter.")
    product = np.zeros(samples, dtype=np.complex128)
    product[: len(weights)] = spectrum(data, rate) * np.conj(signal) * weights
    # The inverse transform divides by N, and the weights hold the step of the sum.
    return np.asarray(np.fft.ifft(product)) * (samples / norm)
