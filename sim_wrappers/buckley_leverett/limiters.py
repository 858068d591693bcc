"""Limited half slopes for MUSCL reconstruction, computed in place.

Each function takes the differences to the left and to the right of every cell, `a` and `b`, `[n]` float64, and
writes half of the limited slope to `out`. All are total-variation diminishing (Sweby 1984): where a and b differ in
sign the slope is zero, and |half slope| ≤ min(|a|, |b|); minmod keeps to half of that.

A step of Euler's method with the reconstructed values obeys the maximum principle while λ·f′ ≤ 1 / (1 + m), where m is
the largest half slope in units of the smaller difference: that is 2/3 for minmod and 1/2 for the others. A strong
stability-preserving Runge–Kutta method inherits the bound (Shu & Osher 1988).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Limiter = Callable[[Array, Array, Array, Array], None]

# Zero-dimensional arrays: a ufunc takes them with half the overhead of a Python float.
_ZERO = np.array(0.0)
_HALF = np.array(0.5)
_QUARTER = np.array(0.25)
_TINY = np.array(1e-300)


def minmod(a: Array, b: Array, out: Array, work: Array) -> None:
    """Half of the smaller difference (Roe 1986): the most dissipative, the steadiest."""
    np.minimum(a, b, out=out)
    np.maximum(out, _ZERO, out=out)
    np.maximum(a, b, out=work)
    np.minimum(work, _ZERO, out=work)
    np.add(out, work, out)
    np.multiply(out, _HALF, out)


def van_leer(a: Array, b: Array, out: Array, work: Array) -> None:
    """Half of the harmonic mean, ab / (a + b) (van Leer 1974): smooth."""
    np.multiply(a, b, out)
    np.maximum(out, _ZERO, out=out)
    np.add(a, b, work)
    np.absolute(work, work)
    np.add(work, _TINY, work)
    np.divide(out, work, out)
    np.copysign(out, a, out)


def monotonized_central(a: Array, b: Array, out: Array, work: Array) -> None:
    """Half of the central slope, cut at the smaller difference (van Leer 1977)."""
    np.add(a, b, work)
    np.multiply(work, _QUARTER, work)
    np.minimum(a, b, out=out)
    np.maximum(out, _ZERO, out=out)
    rising = np.minimum(out, work)
    np.maximum(a, b, out=out)
    np.minimum(out, _ZERO, out=out)
    np.maximum(out, work, out=out)
    np.maximum(rising, _ZERO, out=rising)
    np.minimum(out, _ZERO, out=out)
    np.add(out, rising, out)


def superbee(a: Array, b: Array, out: Array, work: Array) -> None:
    """Half of the steepest slope that is still diminishing (Roe 1986): the sharpest; it squares off smooth waves."""
    _superbee_rising(a, b, out, work)
    falling = np.empty_like(out)
    _superbee_rising(np.negative(a), np.negative(b), falling, work)
    np.subtract(out, falling, out)


def _superbee_rising(a: Array, b: Array, out: Array, work: Array) -> None:
    """Write max(0, min(a, b/2), min(a/2, b)): the half slope where both differences rise, else zero."""
    np.multiply(b, _HALF, work)
    np.minimum(a, work, out=out)
    np.multiply(a, _HALF, work)
    np.minimum(work, b, out=work)
    np.maximum(out, work, out=out)
    np.maximum(out, _ZERO, out=out)


LIMITERS: dict[str, Limiter] = {
    "minmod": minmod,
    "van_leer": van_leer,
    "monotonized_central": monotonized_central,
    "superbee": superbee,
}

COURANT_LIMITS = {"minmod": 2.0 / 3.0, "van_leer": 0.5, "monotonized_central": 0.5, "superbee": 0.5}
"""Largest Courant number at which the maximum principle is proved for each limiter."""
