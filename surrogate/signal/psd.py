"""Power spectral densities: how loud a detector's noise is at each frequency."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Psd:
    """A one-sided power spectral density on the multiples of a frequency, from 0 on.

    Attributes:
        values: `[F]` float64, strain²/Hz, 1/Hz; infinite where nothing is known.
        df: Spacing of the frequencies, Hz.
    """

    values: Array
    df: float

    @classmethod
    def of(cls, values: Array, df: float) -> Psd:
        """Return a spectrum; values that are not above 0 or not finite mean that nothing is known there.

        Args:
            values: `[F]`, 1/Hz.
            df: Hz.

        Raises:
            DataError: If nothing is known anywhere.
        """
        known = np.isfinite(values) & (values > 0)
        if values.ndim != 1 or not known.any() or not df > 0:
            raise DataError("A spectrum needs at least one value above 0 and frequencies that are apart.")
        return cls(np.where(known, values, np.inf).astype(np.float64), float(df))

    @property
    def frequencies(self) -> Array:
        """`[F]`, Hz."""
        return np.asarray(np.arange(len(self.values)) * self.df, dtype=np.float64)

    def at(self, frequencies: Array) -> Array:
        """Return the spectrum at any frequencies, linear between its own; infinite beyond them.

        Args:
            frequencies: `[K]`, Hz.

        Returns:
            `[K]`, 1/Hz.
        """
        known = np.isfinite(self.values)
        inside = np.interp(frequencies, self.frequencies[known], self.values[known], left=np.inf, right=np.inf)
        return np.asarray(inside, dtype=np.float64)

    def on(self, df: float, count: int) -> Array:
        """Return the spectrum on 0, df, … (count of them), `[count]`, 1/Hz."""
        if count == len(self.values) and abs(df - self.df) < 1e-12 * df:
            return self.values
        return self.at(np.asarray(np.arange(count) * df, dtype=np.float64))

    def for_samples(self, samples: int, rate: int) -> Array:
        """Return the spectrum on the frequencies of a real Fourier transform, `[samples // 2 + 1]`, 1/Hz."""
        return self.on(rate / samples, samples // 2 + 1)


def read_psd(path: Path, *, amplitude: bool = True) -> Psd:
    """Read a spectrum from a file.

    HDF5 files hold one row `data` with the attribute `delta_f` and power densities, as PyCBC writes them. Text files
    hold two columns, the frequency in Hz and an amplitude density in 1/√Hz, as design curves are published.

    Args:
        path: The file.
        amplitude: Whether a text file holds amplitudes; else it holds powers, 1/Hz.

    Raises:
        DataError: If it cannot be read, or is something else.
    """
    try:
        psd = _from_hdf5(path) if h5py.is_hdf5(path) else _from_text(path, amplitude)
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} cannot be read as a spectrum: {error}. HDF5 with 'data' and its attribute 'delta_f', or text "
            "with two columns is needed."
        ) from error
    return psd


def _from_hdf5(path: Path) -> Psd:
    with h5py.File(path, "r") as file:
        data = file["data"]
        return Psd.of(np.asarray(data[()], dtype=np.float64), float(data.attrs["delta_f"]))


def _from_text(path: Path, amplitude: bool) -> Psd:
    table = np.loadtxt(path, dtype=np.float64, ndmin=2)
    frequencies, values = table[:, 0], table[:, 1]
    if not (np.all(np.diff(frequencies) > 0) and np.all(values > 0)):
        raise ValueError("its frequencies must rise and its densities be above 0")
    df = float(min(np.diff(frequencies).min(), 1.0))
    grid = np.arange(int(frequencies[-1] / df) + 1) * df
    # Design curves are straight lines on double logarithmic paper.
    logs = np.interp(np.log(np.maximum(grid, 1e-9)), np.log(np.maximum(frequencies, 1e-9)), np.log(values), left=np.inf)
    return Psd.of(np.exp(2.0 * logs if amplitude else logs), df)
