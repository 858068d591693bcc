"""One rank's share of the field and the steps that advance it, in place and without allocation.

The conserved quantity is the normalised saturation s; waves run towards larger x only (f′ ≥ 0), so the value on the
left of a face is the one that counts. Both schemes keep ghost cells around their own cells: `left` of them at the inlet
side and `right` at the outlet side for every step taken between two exchanges. A step updates all cells that have their
neighbours; those at the edge of the ghosts grow stale, which is why `left` and `right` count them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.buckley_leverett.limiters import LIMITERS

Array = NDArray[np.float64]

_ONE = np.array(1.0)
_HALF = np.array(0.5)


class Scheme(Protocol):
    """A way to advance cell averages by one time step.

    Attributes:
        left: Ghost cells on the inlet side that one step uses up.
        right: Ghost cells on the outlet side that one step uses up.
        state: `[n]` float64, normalised saturation of ghosts and own cells; the caller fills the ghosts.
    """

    left: int
    right: int
    state: Array

    def step(self, ratio: Array) -> float:
        """Advance `state` by one step; return the flux through the last face, averaged over the step.

        Args:
            ratio: `[]` float64, Δτ / Δx.
        """
        ...


class _Flux:
    """f(s) of an array, with its buffers."""

    def __init__(self, size: int, mobility_ratio: float) -> None:
        self.out = np.empty(size)
        self._oil = np.empty(size)
        self._inverse = np.array(1.0 / mobility_ratio)

    def __call__(self, s: Array) -> Array:
        """Return f(s), `[size]`; the array is overwritten by the next call."""
        oil, out = self._oil, self.out
        np.subtract(_ONE, s, oil)
        np.multiply(oil, oil, oil)
        np.multiply(oil, self._inverse, oil)
        np.multiply(s, s, out)
        np.add(oil, out, oil)
        np.divide(out, oil, out)
        return out


class Upwind:
    """First order: the flux of the cell on the left, Euler's method (Courant, Isaacson & Rees 1952)."""

    left = 1
    right = 0

    def __init__(self, size: int, mobility_ratio: float) -> None:
        """Allocate for `size` cells, ghosts included; all hold s = 0."""
        self.state = np.zeros(size)
        self._inner = self.state[1:]
        self._flux = _Flux(size, mobility_ratio)
        self._upper, self._lower = self._flux.out[1:], self._flux.out[:-1]
        self._change = np.empty(size - 1)

    def step(self, ratio: Array) -> float:
        """Advance by one Euler step (see `Scheme.step`)."""
        flux, change, inner = self._flux(self.state), self._change, self._inner
        np.subtract(self._upper, self._lower, change)
        np.multiply(change, ratio, change)
        np.subtract(inner, change, inner)
        return float(flux[-1])


class Muscl:
    """Second order: limited linear reconstruction (van Leer 1979), two-stage SSP Runge–Kutta (Shu & Osher 1988)."""

    left = 4
    right = 2

    def __init__(self, size: int, mobility_ratio: float, limiter: str, *, inlet: bool, outlet: bool) -> None:
        """Allocate for `size` cells, ghosts included; all hold s = 0.

        Args:
            size: Own cells and ghosts.
            mobility_ratio: M > 0.
            limiter: Name in `LIMITERS`.
            inlet: Whether the first two cells are the inlet's ghosts, which hold s = 1 for ever.
            outlet: Whether the last cell is the outlet's ghost, which repeats its neighbour.
        """
        self.state = np.zeros(size)
        self._first, self._second = np.zeros(size), np.zeros(size)
        if inlet:
            for field in (self.state, self._first, self._second):
                field[:2] = 1.0
        self._outlet = outlet
        self._limiter = LIMITERS[limiter]
        self._difference = np.empty(size - 1)
        self._behind, self._ahead = self._difference[:-1], self._difference[1:]
        self._face = np.empty(size - 2)
        self._work = (np.empty(size - 2), np.empty(size - 2))
        self._flux = _Flux(size - 2, mobility_ratio)
        self._upper, self._lower = self._flux.out[1:], self._flux.out[:-1]
        self._change = np.empty(size - 3)
        self._views = {
            id(field): (field[1:], field[:-1], field[1:-1], field[2:-1])
            for field in (self.state, self._first, self._second)
        }

    def _euler(self, source: Array, target: Array, ratio: Array) -> float:
        """Write one Euler step from `source` to `target`; return the flux through the last face."""
        upper, lower, middle, inner = self._views[id(source)]
        face, change = self._face, self._change
        np.subtract(upper, lower, self._difference)
        self._limiter(self._behind, self._ahead, face, self._work)
        np.add(face, middle, face)
        flux = self._flux(face)
        np.subtract(self._upper, self._lower, change)
        np.multiply(change, ratio, change)
        np.subtract(inner, change, self._views[id(target)][3])
        if self._outlet:
            target[-1] = target[-2]
        return float(flux[-1])

    def step(self, ratio: Array) -> float:
        """Advance by the mean of the state and two Euler steps (see `Scheme.step`)."""
        state, second = self.state, self._second
        outflow = self._euler(state, self._first, ratio) + self._euler(self._first, second, ratio)
        inner = self._views[id(state)][3]
        np.add(inner, self._views[id(second)][3], inner)
        np.multiply(inner, _HALF, inner)
        if self._outlet:
            state[-1] = state[-2]
        return 0.5 * outflow
