"""What the scripted simulator computes: smooth, bounded functions of however many numbers it is given.

With inputs u_1 … u_d in the order of their names, phase φ = Σ i·u_i, amplitude A = 1 / (1 + Σ u_i² / d) and sample
number j:

    wave_k = A cos(φ + j/10 + 2πk / n),  k = 0 … n − 1,  in [−1, 1]
    level  = A² / 2 + sin(φ + j/10) / 4,                  in [−1, 1]

A ragged trace has the first 1 + ⌊(n − 1)·A⌋ values of the wave.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def _phase_and_amplitude(inputs: Mapping[str, float]) -> tuple[float, float]:
    values = [float(inputs[name]) for name in sorted(inputs)]
    phase = math.fsum((index + 1) * value for index, value in enumerate(values))
    amplitude = 1.0 / (1.0 + math.fsum(value * value for value in values) / max(len(values), 1))
    return phase, amplitude


def wave(inputs: Mapping[str, float], points: Sequence[int], length: int, sample: int = 0) -> list[float]:
    """Return the wave at some points, without unit.

    Args:
        inputs: Name → number.
        points: Indices k.
        length: n.
        sample: j.
    """
    phase, amplitude = _phase_and_amplitude(inputs)
    return [amplitude * math.cos(phase + sample / 10 + 2.0 * math.pi * k / length) for k in points]


def level(inputs: Mapping[str, float], sample: int = 0) -> float:
    """Return the level, without unit."""
    phase, amplitude = _phase_and_amplitude(inputs)
    return amplitude * amplitude / 2 + math.sin(phase + sample / 10) / 4


def trace_length(inputs: Mapping[str, float], length: int) -> int:
    """Return how many values a ragged trace has: at least 1, at most n."""
    return 1 + math.floor((length - 1) * _phase_and_amplitude(inputs)[1])
