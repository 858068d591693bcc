"""The fractional flow of two immiscible phases, and the speed of its waves.

With quadratic relative permeabilities and no gravity (Buckley & Leverett 1942),

    f(s) = s² / (s² + (1 − s)² / M),    s = (S − Swc) / (1 − Swc − Sor),

where s in [0, 1] is the normalised water saturation and M the mobility ratio of water to oil at their end points. In
pore volumes injected t and distance x in lengths of the medium, ∂s/∂τ + ∂f/∂x = 0 with τ = t / (1 − Swc − Sor).
"""

from __future__ import annotations


def fractional_flow(s: float, mobility_ratio: float) -> float:
    """Return f(s) for a normalised saturation in [0, 1], both without unit."""
    water = s * s
    return water / (water + (1.0 - s) ** 2 / mobility_ratio)


def wave_speed(s: float, mobility_ratio: float) -> float:
    """Return f′(s) ≥ 0 for a normalised saturation in [0, 1], in lengths per normalised pore volume."""
    total = s * s + (1.0 - s) ** 2 / mobility_ratio
    return 2.0 * s * (1.0 - s) / (mobility_ratio * total * total)


def inflection(mobility_ratio: float) -> float:
    """Return the one saturation in (0, 1) at which f′ is largest.

    f″ = 0 is a cubic with one root there; its sign is bisected to the last bit.
    """
    low, high = 0.0, 1.0
    while low < (middle := 0.5 * (low + high)) < high:
        rest = 1.0 - middle
        total = middle * middle + rest * rest / mobility_ratio
        rising = (1.0 - 2.0 * middle) * total - 4.0 * middle * rest * (middle - rest / mobility_ratio) > 0.0
        low, high = (middle, high) if rising else (low, middle)
    return low


def largest_speed(low: float, high: float, mobility_ratio: float, peak: float) -> float:
    """Return the largest f′ between two saturations: no chord of f between them is steeper.

    Args:
        low: Smallest normalised saturation that is present.
        high: Largest one.
        mobility_ratio: M > 0.
        peak: `inflection(mobility_ratio)`.
    """
    if low <= peak <= high:
        return wave_speed(peak, mobility_ratio)
    return max(wave_speed(low, mobility_ratio), wave_speed(high, mobility_ratio))
