"""Fields of one travelling front, or two, with known positions: what output transforms are tested on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, Coordinate, SampleTable, Schema

CELLS = 80
POINTS = (np.arange(CELLS) + 0.5) / CELLS
TIMES = (0.2, 0.4, 0.6, 0.8, 1.0)


def smeared_step(position: NDArray[np.float64], width: float = 0.008) -> NDArray[np.float64]:
    """Return 1 left of each position `[R]` and 0 right of it, smeared, `[R, CELLS]`."""
    return 0.5 * (1 - np.tanh((POINTS - position[:, None]) / width))


def shock(speed: NDArray[np.float64], height: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a front that travels at `speed` from the left end, over a sloping profile, `[N, 5, CELLS]`."""
    position = speed[:, None] * np.asarray(TIMES)
    behind = height[:, None, None] * (1.2 - 0.4 * POINTS / np.maximum(position, 1e-9)[:, :, None])
    return 0.1 + behind * smeared_step(position.ravel()).reshape(len(speed), len(TIMES), CELLS)


SCHEMA = Schema(
    (
        Column("speed", "input", unit="1"),
        Column("height", "input", unit="1"),
        Column("u", "output", unit="K", shape=(len(TIMES), CELLS), dims=("t", "x")),
    ),
    (Coordinate("t", "s", TIMES), Coordinate("x", "m", tuple(POINTS.tolist()))),
)


def table(count: int, seed: int = 0) -> SampleTable:
    """Return samples of `shock`; the fastest fronts leave the domain before the last time."""
    random = np.random.default_rng(seed)
    speed, height = random.uniform(0.4, 1.6, count), random.uniform(0.5, 1.0, count)
    columns = {"speed": speed, "height": height, "u": shock(speed, height)}
    return SampleTable(SCHEMA, tuple(f"{seed}-{i}" for i in range(count)), ("",) * count, dict(columns))
