"""Whether a detector's noise is like the noise that a network was made for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surrogate.models.detector.transforms import DetectorTransforms
from surrogate.signal.psd import Psd

LEAST_MATCH = 0.9
"""Below it a tenth of the ratio is lost to the spectrum alone, and the noise is out of the network's domain."""


@dataclass(frozen=True, slots=True)
class Fitness:
    """How a network's templates fit another noise.

    Attributes:
        match: Median over the templates of the overlap of a template whitened by this noise with the same whitened by
            the nearest noise that the network was made for; 1 for the same noise.
        sentence: A warning, or empty.
    """

    match: float
    sentence: str


def fitness(transforms: DetectorTransforms, psd: Psd, name: str) -> Fitness:
    """Compare a spectrum with those that a network was made for.

    Args:
        transforms: Of the detector.
        psd: The noise at hand.
        name: Prefix of the detector, for the sentence.
    """
    rate = transforms.rate / transforms.options.decimate
    length = transforms.filters.shape[1]
    waves = transforms.templates[:, 0].astype(np.float64) @ transforms.filters.astype(np.float64)
    power = np.abs(np.fft.rfft(waves, axis=1)) ** 2
    frequencies = np.arange(power.shape[1]) * rate / length
    band = frequencies >= transforms.options.low_hz
    # A spectral line is narrower than what a template resolves: densities are compared between octave parts of a hertz.
    here = _smooth(psd, frequencies)
    best = 0.0
    for density in transforms.densities:
        there = _smooth(Psd.of(density, transforms.df), frequencies)
        known = band & np.isfinite(here) & np.isfinite(there)
        gain = np.zeros(len(frequencies))
        gain[known] = np.sqrt(there[known] / here[known])
        overlap = (power @ gain) / np.sqrt(power.sum(axis=1) * (power @ gain**2))
        best = max(best, float(np.median(overlap)))
    sentence = ""
    if best < LEAST_MATCH:
        sentence = (
            f"The noise of {name or 'the detector'} is out of the network's domain: its templates keep {best:.0%} of "
            "their ratio under this spectrum. Train with this noise among 'hardening.psds'."
        )
    return Fitness(best, sentence)


def _smooth(psd: Psd, frequencies: np.ndarray) -> np.ndarray:
    """Return the median density around each frequency, `[K]` 1/Hz."""
    from scipy.ndimage import median_filter

    known = np.where(np.isfinite(psd.values), psd.values, np.nan)
    reach = max(1, round(8.0 / psd.df))
    filled = np.where(np.isfinite(known), known, np.nanmax(known))
    quiet = median_filter(filled, size=reach, mode="nearest")
    inside = np.interp(frequencies, psd.frequencies, np.where(np.isfinite(known), quiet, np.inf))
    return np.asarray(inside, dtype=np.float64)
