"""Masses of black holes from AHFinderDirect's files, BH_diagnostics.ahN.gp.

Column 2 is the time and column 27 the irreducible mass √(A/16π), in the code's unit, as the files' own headers say.
Horizons are numbered by the parameter file, usually the heavier hole, the lighter one, then the common horizon.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.einstein_toolkit.restarts import read_columns, segments, stitched
from surrogate.core.errors import SimulationError

Array = NDArray[np.float64]
TIME, IRREDUCIBLE = 1, 26
_FEWEST = 27


def irreducible_mass(folder: Path, horizon: int) -> Array | None:
    """Return time and irreducible mass of one horizon over all restarts, `[N, 2]`; None when it was never found.

    Args:
        folder: Of the simulation.
        horizon: Its number, from 1.

    Raises:
        SimulationError: If a file holds something else.
    """
    parts: list[Array] = []
    for segment in segments(folder):
        for path in sorted(segment.rglob(f"BH_diagnostics.ah{horizon}.gp")):
            table = read_columns(path)
            if len(table) and table.shape[1] < _FEWEST:
                raise SimulationError(
                    f"{path} has {table.shape[1]} columns, and the irreducible mass stands in column {_FEWEST}.",
                    kind="output_unreadable",
                )
            parts.append(table[:, [TIME, IRREDUCIBLE]] if len(table) else table.reshape(0, 2))
    return stitched(parts) if any(len(part) for part in parts) else None


def early_mass(series: Array | None, begin: float, span: float) -> float:
    """Return the median mass of a horizon after its initial radiation has gone, in the code's unit; 0 when unfound.

    A hole that is followed beyond the merger takes the common horizon's mass, so that only the beginning is its own.

    Args:
        series: `[N, 2]` time and mass.
        begin: Time at which the mass has settled.
        span: Time over which the median is taken; all there is when the series ends before.
    """
    if series is None:
        return 0.0
    inside = (series[:, 0] >= begin) & (series[:, 0] <= begin + span)
    return float(np.median(series[inside if inside.any() else slice(None), 1]))


def late_mass(series: Array | None, share: float = 0.1) -> float:
    """Return the median mass of the last share of a horizon's life, in the code's unit; 0 when it was never found.

    Args:
        series: `[N, 2]` time and mass.
        share: Of the series that counts.
    """
    if series is None:
        return 0.0
    begin = series[-1, 0] - share * (series[-1, 0] - series[0, 0])
    return float(np.median(series[series[:, 0] >= begin, 1]))
