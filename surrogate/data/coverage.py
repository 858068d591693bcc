"""How well points cover the input space: histograms, discrepancy, occupied cells."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from surrogate.data.cube import Cube

Floats = NDArray[np.float64]
BINS = 10
MOST_POINTS = 2000
"""Discrepancy costs the square of the number of points; more than these are thinned evenly."""
_RANDOM_DESIGNS = 10
_MOST_PAIRS = 45


def coverage(unit: Floats, cube: Cube) -> dict[str, Any]:
    """Describe how points cover the unit cube.

    Args:
        unit: `[N, D]` float64 in the cube; points outside are counted and left out.
        cube: Names the axes.

    Returns:
        JSON-ready: counts, a histogram for each axis, the centred L2 discrepancy (Hickernell 1998) beside the mean of
        that of random designs of the same size, and the share of occupied cells of each pair of axes beside what
        random points would occupy.
    """
    inside = np.all((unit >= 0.0) & (unit <= 1.0), axis=1) if len(cube.axes) else np.zeros(len(unit), dtype=np.bool_)
    points = unit[inside]
    return {
        "points": len(unit),
        "outside": int((~inside).sum()) if cube.axes else 0,
        "cube": cube.origin,
        "axes": [_axis(points[:, place], cube, place) for place in range(len(cube.axes))],
        "discrepancy": _discrepancy(points) if len(points) >= 2 and cube.axes else None,
        "occupied": _occupied(points, cube) if len(points) and cube.axes else None,
    }


def _axis(values: Floats, cube: Cube, place: int) -> dict[str, Any]:
    axis = cube.axes[place]
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    return {
        "name": axis.name,
        "unit": axis.unit,
        "discrete": axis.discrete,
        "edges_unit": edges.tolist(),
        "edges": list(axis.values),
        "counts": counts.tolist(),
        "largest_gap": _largest_gap(values),
    }


def _largest_gap(values: Floats) -> float:
    """Return the widest part of [0, 1] without a point."""
    return float(np.diff(np.concatenate([[0.0], np.sort(values), [1.0]])).max())


def _discrepancy(points: Floats) -> dict[str, Any]:
    step = max(1, -(-len(points) // MOST_POINTS))
    used = points[::step]
    random = np.random.default_rng(0)
    others = [qmc.discrepancy(random.random(used.shape), method="CD") for _ in range(_RANDOM_DESIGNS)]
    return {
        "method": "centred L2 discrepancy; smaller is more even",
        "value": float(qmc.discrepancy(used, method="CD")),
        "random": float(np.mean(others)),
        "points_used": len(used),
    }


def _occupied(points: Floats, cube: Cube) -> dict[str, Any]:
    """Return which share of the cells of each pair of axes (or of the one axis) has a point in it."""
    dimensions = points.shape[1]
    bins = int(np.clip(np.sqrt(len(points) / 2.0), 2, BINS))
    cells = np.minimum((points * bins).astype(np.int64), bins - 1)
    pairs = list(combinations(range(dimensions), 2))[:_MOST_PAIRS] or [(0, 0)]
    total = bins if pairs == [(0, 0)] else bins**2
    shares = [len(np.unique(cells[:, first] * bins + cells[:, second])) / total for first, second in pairs]
    return {
        "bins_per_axis": bins,
        "pairs": [
            {"axes": [cube.axes[first].name, cube.axes[second].name], "share": share}
            for (first, second), share in zip(pairs, shares, strict=True)
        ],
        "least": min(shares),
        "random": float(1.0 - (1.0 - 1.0 / total) ** len(points)),
    }
