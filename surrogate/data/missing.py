"""Where runs failed: whether failures lie in the input space as chance would have it, or cluster.

Failures that cluster are data missing not at random (Rubin 1976): the surrogate is then blind just where the simulation
is difficult. Two statistics are compared with those of the same points after the labels "failed" and "admitted" were
shuffled: for each axis the Kolmogorov-Smirnov distance between the two sets, and over all axes the share of failed runs
among the nearest neighbours of failed runs. Shuffling makes the tests exact for tied values; the distances of all axes
are judged against the largest of them in each shuffle (Westfall & Young 1993), and the two tests share the level by
Bonferroni.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from surrogate.data.cube import Cube

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]
LEVEL = 0.05
FEWEST = 5
"""With fewer failures no test could tell anything."""
SHUFFLES = 999
MOST_POINTS = 4000
_NEIGHBOURS = 5
_BINS = 10


def failure_place(failed: Floats, admitted: Floats, cube: Cube, seed: int = 0) -> dict[str, Any]:
    """Compare where runs failed with where they were admitted.

    Args:
        failed: `[F, D]` float64, failed runs in the unit cube.
        admitted: `[A, D]` float64, admitted runs in the unit cube.
        cube: Names the axes.
        seed: Fixes the shuffles.

    Returns:
        JSON-ready: counts; `tested`, and if so `clustered`, for each axis distance and p-value, for the neighbours
        share, expected share and p-value; and `sentence`, which says it in words.
    """
    record: dict[str, Any] = {"failed": len(failed), "admitted": len(admitted), "cube": cube.origin, "tested": False}
    record["axes"] = [_where(failed[:, place], admitted[:, place], cube, place) for place in range(len(cube.axes))]
    if not cube.axes:
        return {**record, "clustered": None, "sentence": "The inputs have no unit cube, so the place is not tested."}
    if len(failed) < FEWEST or len(admitted) < FEWEST:
        sentence = (
            f"{len(failed)} failed and {len(admitted)} admitted runs are too few to tell whether failures cluster; "
            f"{FEWEST} of each are needed."
        )
        return {**record, "clustered": None, "sentence": sentence}
    return {**record, **_test(failed, admitted, record["axes"], seed)}


def _where(failed: Floats, admitted: Floats, cube: Cube, place: int) -> dict[str, Any]:
    axis = cube.axes[place]
    ends = np.quantile(failed, [0.05, 0.95]) if len(failed) else np.zeros(0)
    counts = [np.histogram(np.clip(part, 0.0, 1.0), bins=_BINS, range=(0.0, 1.0))[0] for part in (failed, admitted)]
    return {
        "name": axis.name,
        "unit": axis.unit,
        "discrete": axis.discrete,
        "edges": list(axis.values),
        "failed_counts": counts[0].tolist(),
        "admitted_counts": counts[1].tolist(),
        "failed_mostly_unit": ends.tolist(),
        "failed_mostly": [cube.value(place, float(end)) for end in ends],
    }


def _test(failed: Floats, admitted: Floats, axes: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    failed, admitted = _thinned(failed, random), _thinned(admitted, random)
    points = np.concatenate([failed, admitted])
    # Which of several points at one place counts as the nearest may not depend on the order of failed and admitted.
    order = random.permutation(len(points))
    points, labels = points[order], order < len(failed)
    axis_test, neighbour_test = _AxisTest(points), _NeighbourTest(points)
    distances, share = axis_test(labels), neighbour_test(labels)
    larger, nearer = np.zeros(len(distances)), 0
    for _ in range(SHUFFLES):
        shuffled = random.permutation(labels)
        larger += axis_test(shuffled).max() >= distances - 1e-12
        nearer += int(neighbour_test(shuffled) >= share - 1e-12)
    p_axes, p_near = (1.0 + larger) / (1.0 + SHUFFLES), (1.0 + nearer) / (1.0 + SHUFFLES)
    for axis, distance, p in zip(axes, distances, p_axes, strict=True):
        axis.update(distance=float(distance), p_value=float(p), clustered=bool(p < LEVEL / 2))
    clustered = bool(p_axes.min() < LEVEL / 2 or p_near < LEVEL / 2)
    expected = (len(failed) - 1) / (len(points) - 1)
    neighbours = {"share": float(share), "expected": expected, "p_value": float(p_near)}
    return {
        "tested": True,
        "axes": axes,
        "neighbours": neighbours,
        "clustered": clustered,
        "level": LEVEL,
        "how": (
            "Kolmogorov-Smirnov distance of each axis and share of failed runs among the nearest neighbours of failed "
            f"runs, against {SHUFFLES} shuffles of the labels; p-values of the axes are corrected for their number"
        ),
        "sentence": _sentence(axes, neighbours, clustered),
    }


def _thinned(points: Floats, random: np.random.Generator) -> Floats:
    if len(points) <= MOST_POINTS // 2:
        return points
    return points[random.choice(len(points), MOST_POINTS // 2, replace=False)]


def _sentence(axes: list[dict[str, Any]], neighbours: dict[str, Any], clustered: bool) -> str:
    if not clustered:
        least = min(axis["p_value"] for axis in axes)
        return f"Failures lie as chance would have it (smallest p = {min(least, neighbours['p_value']):.3g})."
    parts = [
        f"{_range_text(axis)} (distance {axis['distance']:.2f}, p = {axis['p_value']:.3g})"
        for axis in axes
        if axis["clustered"]
    ]
    where = " and ".join(parts) or (
        f"in a region of several inputs (a failed run's neighbours failed in {neighbours['share']:.0%} of cases, "
        f"{neighbours['expected']:.0%} by chance, p = {neighbours['p_value']:.3g})"
    )
    return (
        f"Failures cluster {where}: data are missing not at random, and the surrogate is least to be trusted where "
        "the simulation fails."
    )


def _range_text(axis: dict[str, Any]) -> str:
    low, high = axis["failed_mostly"]
    if isinstance(low, str) or low is None:
        return f"at certain values of '{axis['name']}'"
    unit = "" if axis["unit"] == "1" else f" {axis['unit']}"
    return f"where '{axis['name']}' is between {low:.4g} and {high:.4g}{unit}, as in nine of ten of them"


class _AxisTest:
    """Kolmogorov-Smirnov distance of each axis for any labelling of the same points."""

    def __init__(self, points: Floats) -> None:
        self._orders = np.argsort(points, axis=0, kind="stable")
        ordered = np.take_along_axis(points, self._orders, axis=0)
        # A distance may be read only where the next value differs.
        self._steps = np.concatenate([np.diff(ordered, axis=0) > 0.0, np.ones((1, points.shape[1]), dtype=np.bool_)])

    def __call__(self, labels: Labels) -> Floats:
        failed = labels[self._orders]
        share_failed = np.cumsum(failed, axis=0) / labels.sum()
        share_admitted = np.cumsum(~failed, axis=0) / (~labels).sum()
        distances: Floats = np.where(self._steps, np.abs(share_failed - share_admitted), 0.0).max(axis=0)
        return distances


class _NeighbourTest:
    """Share of failed runs among the nearest neighbours of failed runs, for any labelling of the same points."""

    def __init__(self, points: Floats) -> None:
        count = min(_NEIGHBOURS, len(points) - 1)
        near = np.asarray(cKDTree(points).query(points, k=count + 1)[1], dtype=np.int64)
        # With points at the same place a point need not be its own first neighbour: it is taken out by its number.
        others = near != np.arange(len(points))[:, None]
        others[others.all(axis=1), -1] = False
        self._near = near[others].reshape(len(points), count)

    def __call__(self, labels: Labels) -> float:
        return float(labels[self._near[labels]].mean())
