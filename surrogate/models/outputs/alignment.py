"""The piecewise-linear map of a coordinate in which moving fronts stand still.

Each front has a band of fixed width around it that is only shifted, so that a smeared front looks the same wherever it
is; between bands, and between bands and the ends of the domain, the coordinate is stretched. A profile is held on nodes
that are evenly spaced in each piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """The nodes of a profile and where they lie for given positions of the fronts.

    Attributes:
        points: `[X]` float64, rising coordinate of the cells.
        fronts: Number of fronts K.
        half_band: Half width of a band, in the coordinate's unit.
        stretch_steps: Steps between nodes in each stretched piece.
        band_steps: Steps between nodes in each band.
    """

    points: NDArray[np.float64]
    fronts: int
    half_band: float
    stretch_steps: int
    band_steps: int

    @property
    def nodes(self) -> int:
        """Number of nodes P."""
        return self.fronts * self.band_steps + (self.fronts + 1) * self.stretch_steps + 1

    @property
    def low(self) -> float:
        """Lower end of the domain: half a cell below the first point."""
        return float(self.points[0] - 0.5 * (self.points[1] - self.points[0]))

    @property
    def high(self) -> float:
        """Upper end of the domain: half a cell above the last point."""
        return float(self.points[-1] + 0.5 * (self.points[-1] - self.points[-2]))

    def knots(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ends of all pieces, `[R, 2 K + 2]`, never falling.

        A front that has left the domain, or not entered it, takes its band along; what lies outside is never looked at.

        Args:
            positions: `[R, K]`, rising in each row.
        """
        rows = len(positions)
        if not self.fronts:
            return np.broadcast_to(np.asarray([self.points[0], self.points[-1]]), (rows, 2)).astype(np.float64)
        half = np.full_like(positions, self.half_band)
        between = np.diff(positions, axis=1) / 4
        half[:, 1:] = np.minimum(half[:, 1:], between)
        half[:, :-1] = np.minimum(half[:, :-1], between)
        bands = np.stack([positions - half, positions + half], axis=2).reshape(rows, 2 * self.fronts)
        lower = np.minimum(self.low, positions[:, 0] - 2 * half[:, 0])
        upper = np.maximum(self.high, positions[:, -1] + 2 * half[:, -1])
        return np.concatenate([lower[:, None], bands, upper[:, None]], axis=1)

    def coordinate(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where each cell lies between the nodes, `[R, X]` in [0, P − 1].

        Args:
            positions: `[R, K]`, rising in each row.
        """
        knots = self.knots(positions)
        result = np.zeros((len(positions), len(self.points)))
        for piece in range(knots.shape[1] - 1):
            begin, end = knots[:, piece, None], knots[:, piece + 1, None]
            length = np.maximum(end - begin, 1e-12 * (self.high - self.low))
            result += self._steps(piece) * np.clip((self.points - begin) / length, 0.0, 1.0)
        return result

    def sensitivity(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far a cell's content moves with a front, ∂x/∂p at a fixed node, `[R, K, X]` in [0, 1].

        It is 1 in the front's band and falls linearly to 0 at the neighbouring bands or the ends of the domain.

        Args:
            positions: `[R, K]`, rising in each row.
        """
        knots = self.knots(positions)
        result = np.zeros((len(positions), self.fronts, len(self.points)))
        for front in range(self.fronts):
            before, begin, end, after = (knots[:, 2 * front + place, None] for place in range(4))
            rising = (self.points - before) / np.maximum(begin - before, 1e-12)
            falling = (after - self.points) / np.maximum(after - end, 1e-12)
            result[:, front] = np.clip(np.minimum(rising, falling), 0.0, 1.0)
        return result

    def sample(self, profile: NDArray[np.float64], positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a profile on the cells, `[R, X]`, linearly between nodes.

        Args:
            profile: `[R, P]` values on the nodes.
            positions: `[R, K]`, rising in each row.
        """
        index, share = split_coordinate(self.coordinate(positions), self.nodes)
        low = np.take_along_axis(profile, index.astype(np.int64), axis=1)
        high = np.take_along_axis(profile, index.astype(np.int64) + 1, axis=1)
        return low + (high - low) * share

    def _steps(self, piece: int) -> int:
        """Return the number of steps in a piece; odd pieces are bands."""
        return self.band_steps if piece % 2 else self.stretch_steps


def split_coordinate(coordinate: NDArray[np.float64], nodes: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the node below each coordinate, int32, and the share of the way to the next one, both of its shape.

    Args:
        coordinate: Numbers in [0, nodes − 1], any shape; where one is NaN, so is the share.
        nodes: Number of nodes, at least 2.
    """
    index = np.clip(np.floor(np.nan_to_num(coordinate)), 0, nodes - 2).astype(np.int32)
    return index, coordinate - index
