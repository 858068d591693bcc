"""Duplicates and near-duplicates, above all across the border of the holdout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import poisson

from surrogate.data.cube import Cube
from surrogate.data.shards import ShardIndex
from surrogate.data.split import SPLITS

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
THRESHOLD = 1e-3
"""Root mean square over the axes of the difference in the unit cube below which two points are near-duplicates."""
_SHOWN = 20
_SURE = 0.99
"""How seldom evenly drawn points may have so many near pairs before they are called too many."""


def duplicates(
    index: ShardIndex,
    split: NDArray[np.int8],
    placement: tuple[Floats, Rows],
    cube: Cube,
    threshold: float = THRESHOLD,
) -> dict[str, Any]:
    """Find samples that are the same, and holdout samples that have nearly the same inputs as others.

    Args:
        index: Who is in the dataset, `[N]`.
        split: Split of every sample as positions in `SPLITS`, `[N]`.
        placement: `[K, D]` float64, samples in the unit cube, and `[K]`, their positions in the dataset.
        cube: Names the axes.
        threshold: Largest root mean square difference of near-duplicates.
    """
    holdout = split == SPLITS.index("holdout")
    shared = np.intersect1d(index.points[holdout], index.points[~holdout])
    _, contents = np.unique(index.content, return_counts=True)
    _, points = np.unique(index.points, return_counts=True)
    return {
        "same_content": int((contents - 1).sum()),
        "same_inputs": int((points - 1).sum()),
        "same_inputs_across_holdout": len(shared),
        "near": _near(index, holdout, placement, cube, threshold),
    }


def _ball(threshold: float, dimensions: int) -> float:
    """Return the share of the unit cube within a root mean square difference of one point."""
    if threshold <= 0.0:
        return 0.0
    radius = threshold * math.sqrt(dimensions)
    log_volume = dimensions * math.log(radius * math.sqrt(math.pi)) - math.lgamma(dimensions / 2 + 1)
    return min(math.exp(log_volume), 1.0 - 1e-12)


def _near(
    index: ShardIndex, holdout: NDArray[np.bool_], placement: tuple[Floats, Rows], cube: Cube, threshold: float
) -> dict[str, Any]:
    unit, placed = placement
    inside = holdout[placed]
    record: dict[str, Any] = {
        "threshold": threshold,
        "how": (
            "root mean square over the inputs of the difference as a share of the input's range, between each holdout "
            "sample and its nearest sample of train and tune"
        ),
        "cube": cube.origin,
        "pairs": 0,
        "pairs_by_chance": 0.0,
        "more_than_chance": False,
        "nearest": [],
        "smallest": None,
        "median": None,
    }
    if not cube.axes or not inside.any() or inside.all():
        return {**record, "tested": False}
    tree = cKDTree(unit[~inside])
    distances, nearest = tree.query(unit[inside])
    distances = distances / np.sqrt(len(cube.axes))
    ours, others = placed[inside], placed[~inside][nearest]
    close = np.flatnonzero(distances <= threshold)
    chance = len(ours) * -np.expm1((~inside).sum() * np.log1p(-_ball(threshold, len(cube.axes))))
    shown = close[np.argsort(distances[close], kind="stable")][:_SHOWN]
    return {
        **record,
        "tested": True,
        "pairs": len(close),
        "pairs_by_chance": float(chance),
        "more_than_chance": bool(len(close) > poisson.ppf(_SURE, chance)),
        "nearest": [
            {
                "holdout": str(index.ids[ours[row]]),
                "other": str(index.ids[others[row]]),
                "distance": float(distances[row]),
            }
            for row in shown
        ],
        "smallest": float(distances.min()),
        "median": float(np.median(distances)),
    }
