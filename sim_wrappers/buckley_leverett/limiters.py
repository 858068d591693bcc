"""Limited half slopes for MUSCL reconstruction, computed in place.

Each function takes the differences to the left and to the right of every cell, `a` and `b`, `[n]` float64, and
writes half of the limited slope to `out`; `work` are two arrays of that size for its own use. All are total-variation
diminishing (Sweby 1984): where a and b differ in sign the slope is zero, and |half slope| ≤ min(|a|, |b|); minmod keeps
to half of that.

A step of Euler's method with the reconstructed values obeys the maximum principle while λ·f′ ≤ 1 / (1 + m), where m is
the largest half slope in units of the smaller difference: that is 2/3 for minmod and 1/2 for the others. A strong
stability-preserving Runge–Kutta method inherits the bound (Shu & Osher 1988).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Limiter = Callable[[Array, Array, Array, tuple[Array, Array]], None]

# Zero-dimensional arrays: a ufunc takes them with half the overhead of a Python float.
_ZERO = np.array(0.0)
_HALF = np.array(0.5)
_QUARTER = np.array(0.25)
_TINY = np.array(1e-300)


def minmod(a: Array, b: Array, out: Array, work: tuple[Array, Array]) -> None:
    """Half of the smaller difference (Roe 1986): the most dissipative, the steadiest."""
    falling, _ = work
    np.minimum(a, b, out=out)
    np.maximum(out, _ZERO, out=out)
    np.maximum(a, b, out=falling)
    np.minimum(falling, _ZERO, out=falling)
    np.add(out, falling, out)
    np.multiply(out, _HALF, out)


def van_leer(a: Array, b: Array, out: Array, work: tuple[Array, Array]) -> None:
    """Half of the harmonic mean, ab / (a + b) (van Leer 1974): smooth."""
    total, _ = work
    np.multiply(a, b, out)
    np.maximum(out, _ZERO, out=out)
    np.add(a, b, total)
    np.absolute(total, total)
    np.add(total, _TINY, total)
    np.divide(out, total, out)
    np.copysign(out, a, out)


def monotonized_central(a: Array, b: Array, out: Array, work: tuple[Array, Array]) -> None:
    """Half of the central slope, cut at the smaller difference (van Leer 1977): the sharpest of the three."""
    central, falling = work
    np.add(a, b, central)
    np.multiply(central, _QUARTER, central)
    np.minimum(a, b, out=out)
    np.minimum(out, central, out=out)
    np.maximum(out, _ZERO, out=out)
    np.maximum(a, b, out=falling)
    np.maximum(falling, central, out=falling)
    np.minimum(falling, _ZERO, out=falling)
    np.add(out, falling, out)


LIMITERS: dict[str, Limiter] = {
    "minmod": minmod,
    "van_leer": van_leer,
    "monotonized_central": monotonized_central,
}

COURANT_LIMITS = {"minmod": 2.0 / 3.0, "van_leer": 0.5, "monotonized_central": 0.5}
"""Largest Courant number at which the maximum principle is proved for each limiter."""
