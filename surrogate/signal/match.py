"""How alike two waveforms are under a detector's noise: their overlap, maximal over time and phase.

B. J. Owen, Phys. Rev. D 53, 6749 (1996): the match is the share of the signal-to-noise ratio that one waveform keeps
when the other is searched for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.psd import Psd
from surrogate.signal.snr import Band, spectrum

Array = NDArray[np.float64]
_FINER = 8
"""Steps within a sample at which the time shift is looked for."""


@dataclass(frozen=True, slots=True)
class Match:
    """How two waveforms agree.

    Attributes:
        value: In [0, 1]; 1 for the same form.
        shift_s: Seconds by which the second has to be delayed to fit the first.
        phase: Phase between them there, rad.
    """

    value: float
    shift_s: float
    phase: float


def match(first: Array, second: Array, rate: int, psd: Psd, band: Band = Band()) -> Match:
    """Return how alike two waveforms are.

    Args:
        first: `[N]` strain of one phase, of any amplitude.
        second: `[M]` likewise, at the same rate.
        rate: Samples a second.
        psd: The noise.
        band: The frequencies that count.

    Raises:
        DataError: If one of them is silent in the band.
    """
    # Long enough that a shift never wraps one end onto the other.
    samples = max(len(first) + len(second), round(rate / psd.df))
    samples = 1 << (samples - 1).bit_length()
    weights = band.weights(psd, samples, rate)
    one, other = spectrum(first, rate, samples), spectrum(second, rate, samples)
    norms = [float(np.sqrt(np.sum(np.abs(entry) ** 2 * weights))) for entry in (one, other)]
    if not min(norms) > 0.0:
        raise DataError("A waveform that is silent in the band matches nothing.")
    fine = np.zeros(samples * _FINER, dtype=np.complex128)
    fine[: len(weights)] = one * np.conj(other) * weights
    product = np.fft.ifft(fine) * len(fine) / (norms[0] * norms[1])
    best = int(np.argmax(np.abs(product)))
    shift = best if best <= len(fine) // 2 else best - len(fine)
    value = min(float(np.abs(product[best])), 1.0)
    return Match(value, shift / (rate * _FINER), float(np.angle(product[best])))
