"""Positions of one front as a smooth function of the network's inputs.

Positions are taken as they are, or as the logarithm of the distance to one end of the domain, whichever a quadratic
function of the inputs explains better (leave-one-out); a front that starts at an end and spreads over decades is smooth
in the logarithm only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

Measure = Literal["plain", "from_low", "from_high"]
_MEASURES: tuple[Measure, ...] = ("plain", "from_low", "from_high")
_MOST_POINTS = 1500
_FARTHEST = 8.0
_SMOOTHING = 1e-5


@dataclass(frozen=True, slots=True)
class PositionScale:
    """How a position enters the network: (z − mean) / scale with z the position or a logarithm of it.

    Attributes:
        measure: `plain`, or the logarithm of the distance `from_low` or `from_high` end of the domain.
        low: Lower end of the domain.
        high: Upper end of it.
        mean: Mean of z.
        scale: Standard deviation of z.
    """

    measure: Measure
    low: float
    high: float
    mean: float = 0.0
    scale: float = 1.0

    def encode(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled numbers of positions of any shape; distances below 1e-6 of the domain count as that."""
        least = 1e-6 * (self.high - self.low)
        if self.measure == "from_low":
            z = np.log(np.maximum(position - self.low, least))
        elif self.measure == "from_high":
            z = -np.log(np.maximum(self.high - position, least))
        else:
            z = position
        return (z - self.mean) / self.scale

    def decode(self, number: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions, never farther from the domain than eight times its length."""
        length = self.high - self.low
        z = np.asarray(number, dtype=np.float64) * self.scale + self.mean
        if self.measure == "from_low":
            return self.low + np.exp(np.minimum(z, np.log((_FARTHEST + 1) * length)))
        if self.measure == "from_high":
            return self.high - np.exp(np.minimum(-z, np.log((_FARTHEST + 1) * length)))
        return np.clip(z, self.low - _FARTHEST * length, self.high + _FARTHEST * length)

    def slope(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d position / d number, of the positions' shape."""
        if self.measure == "from_low":
            return self.scale * np.maximum(position - self.low, 0.0)
        if self.measure == "from_high":
            return self.scale * np.maximum(self.high - position, 0.0)
        return np.full_like(position, self.scale)

    def fitted(self, positions: NDArray[np.float64]) -> PositionScale:
        """Return the same measure with mean and deviation of these positions `[R]`."""
        z = PositionScale(self.measure, self.low, self.high).encode(positions)
        deviation = float(z.std())
        return PositionScale(self.measure, self.low, self.high, float(z.mean()), deviation if deviation > 0 else 1.0)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {"measure": self.measure, "low": self.low, "high": self.high, "mean": self.mean, "scale": self.scale}


@dataclass(frozen=True, slots=True, eq=False)
class PositionModel:
    """A radial basis interpolant of the positions that were seen.

    Attributes:
        points: `[n, D]` features of rows in which the front was seen.
        positions: `[n]` its positions there.
        scale: Scale in which it interpolates.
        explained: Share of the positions' variance that a quadratic function explains, leave-one-out; at most 1.
        error: Root mean square of that function's leave-one-out residuals, in the coordinate's unit.
    """

    points: NDArray[np.float64]
    positions: NDArray[np.float64]
    scale: PositionScale
    explained: float
    error: float

    def predict(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected positions of rows `[R, D]`, `[R]`."""
        linear = np.concatenate([np.ones((len(self.points), 1)), self.points], axis=1)
        # The cubic kernel needs points that fix a linear function: enough of them, and not all on one plane.
        fixed = len(self.points) >= 2 * linear.shape[1] and np.linalg.matrix_rank(linear) == linear.shape[1]
        kernel: Literal["cubic", "linear"] = "cubic" if fixed else "linear"
        interpolant = RBFInterpolator(
            self.points, self.scale.encode(self.positions), kernel=kernel, degree=int(fixed), smoothing=_SMOOTHING
        )
        return self.scale.decode(np.asarray(interpolant(features), dtype=np.float64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        return {"points": self.points, "positions": self.positions}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {"scale": self.scale.to_json(), "explained": self.explained, "error": self.error}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> PositionModel:
        """Rebuild from `arrays` and `to_json`."""
        points, positions = (np.asarray(arrays[key], dtype=np.float64) for key in ("points", "positions"))
        return cls(
            points, positions, PositionScale(**record["scale"]), float(record["explained"]), float(record["error"])
        )


def fit_positions(
    features: NDArray[np.float64], track: NDArray[np.float64], low: float, high: float
) -> PositionModel | None:
    """Fit the positions of one front.

    Args:
        features: `[R, D]`.
        track: `[R]`, NaN where the front was not seen.
        low: Lower end of the domain.
        high: Upper end of it.

    Returns:
        The model, or None where too few rows show the front, or all show it at one place.
    """
    rows = np.flatnonzero(np.isfinite(track))
    if len(rows) < features.shape[1] + 3:
        return None
    points, positions = features[rows], track[rows]
    variance = float(np.var(positions))
    if variance < (1e-9 * (high - low)) ** 2:
        return None
    best: tuple[float, PositionScale] | None = None
    for measure in _MEASURES:
        scale = PositionScale(measure, low, high).fitted(positions)
        rest = _left_out(points, scale.encode(positions)) * scale.slope(positions)
        error = float(np.mean(rest**2))
        if best is None or error < 0.9 * best[0]:
            best = (error, scale)
    if best is None:  # pragma: no cover - there are three measures
        return None
    keep = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POINTS)).astype(np.int64))
    return PositionModel(points[keep], positions[keep], best[1], 1.0 - best[0] / variance, float(np.sqrt(best[0])))


def _left_out(points: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return leave-one-out residuals `[n]` of a ridge regression on `[n, D]`: quadratic, or linear for few points."""
    count, width = points.shape
    design = np.concatenate([np.ones((count, 1)), points], axis=1)
    upper = np.triu_indices(width)
    if count >= 2 * (design.shape[1] + len(upper[0])):
        design = np.concatenate([design, (points[:, :, None] * points[:, None, :])[:, upper[0], upper[1]]], axis=1)
    inverse = np.linalg.inv(design.T @ design + 1e-6 * count * np.eye(design.shape[1]))
    weights = design @ inverse
    residual = values - weights @ (design.T @ values)
    leverage = np.clip(np.sum(weights * design, axis=1), 0.0, 0.999)
    return np.asarray(residual / (1.0 - leverage), dtype=np.float64)
