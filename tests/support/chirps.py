"""Toy binaries: chirps that rise and ring down, in a table like that of the simulator of compact binaries."""

from __future__ import annotations

import numpy as np

from surrogate.core.schema import Column, Coordinate, SampleTable, Schema

RATE, BEFORE, AFTER = 2048, 1.25, 0.25
_TIMES = np.arange(-round(BEFORE * RATE), round(AFTER * RATE)) / RATE

COLUMNS = (
    Column("h_plus", "output", shape=(len(_TIMES),), dims=("time",)),
    Column("h_cross", "output", shape=(len(_TIMES),), dims=("time",)),
)
SCHEMA = Schema(
    (
        Column("mass_1", "input", "solar_mass"),
        Column("mass_2", "input", "solar_mass"),
        *COLUMNS,
    ),
    (Coordinate("time", "s", tuple(_TIMES.tolist())),),
)


def chirp(mass_1: float, mass_2: float) -> tuple[np.ndarray, np.ndarray]:
    """Return both polarisations of a chirp of about the right phase, `[T]`: Newtonian before, damped after the peak."""
    seconds = 4.925e-6 * (mass_1 * mass_2) ** 0.6 / (mass_1 + mass_2) ** 0.2
    total = 4.925e-6 * (mass_1 + mass_2)
    left = np.maximum(-_TIMES, 0.0) + 12.0 * total
    phase = -2.0 * (left / (5.0 * seconds)) ** 0.625
    amplitude = left**-0.25
    ringing = _TIMES > 0
    last = int(np.argmax(ringing)) - 1
    rate = (phase[last] - phase[last - 1]) * RATE
    phase[ringing] = phase[last] + rate * (_TIMES[ringing] - _TIMES[last])
    amplitude[ringing] = amplitude[last] * np.exp(-_TIMES[ringing] / (12.0 * total))
    amplitude[:128] *= np.linspace(0.0, 1.0, 128)
    return 1e-21 * amplitude * np.cos(phase), 1e-21 * amplitude * np.sin(phase)


def table(count: int, seed: int = 0, low: float = 15.0, high: float = 45.0) -> SampleTable:
    """Return `count` chirps of masses between `low` and `high`, solar masses."""
    masses = np.random.default_rng(seed).uniform(low, high, (count, 2))
    waves = [chirp(*pair) for pair in masses.tolist()]
    columns = {
        "mass_1": masses[:, 0],
        "mass_2": masses[:, 1],
        "h_plus": np.stack([wave[0] for wave in waves]),
        "h_cross": np.stack([wave[1] for wave in waves]),
    }
    ids = tuple(f"chirp-{seed}-{number}" for number in range(count))
    return SampleTable(SCHEMA, ids, ("",) * count, dict(columns))
