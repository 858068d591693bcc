"""Waveforms added to noise, at a given signal-to-noise ratio or distance, wholly inside of what is looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.signal.psd import Psd
from surrogate.signal.snr import Band, optimal_snr
from surrogate.signal.strain import Strain

Array = NDArray[np.float64]


def scale_to_snr(signal: Array, rate: int, psd: Psd, snr: float, band: Band = Band()) -> float:
    """Return the factor that gives a signal an optimal signal-to-noise ratio.

    Args:
        signal: `[N]` strain.
        rate: Samples a second.
        psd: The noise.
        snr: What is wanted, above 0.
        band: The frequencies that count.

    Raises:
        DataError: If the signal is silent in the band, or the ratio is not above 0.
    """
    found = optimal_snr(signal, rate, psd, band)
    if not (found > 0.0 and snr > 0.0):
        raise DataError(f"A signal of ratio {found} in this band cannot be scaled to a signal-to-noise ratio of {snr}.")
    return snr / found


def shifted(signal: Array, samples: float) -> Array:
    """Return a signal delayed by a part of a sample, `[N]` → `[N + 1]`.

    Args:
        signal: `[N]`, zero towards both ends.
        samples: In [0, 1).
    """
    padded = np.concatenate([signal, np.zeros(max(64, len(signal)))])
    turn = np.exp(-2j * np.pi * np.fft.rfftfreq(len(padded)) * samples)
    return np.asarray(np.fft.irfft(np.fft.rfft(padded) * turn, len(padded)))[: len(signal) + 1]


def inject(strain: Strain, signal: Array, peak: float, gps: float, *, edge_s: float = 0.0) -> Strain:
    """Return a strain with a signal added whose peak arrives at a GPS time, to a part of a sample.

    What of the signal begins before the strain is left out; its peak and all that follows must be inside.

    Args:
        strain: Noise.
        signal: `[N]` strain at the same rate.
        peak: Sample of the signal's peak.
        gps: When it arrives, s.
        edge_s: Seconds at each end that whitening will crop: the peak may not lie there.

    Raises:
        DataError: If the peak or what follows it would be cropped, or it falls into a gap.
    """
    place = (gps - strain.start) * strain.rate - peak
    first = int(np.floor(place))
    moved = shifted(signal, place - first)
    summit, edge = round((gps - strain.start) * strain.rate), round(edge_s * strain.rate)
    if not edge <= summit < len(strain.data) - edge or first + len(signal) > len(strain.data):
        raise DataError(
            f"A signal whose peak arrives at GPS {gps} would be cut off: the strain reaches from {strain.start} to "
            f"{strain.end}, {edge_s} s are cropped at each end, and {(len(signal) - peak) / strain.rate:.3f} s follow "
            "the peak. Inject it elsewhere."
        )
    reach = slice(max(0, first), min(len(strain.data), first + len(moved)))
    if not np.isfinite(strain.data[reach]).all():
        raise DataError(f"The strain has a gap where a signal at GPS {gps} would be; inject it elsewhere.")
    data = strain.data.copy()
    data[reach] += moved[reach.start - first : reach.stop - first]
    return Strain(data, strain.rate, strain.start, strain.detector)


def quiet_times(white: Strain, times: Array, *, window_s: float, loudest: float = 8.0) -> NDArray[np.bool_]:
    """Return which times lie neither on a glitch nor in a gap, `[K]`.

    A signal on top of a glitch says nothing about how well signals are found.

    Args:
        white: Whitened strain (unit variance), NaN in gaps.
        times: `[K]` GPS times.
        window_s: Seconds on each side that must be quiet.
        loudest: Largest absolute whitened sample that counts as noise.
    """
    reach = round(window_s * white.rate)
    good = np.zeros(len(times), dtype=np.bool_)
    for number, gps in enumerate(times.tolist()):
        place = white.index(gps)
        if place - reach >= 0 and place + reach < len(white.data):
            part = white.data[place - reach : place + reach + 1]
            good[number] = bool(np.isfinite(part).all()) and float(np.abs(part).max()) <= loudest
    return good
