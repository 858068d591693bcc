"""Spin-weighted spherical harmonics, and the two polarisations that modes add up to.

J. N. Goldberg et al., J. Math. Phys. 8, 2155 (1967); signs and phases as in P. Ajith et al., arXiv:0709.0093, eq. II.7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from surrogate.signal.constants import MPC_M, SUN_M, SUN_S
from surrogate.signal.waveform import Waveform

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Mode = tuple[int, int]


def harmonic(mode: Mode, inclination: float, azimuth: float = 0.0) -> complex:
    """Return ₋₂Y_lm.

    Args:
        mode: (l, m), l ≥ 2.
        inclination: From the axis, rad.
        azimuth: rad.
    """
    order, m, spin = mode[0], mode[1], 2
    factorial = math.factorial
    total = 0.0
    for k in range(max(0, m - spin), min(order + m, order - spin) + 1):
        denominator = factorial(order + m - k) * factorial(order - spin - k) * factorial(k) * factorial(k + spin - m)
        total += (
            (-1.0) ** k
            / denominator
            * math.cos(inclination / 2.0) ** (2 * order + m - spin - 2 * k)
            * math.sin(inclination / 2.0) ** (2 * k + spin - m)
        )
    root = factorial(order + m) * factorial(order - m) * factorial(order + spin) * factorial(order - spin)
    size = math.sqrt((2 * order + 1) / (4.0 * math.pi)) * math.sqrt(root)
    turned = complex(math.cos(m * azimuth), math.sin(m * azimuth))
    return size * total * turned


def mirrored(modes: Mapping[Mode, Complex]) -> dict[Mode, Complex]:
    """Return modes with those of negative m, as an orbit in a plane has them: h_{l,−m} = (−1)^l h*_{lm}."""
    both = dict(modes)
    for (order, m), values in modes.items():
        both.setdefault((order, -m), np.asarray((-1.0) ** order * np.conj(values), dtype=np.complex128))
    return both


def polarisations(
    modes: Mapping[Mode, Complex],
    step: float,
    total_mass: float,
    distance_mpc: float,
    rate: int,
    *,
    inclination: float = 0.0,
    azimuth: float = 0.0,
) -> Waveform:
    """Return h₊ and h× of a binary in physical units, h₊ − i·h× = Σ h_lm ₋₂Y_lm.

    Args:
        modes: (l, m) → r·h_lm/M, `[N]` complex128 on equal steps.
        step: In units of the total mass.
        total_mass: Solar masses, as measured at the detector.
        distance_mpc: Mpc.
        rate: Samples a second that are wanted.
        inclination: rad.
        azimuth: rad.
    """
    from scipy.interpolate import CubicSpline

    total = sum(values * harmonic(mode, inclination, azimuth) for mode, values in modes.items())
    strain = np.asarray(total) * (total_mass * SUN_M / (distance_mpc * MPC_M))
    seconds = step * total_mass * SUN_S
    times = np.arange(len(strain)) * seconds
    grid = np.arange(math.floor(times[-1] * rate) + 1) / rate
    series = CubicSpline(times, strain)(grid)
    return Waveform.of(np.ascontiguousarray(series.real), np.ascontiguousarray(-series.imag), rate, distance_mpc)
