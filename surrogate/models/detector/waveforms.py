"""Waveforms of a table as whitened rows around their peak; everything is float64 until it is whitened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import Ragged, SampleTable, Schema, Values
from surrogate.signal.aligo import aligo
from surrogate.signal.psd import Psd, read_psd
from surrogate.signal.whiten import Whitener, whitener

Array = NDArray[np.float64]
PLUS, CROSS = "h_plus", "h_cross"
MASSES = ("mass_1", "mass_2")


def timing(schema: Schema) -> tuple[int, int]:
    """Return samples a second of the waveforms, and the sample of their peak.

    Raises:
        DataError: If there are no two polarisations along a common time whose zero is the peak.
    """
    names = [column.name for column in schema.columns]
    lacking = [name for name in (PLUS, CROSS, *MASSES) if name not in names]
    if lacking:
        raise DataError(
            f"The family 'detector' learns from {PLUS}, {CROSS} and the two masses, and {', '.join(lacking)} is not "
            f"among {', '.join(names)}."
        )
    column = schema.column(PLUS)
    axis = schema.coordinate(column.dims[-1]) if column.dims else None
    if len(column.shape) != 1 or axis is None or schema.column(CROSS).shape != column.shape:
        raise DataError(
            f"{PLUS} and {CROSS} must be series along one coordinate in seconds whose zero is the peak; set 'window_s' "
            "of the simulator above 0, so that all waveforms are equally long."
        )
    times = axis.array
    rate = round(1.0 / float(np.median(np.diff(times)))) if len(times) > 1 else 0
    peak = int(np.argmin(np.abs(times)))
    if rate < 1 or abs(times[peak]) * rate > 0.5 or np.abs(np.diff(times) * rate - 1.0).max() > 1e-3:
        raise DataError(f"The coordinate '{axis.name}' must be evenly spaced in seconds and contain 0, the peak.")
    return rate, peak


def spectra(names: Sequence[str], rate: int) -> tuple[Array, float]:
    """Return power spectral densities on common frequencies up to half the rate, `[P, F]` 1/Hz, and their spacing, Hz.

    Args:
        names: `aligo`, or files.
        rate: Samples a second.

    Raises:
        DataError: If one cannot be read.
    """
    found: list[Psd] = [aligo() if name == "aligo" else read_psd(Path(name)) for name in names]
    df = min(psd.df for psd in found)
    count = round(rate / 2.0 / df) + 1
    return np.stack([psd.on(df, count) for psd in found]), df


def whiteners(densities: Array, df: float, rate: int, *, filter_s: float, low_hz: float) -> list[Whitener]:
    """Return one whitening filter a spectrum, `[P]`."""
    return [whitener(Psd.of(density, df), rate, filter_s, low_hz) for density in densities]


def whitened_rows(
    columns: Mapping[str, Values], timed: tuple[int, int], filters: Sequence[Whitener], reach: tuple[int, int]
) -> Array:
    """Return both polarisations of N waveforms, whitened, around their peak: `[N, 2, before + after]` float64.

    Waveform n is whitened by filter n modulo their number. The first polarisation's norm is 1 in each row, and the
    second keeps its ratio to it.

    Args:
        columns: `h_plus` and `h_cross`, `[N, T]`.
        timed: Samples a second and the sample of the peak.
        filters: Whitening filters.
        reach: Samples before the peak, and from it on.

    Raises:
        DataError: If a waveform is silent after whitening.
    """
    both = [columns[PLUS], columns[CROSS]]
    if any(isinstance(values, Ragged) for values in both):
        raise DataError("Waveforms of different lengths are not supported; set 'window_s' of the simulator above 0.")
    waves = np.stack([np.asarray(values, dtype=np.float64) for values in both], axis=1)
    before, after = reach
    half = max(entry.half for entry in filters)
    # Nothing is before its beginning and after its end: a wave fades in, and has rung down.
    head, tail = max(0, before + half - timed[1]), max(0, after + half - (waves.shape[2] - timed[1]))
    padded = np.pad(waves, ((0, 0), (0, 0), (head, tail)))
    peak = timed[1] + head
    rows = np.empty((len(waves), 2, before + after))
    for number, entry in enumerate(filters):
        part = padded[number :: len(filters), :, peak - before - entry.half : peak + after + entry.half]
        if len(part):
            rows[number :: len(filters)] = entry(part)
    norms = np.linalg.norm(rows, axis=2)
    if not (norms > 0).all():
        silent = int(np.flatnonzero(~(norms > 0).all(axis=1))[0])
        raise DataError(f"Waveform {silent} (counted from 0) is silent after whitening; check its band and spectrum.")
    return np.asarray(rows / norms[:, :1, np.newaxis])


def heavier_first(table: SampleTable) -> Array:
    """Return the masses of all samples, `[N, 2]`, solar masses, the heavier one first."""
    pair = np.stack([np.asarray(table.columns[name], dtype=np.float64) for name in MASSES], axis=1)
    return -np.sort(-pair, axis=1)
