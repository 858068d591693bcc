"""What the stand-in of Cactus computes: a chirp with a known strain, and the ψ₄ that is its second derivative."""

from __future__ import annotations

import numpy as np

RADIUS, PEAK = 100.0, 700.0


def strain(times, mass_ratio: float):
    """Return r·h/M of the mode (2, 2), complex, at times in total masses: slow rise, peak, ringdown."""
    since = np.asarray(times) - PEAK
    width = 81.0 - 69.0 * np.tanh(since / 20.0)
    amplitude = 0.4 * mass_ratio / (1.0 + mass_ratio) ** 2 / np.cosh(since / width)
    # The frequency climbs from 0.1 to 0.5 around the peak.
    phase = 0.3 * since + 0.2 * 40.0 * np.logaddexp(since / 40.0, -since / 40.0)
    return amplitude * np.exp(-1j * phase)


def psi4(times, mass_ratio: float):
    """Return r·ψ₄, the second derivative of the strain by differences of sixth order."""
    step = 0.02
    weights = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    total = sum(
        weight
        * sum(strain(np.asarray(times) + sign * place * step, mass_ratio) for sign in ((1, -1) if place else (1,)))
        for place, weight in weights.items()
    )
    return total / step**2
