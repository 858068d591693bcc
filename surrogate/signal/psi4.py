"""Strain from the Weyl scalar ψ₄ by integration at fixed frequency.

ψ₄ = ḧ₊ − i·ḧ×, and integrating twice in time lets unresolved low frequencies drift. C. Reisswig, D. Pollney, Class.
Quantum Grav. 28, 195015 (2011), eq. 27: in the Fourier domain ψ̃₄ is divided by −max(|ω|, ω₀)², where ω₀ lies below
every frequency of the physical signal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def uniform(times: Array, values: Complex, step: float | None = None) -> tuple[Array, Complex]:
    """Return a series on equal steps by cubic splines.

    Args:
        times: `[N]`, rising.
        values: `[N]` complex128.
        step: The step; the median one when None.

    Raises:
        DataError: If times do not rise, or there are fewer than four.
    """
    from scipy.interpolate import CubicSpline

    if len(times) < 4 or not np.all(np.diff(times) > 0) or not np.isfinite(values).all():
        raise DataError("A series of at least four finite values at rising times is needed.")
    width = float(np.median(np.diff(times))) if step is None else step
    grid = times[0] + width * np.arange(math.floor((times[-1] - times[0]) / width * (1.0 + 1e-12)) + 1)
    grid = np.minimum(grid, times[-1])
    return grid, np.asarray(CubicSpline(times, values)(grid), dtype=np.complex128)


def fixed_frequency(values: Complex, step: float, lowest: float, order: int = 2) -> Complex:
    """Integrate `order` times, frequencies below the lowest one counted as it.

    Args:
        values: `[N]` complex128 on equal steps.
        step: Between two, in any unit of time.
        lowest: Angular frequency ω₀ > 0, in one over that unit.
        order: How many times.

    Returns:
        `[N]` complex128.

    Raises:
        DataError: If ω₀ is not above 0, or above what the step resolves.
    """
    if not 0.0 < lowest < math.pi / step:
        raise DataError(
            f"The lowest frequency of the integration must lie between 0 and {math.pi / step:.4g} (half the sample "
            f"rate); {lowest} was given."
        )
    omega = 2.0 * math.pi * np.fft.fftfreq(len(values), step)
    divisor = np.where(omega >= 0, 1.0, -1.0) * np.maximum(np.abs(omega), lowest)
    return np.asarray(np.fft.ifft(np.fft.fft(values) / (1j * divisor) ** order))


def strain_from_psi4(
    times: Array, psi4: Complex, lowest: float, *, taper: float | None = None, step: float | None = None
) -> tuple[Array, Complex]:
    """Return h = h₊ − i·h× from one mode of ψ₄.

    Args:
        times: `[N]`, rising, in units of the total mass.
        psi4: `[N]` complex128, r·M·ψ₄.
        lowest: Angular frequency ω₀ below all of the mode's, in one over the total mass.
        taper: Time over which both ends fade to zero, so that they join; half a period of ω₀ when None.
        step: Of the result; the median of `times` when None.

    Returns:
        Times `[K]` and r·h/M `[K]` complex128.

    Raises:
        DataError: If the series is no series, or ω₀ is unfit.
    """
    grid, values = uniform(times, psi4, step)
    width = float(grid[1] - grid[0])
    fade = math.pi / lowest if taper is None else taper
    ends = min(round(fade / width), len(values) // 2)
    window = np.ones(len(values))
    if ends:
        slope = 0.5 - 0.5 * np.cos(np.pi * (np.arange(ends) + 0.5) / ends)
        window[:ends], window[-ends:] = slope, slope[::-1]
    return grid, fixed_frequency(values * window, width, lowest)


def mode_frequency(times: Array, values: Complex) -> Array:
    """Return the angular frequency of a mode, |dφ/dt|, `[N]`, one over the unit of `times`."""
    phase = np.unwrap(np.angle(values))
    return np.abs(np.gradient(phase, times))


def tortoise(radius: float, mass: float = 1.0) -> float:
    """Return r + 2M ln(r/2M − 1), by which a wave extracted at radius r lags behind (areal radius, any unit).

    Raises:
        DataError: If the radius lies inside of the horizon.
    """
    if not radius > 2.0 * mass:
        raise DataError(f"A radius of {radius} lies inside of the horizon of a mass of {mass}.")
    return radius + 2.0 * mass * math.log(radius / (2.0 * mass) - 1.0)
