"""The design sensitivity of Advanced LIGO, zero detuning and high power (LIGO-T0900288).

The curve is smooth: its amplitude density at 48 frequencies, evenly spaced in their logarithm, is joined by a cubic
spline of logarithms, which differs from the noise budget's own formula by less than 1e-4.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from surrogate.signal.psd import Psd

Array = NDArray[np.float64]
LOW_HZ, HIGH_HZ = 5.0, 8192.0
"""Frequencies between which the curve is known, Hz."""

# Amplitude densities, 1/√Hz, from LOW_HZ to HIGH_HZ.
_NODES = (
    4.896251e-22, 3.377071e-22, 2.334968e-22, 1.618602e-22, 1.125067e-22, 7.843066e-23, 5.485664e-23, 3.852524e-23,
    2.720901e-23, 1.938386e-23, 1.400515e-23, 1.035345e-23, 7.926011e-24, 6.359816e-24, 5.381548e-24, 4.783566e-24,
    4.416362e-24, 4.182024e-24, 4.022332e-24, 3.905296e-24, 3.814460e-24, 3.741999e-24, 3.684781e-24, 3.642297e-24,
    3.615678e-24, 3.607298e-24, 3.620705e-24, 3.660714e-24, 3.733563e-24, 3.847072e-24, 4.010737e-24, 4.235734e-24,
    4.534848e-24, 4.922367e-24, 5.414063e-24, 6.027306e-24, 6.781403e-24, 7.698127e-24, 8.802403e-24, 1.012313e-23,
    1.169406e-23, 1.355484e-23, 1.575206e-23, 1.834053e-23, 2.138471e-23, 2.496029e-23, 2.915617e-23, 3.407662e-23,
)  # fmt: skip


def aligo_density(frequencies: Array) -> Array:
    """Return the one-sided power spectral density, `[K]` 1/Hz; infinite outside of the known frequencies.

    Args:
        frequencies: `[K]`, Hz.
    """
    from scipy.interpolate import CubicSpline

    inside = (frequencies >= LOW_HZ) & (frequencies <= HIGH_HZ)
    spline = CubicSpline(np.linspace(np.log(LOW_HZ), np.log(HIGH_HZ), len(_NODES)), np.log(_NODES))
    logs = spline(np.log(np.clip(frequencies, LOW_HZ, HIGH_HZ)))
    return np.where(inside, np.exp(2.0 * logs), np.inf)


@cache
def aligo(df: float = 0.125) -> Psd:
    """Return the design sensitivity as a spectrum, from 5 to 8192 Hz.

    Args:
        df: Spacing of the frequencies, Hz.
    """
    frequencies = np.asarray(np.arange(round(HIGH_HZ / df) + 1) * df, dtype=np.float64)
    return Psd.of(aligo_density(frequencies), df)
