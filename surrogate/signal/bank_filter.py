"""Matched filtering of whitened windows with a whole bank: batched Fourier transforms in complex64.

This is the peer that a detector is measured against, so that it is made as fast as NumPy and SciPy allow: one transform
a template and window, in batches that stay in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.bank import Spectra

_ROWS = 16
"""Templates in one batch of transforms: 16 × 2,048 complex64 numbers are 256 KiB."""


@dataclass(frozen=True, slots=True, eq=False)
class Loudest:
    """The loudest template of each window.

    Attributes:
        snr: `[W]` float32, signal-to-noise ratio.
        template: `[W]` int64, which one.
        sample: `[W]` int64, sample of the window at which the template's own peak arrives.
    """

    snr: NDArray[np.float32]
    template: NDArray[np.int64]
    sample: NDArray[np.int64]


class FilterBank:
    """A bank over windows of one length.

    Attributes:
        samples: N, length of a window.
        templates: T.
    """

    def __init__(self, spectra: Spectra, samples: int, peak: int, allowed: tuple[int, int] | None = None) -> None:
        """Keep the templates as they are multiplied.

        Args:
            spectra: `[T, N // 2 + 1]` complex64 of norm 1 (see `surrogate.signal.bank.normalised`).
            samples: N.
            peak: Sample of the templates' peak in their windows.
            allowed: (first, stop): where in a window a peak may arrive; anywhere when None.

        Raises:
            DataError: If the lengths do not agree.
        """
        if spectra.shape[1] != samples // 2 + 1:
            raise DataError(f"Spectra of {spectra.shape[1]} frequencies do not belong to windows of {samples} samples.")
        self.samples, self.templates = samples, len(spectra)
        self._conjugates = np.ascontiguousarray(2.0 * spectra.conj()).astype(np.complex64)
        first, stop = allowed if allowed is not None else (0, samples)
        arrivals = (np.arange(samples) + peak) % samples
        self._inside = np.flatnonzero((arrivals >= first) & (arrivals < stop))
        self._whole = len(self._inside) == samples
        self._arrivals = arrivals

    def loudest(self, windows: NDArray[np.float32]) -> Loudest:
        """Return the loudest template of each window.

        Args:
            windows: `[W, N]` whitened, of unit variance.

        Raises:
            DataError: If the windows have another length.
        """
        from scipy import fft

        if windows.ndim != 2 or windows.shape[1] != self.samples:
            raise DataError(f"The bank is for windows of {self.samples} samples; {list(windows.shape)} was given.")
        count, width = len(windows), self._conjugates.shape[1]
        loudest = Loudest(np.zeros(count, np.float32), np.zeros(count, np.int64), np.zeros(count, np.int64))
        buffer = np.zeros((_ROWS, self.samples), dtype=np.complex64)
        spectra = fft.rfft(windows.astype(np.float32, copy=False), axis=1)
        for begin in range(0, self.templates, _ROWS):
            block = self._conjugates[begin : begin + _ROWS]
            rows = buffer[: len(block)]
            for number in range(count):
                rows[:, width:] = 0
                np.multiply(block, spectra[number], out=rows[:, :width])
                series = fft.ifft(rows, axis=1, overwrite_x=True)
                self._keep(loudest, number, begin, series)
        np.sqrt(loudest.snr, out=loudest.snr)
        return loudest

    def _keep(self, loudest: Loudest, number: int, begin: int, series: NDArray[np.complex64]) -> None:
        """Take in the series of a batch of templates, as squares, where one is louder than all before."""
        flat = series.view(np.float32)
        power = np.square(flat[:, 0::2])
        power += np.square(flat[:, 1::2])
        if not self._whole:
            power = power[:, self._inside]
        place = int(power.argmax())
        value = power.flat[place]
        if value > loudest.snr[number]:
            row, column = divmod(place, power.shape[1])
            loudest.snr[number] = value
            loudest.template[number] = begin + row
            shift = column if self._whole else int(self._inside[column])
            loudest.sample[number] = self._arrivals[shift]
