"""The exact solution of Buckley–Leverett displacement by Welge's tangent, written apart from the solver it judges.

In normalised saturation s and time τ: behind the shock at x = v τ the profile is the rarefaction f′(s) = x / τ down to
the shock's saturation s*, where the tangent from the origin touches f: f(s*) / s* = f′(s*) = v. Ahead of it s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Welge:
    """The exact solution for one mobility ratio M."""

    M: float

    def f(self, s: Array | float) -> Array | float:
        """Fractional flow: water's share, from the two mobilities s² and (1 − s)² / M."""
        return 1.0 / (1.0 + (1.0 - s) ** 2 / (self.M * s**2))

    def df(self, s: Array | float) -> Array | float:
        """Its derivative, by the quotient rule on the ratio of the mobilities."""
        ratio = (1.0 - s) ** 2 / (self.M * s**2)
        return 2.0 * ratio / (s * (1.0 - s)) / (1.0 + ratio) ** 2

    @property
    def shock(self) -> float:
        """Saturation behind the shock."""
        return float(brentq(lambda s: self.f(s) - s * self.df(s), 1e-6, 1.0 - 1e-9, xtol=1e-15))

    @property
    def speed(self) -> float:
        """Speed of the shock, lengths per normalised pore volume."""
        return float(self.f(self.shock) / self.shock)

    def profile(self, x: Array, tau: float) -> Array:
        """Normalised saturation at points x > 0, `[n]`."""
        shock, speed = self.shock, self.speed
        return np.array(
            [
                0.0
                if point > speed * tau
                else brentq(lambda s, slope=point / tau: self.df(s) - slope, shock, 1.0 - 1e-13, xtol=1e-15)
                if point > 0.0
                else 1.0
                for point in x
            ]
        )

    def averages(self, cells: int, tau: float) -> Array:
        """Exact cell averages, `[cells]`: with x = τ f′(s), ∫ s dx = x s − τ f(s) on the rarefaction."""
        edges = np.arange(cells + 1) / cells
        front = self.speed * tau
        inside = np.minimum(edges, front)
        s = self.profile(np.where(edges >= front, front * (1.0 - 1e-14), edges), tau)
        integral = inside * s - tau * self.f(s) + tau
        return np.diff(integral) * cells
