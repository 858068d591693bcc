"""Simulated noise of a detector, window by window, from seeds that no two detectors, splits or windows share."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.psd import Psd

Array = NDArray[np.float64]
SPLITS = ("train", "tune", "test")


def coloured(psd: Psd, rate: int, samples: int, random: np.random.Generator, low_hz: float = 0.0) -> Array:
    """Return Gaussian noise of a spectrum, `[samples]` float64.

    Each frequency gets a complex amplitude of variance S·T/2, T the length (J. Timmer, M. König, Astron. Astrophys.
    300, 707 (1995)). Noise of twice the length is made and half of it given, since its ends join.

    Args:
        psd: The noise; where it says nothing there is none.
        rate: Samples a second.
        samples: How many.
        random: Source of randomness.
        low_hz: Nothing below it.
    """
    total = 2 * samples
    density = psd.for_samples(total, rate)
    frequencies = np.arange(len(density)) * rate / total
    known = np.isfinite(density) & (frequencies >= low_hz) & (frequencies > 0)
    scale = np.sqrt(np.where(known, density, 0.0) * total / rate / 4.0)
    amplitudes = (random.standard_normal(len(scale)) + 1j * random.standard_normal(len(scale))) * scale
    amplitudes[-1] = amplitudes[-1].real * np.sqrt(2.0)
    return np.asarray(np.fft.irfft(amplitudes * rate, total))[:samples]


@dataclass(frozen=True, slots=True, eq=False)
class NoiseSource:
    """Endless simulated noise of one detector for one split; each window is independent of all others.

    Attributes:
        psd: The noise.
        rate: Samples a second.
        detector: Its prefix; two detectors have different noise under one seed.
        split: `train`, `tune` or `test`; their noise differs under one seed.
        seed: Of the whole study.
        low_hz: Nothing below it.
    """

    psd: Psd
    rate: int
    detector: str
    split: str
    seed: int
    low_hz: float = 10.0

    def __post_init__(self) -> None:
        """Refuse an unknown split, whose noise might be another's.

        Raises:
            DataError: If there is none of that name.
        """
        if self.split not in SPLITS:
            raise DataError(f"Noise is made for {', '.join(SPLITS)}, and '{self.split}' was asked for.")

    def random(self, index: int) -> np.random.Generator:
        """Return the source of randomness of one window."""
        key = (SPLITS.index(self.split), zlib.crc32(self.detector.encode()), index)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def window(self, index: int, samples: int) -> Array:
        """Return window number `index`, `[samples]` float64; the same index gives the same samples.

        Args:
            index: Number of the window, from 0.
            samples: Its length; another length is another window.
        """
        return coloured(self.psd, self.rate, samples, self.random(index), self.low_hz)
