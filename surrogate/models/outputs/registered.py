"""Registered fields: the network predicts where fronts are, and a profile in which they stand still.

Fronts along one axis are found in the training rows, followed from row to row, and aligned by a piecewise-linear map of
the coordinate. The network is fitted to the field itself: its profile, sampled through the map at the true positions,
against the simulated cells; so no row is resampled, and what lies outside the domain counts for nothing. Errors of
positions enter the same loss by the square of ∂field/∂position, to first order the error that they cause in the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from surrogate.models.outputs.alignment import Alignment, split_coordinate
from surrogate.models.outputs.base import Head, spread
from surrogate.models.outputs.fronts import Fronts, choose_gap, find_fronts
from surrogate.models.outputs.positions import PositionScale
from surrogate.models.outputs.tracks import Tracks
from surrogate.models.protocols import Rows

if TYPE_CHECKING:
    import tensorflow as tf

_BAND_GAPS = 2
_STEPS_A_CELL = 2


class FrontOptions(BaseModel):
    """How moving fronts are found and aligned."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    axis: str = Field("", description="Axis along which fronts move; empty for the last one that has a coordinate.")
    most: int = Field(3, ge=1, le=8, description="Largest number of fronts that are followed.")
    least_jump: float = Field(
        0.03, gt=0, lt=1, description="Smallest jump that counts as a front, as a share of the output's range."
    )
    nodes: int = Field(0, ge=0, description="Nodes of each stretched piece of a profile; 0 for half as many as cells.")
    width: int = Field(64, ge=1, le=65536, description="Units of the hidden layers that predict positions.")


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredOutput:
    """A fitted registration of one output column.

    Attributes:
        column: Name of the output column.
        shape: Shape of a row.
        place: Which axis of a row the fronts move along.
        lanes: `[L, F]` float64, features of the other axes' places; `[1, 0]` when there are none.
        alignment: The map of the coordinate.
        tracks: The fronts.
        scales: How each front's position enters the network.
        range: Largest minus smallest value on the training rows.
        least_jump: Smallest jump that counts, as a share of the range.
        gap: Half width of a smeared front, in cells.
        mean: Mean over all elements of the training rows.
        scale: Root mean square deviation from it.
    """

    column: str
    shape: tuple[int, ...]
    place: int
    lanes: NDArray[np.float64]
    alignment: Alignment
    tracks: Tracks
    scales: tuple[PositionScale, ...]
    range: float
    least_jump: float
    gap: int
    mean: float
    scale: float

    @classmethod
    def fit(
        cls,
        column: str,
        features: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        place: int,
        points: NDArray[np.float64],
        lanes: NDArray[np.float64],
        options: FrontOptions,
    ) -> RegisteredOutput:
        """Find, follow and align the fronts of training rows.

        Args:
            column: Name of the output column.
            features: `[R, D]`, what the network is given.
            values: `[R, *shape]`.
            place: Axis of a row along which fronts move.
            points: `[X]`, rising coordinate of that axis.
            lanes: `[L, F]`, features of the other axes' places.
            options: How fronts are found.
        """
        profiles = _profiles(values, place)
        span = float(np.ptp(profiles))
        jump = max(options.least_jump * span, 1e-300)
        gap = choose_gap(profiles, jump)
        fronts = find_fronts(profiles, jump, gap)
        cells = len(points)
        nodes = options.nodes or max(16, cells // 2)
        plain = Alignment(points, 0, 0.0, cells - 1, 1)
        wide = _lane_features(features, lanes)
        tracks = Tracks.fit(wide, fronts, _positions(fronts, points), low=plain.low, high=plain.high, most=options.most)
        alignment = plain
        if tracks.count:
            half = _BAND_GAPS * gap
            cell = (plain.high - plain.low) / cells
            alignment = Alignment(points, tracks.count, half * cell, nodes, 2 * half * _STEPS_A_CELL)
        where, _ = tracks.positions(wide, fronts, _positions(fronts, points))
        scales = tuple(model.scale.fitted(where[:, index]) for index, model in enumerate(tracks.models))
        mean = float(profiles.mean())
        return cls(
            column, tuple(values.shape[1:]), place, lanes, alignment, tracks, scales, span, options.least_jump, gap,
            mean, spread(profiles, np.asarray(mean)),
        )  # fmt: skip

    @property
    def heads(self) -> tuple[Head, ...]:
        """The profiles of all lanes, and the positions of all fronts in all lanes."""
        count = len(self.lanes)
        profile = Head(self.column, count * self.alignment.nodes)
        if not self.tracks.count:
            return (profile,)
        return (profile, Head(f"{self.column}.positions", count * self.tracks.count, "positions"))

    def targets(self, features: NDArray[np.float64], values: NDArray[np.float64]) -> Rows:
        """Return cells, where they lie between the nodes, positions and what an error of theirs costs.

        Args:
            features: `[R, D]`.
            values: `[R, *shape]`.
        """
        profiles = _profiles(values, self.place)
        fronts = find_fronts(profiles, max(self.least_jump * self.range, 1e-300), self.gap)
        points = self.alignment.points
        where, _ = self.tracks.positions(_lane_features(features, self.lanes), fronts, _positions(fronts, points))
        index, share = split_coordinate(self.alignment.coordinate(where), self.alignment.nodes)
        count, lanes = len(values), len(self.lanes)
        rows: Rows = {
            f"{self.column}.target": ((profiles - self.mean) / self.scale).astype(np.float32).reshape(count, lanes, -1),
            f"{self.column}.node": index.reshape(count, lanes, -1),
            f"{self.column}.share": share.astype(np.float32).reshape(count, lanes, -1),
        }
        if self.tracks.count:
            slope = np.gradient(profiles, points, axis=1)[:, None, :]
            cost = np.mean((slope * self.alignment.sensitivity(where)) ** 2, axis=2)
            numbers = np.stack([scale.encode(where[:, k]) for k, scale in enumerate(self.scales)], axis=1)
            speed = np.stack([scale.slope(where[:, k]) for k, scale in enumerate(self.scales)], axis=1)
            cost *= (speed / self.scale) ** 2
            rows[f"{self.column}.positions.target"] = numbers.astype(np.float32).reshape(count, -1)
            rows[f"{self.column}.positions.cost"] = (cost / lanes).astype(np.float32).reshape(count, -1)
        return rows

    def loss(self, outputs: Mapping[str, tf.Tensor], batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the mean squared error of each row's cells plus what its positions' errors cost, `[B]`."""
        import tensorflow as tf

        shape = (-1, len(self.lanes), self.alignment.nodes)
        profile = tf.reshape(outputs[self.column], shape)
        node, share = batch[f"{self.column}.node"], batch[f"{self.column}.share"]
        low = tf.gather(profile, node, batch_dims=2)
        high = tf.gather(profile, node + 1, batch_dims=2)
        cells = low + (high - low) * share
        loss = tf.reduce_mean(tf.math.squared_difference(cells, batch[f"{self.column}.target"]), axis=(1, 2))
        if self.tracks.count:
            name = f"{self.column}.positions"
            error = tf.math.squared_difference(outputs[name], batch[f"{name}.target"])
            loss += tf.reduce_sum(error * batch[f"{name}.cost"], axis=1)
        return loss

    def decode(self, outputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the column, `[R, *shape]` float64."""
        profile = np.asarray(outputs[self.column], dtype=np.float64)
        count, lanes = len(profile), len(self.lanes)
        profile = profile.reshape(count * lanes, self.alignment.nodes)
        where = np.zeros((count * lanes, 0))
        if self.tracks.count:
            numbers = np.asarray(outputs[f"{self.column}.positions"], dtype=np.float64).reshape(
                count * lanes, self.tracks.count
            )
            where = np.stack([scale.decode(numbers[:, k]) for k, scale in enumerate(self.scales)], axis=1)
            where = np.maximum.accumulate(where, axis=1)
        cells = self.alignment.sample(profile, where) * self.scale + self.mean
        others = self.shape[: self.place] + self.shape[self.place + 1 :]
        return np.moveaxis(cells.reshape(count, *others, cells.shape[1]), -1, self.place + 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        tracks = {f"tracks/{name}": array for name, array in self.tracks.arrays().items()}
        return {"points": self.alignment.points, "lanes": self.lanes, **tracks}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        alignment = self.alignment
        return {
            "kind": "registered",
            "shape": list(self.shape),
            "place": self.place,
            "half_band": alignment.half_band,
            "stretch_steps": alignment.stretch_steps,
            "band_steps": alignment.band_steps,
            "tracks": self.tracks.to_json(),
            "scales": [scale.to_json() for scale in self.scales],
            "range": self.range,
            "least_jump": self.least_jump,
            "gap": self.gap,
            "mean": self.mean,
            "scale": self.scale,
        }

    @classmethod
    def restore(cls, column: str, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> RegisteredOutput:
        """Rebuild from `arrays` and `to_json`."""
        prefix = "tracks/"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        tracks = Tracks.restore(own, record["tracks"])
        steps = int(record["stretch_steps"]), int(record["band_steps"])
        points = np.asarray(arrays["points"], dtype=np.float64)
        return cls(
            column=column,
            shape=tuple(int(length) for length in record["shape"]),
            place=int(record["place"]),
            lanes=np.asarray(arrays["lanes"], dtype=np.float64),
            alignment=Alignment(points, tracks.count, float(record["half_band"]), *steps),
            tracks=tracks,
            scales=tuple(PositionScale(**entry) for entry in record["scales"]),
            gap=int(record["gap"]),
            **{key: float(record[key]) for key in ("range", "least_jump", "mean", "scale")},
        )


def _profiles(values: NDArray[np.float64], place: int) -> NDArray[np.float64]:
    """Return `[R·L, X]` profiles along axis `place` of rows `[R, *shape]`."""
    moved = np.moveaxis(values, place + 1, -1)
    return np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])


def _lane_features(features: NDArray[np.float64], lanes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `[R·L, D + F]`: every row's features beside those of every lane."""
    return np.concatenate([np.repeat(features, len(lanes), axis=0), np.tile(lanes, (len(features), 1))], axis=1)


def _positions(fronts: Fronts, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the fronts' positions in the coordinate's unit, `[R, Q]`; NaN stays NaN."""
    return np.interp(fronts.place, np.arange(len(points), dtype=np.float64), points)
