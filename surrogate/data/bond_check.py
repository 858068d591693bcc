"""Whether forces pull stretched bonds together: the sign of forces where structures are too far apart to compare.

The outer atom of a terminal bond feels little else than its bond. Over the frames of a molecule, the force on it along
the bond falls with the bond's length, by the bond's stiffness; a gradient rises. The stiffness of such bonds, from
about 1 Ha/Å² (C–H) to 4 (N≡C), also tells units that are wrong by more than a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST_FRAMES = 6
SURE = 0.8
"""Correlation of length and force above which the sign is certain."""

SOFTEST, STIFFEST = 0.4, 6.0
"""Ha/Å²: what the stiffness of terminal bonds may be."""

_MOST_FRAMES = 400
_ALONE = 1.25  # a terminal atom has no second neighbour within this many times the distance of its first
_LEAST_STRETCH = 1e-4  # Å: bonds that do not vibrate say nothing


@dataclass(frozen=True, slots=True)
class Stretching:
    """How the forces on terminal atoms answer to the lengths of their bonds.

    Attributes:
        bonds: Terminal bonds that vibrate.
        frames: Frames of all molecules together.
        stiffness: Fall of the force per length, in the units of the forces per unit of length; negative for gradients.
        correlation: Of force and length, in [−1, 1]; near −1 for forces, near 1 for gradients.
    """

    bonds: int
    frames: int
    stiffness: float
    correlation: float

    @property
    def sign(self) -> int:
        """1 for forces, −1 for gradients, 0 where that cannot be told."""
        if self.bonds == 0 or self.frames < FEWEST_FRAMES or abs(self.correlation) < SURE:
            return 0
        return -1 if self.correlation > 0 else 1


def stretching(coordinates: Sequence[Floats], forces: Sequence[Floats], molecules: Sequence[str]) -> Stretching:
    """Compare the forces on terminal atoms with the lengths of their bonds.

    Args:
        coordinates: N arrays `[n, 3]`.
        forces: N arrays `[n, 3]`.
        molecules: N names; atoms of structures of one name come in the same order.
    """
    lengths: list[Floats] = []
    pulls: list[Floats] = []
    frames = 0
    for name in dict.fromkeys(molecules):
        rows = [row for row, entry in enumerate(molecules) if entry == name]
        rows = rows[:: max(1, -(-len(rows) // _MOST_FRAMES))]
        if len(rows) < FEWEST_FRAMES or len(coordinates[rows[0]]) < 2:
            continue
        frames += len(rows)
        places = np.asarray([coordinates[row] for row in rows], dtype=np.float64)
        pushes = np.asarray([forces[row] for row in rows], dtype=np.float64)
        for outer, inner in _terminal_bonds(places[0]):
            apart = places[:, outer] - places[:, inner]
            length = np.linalg.norm(apart, axis=1)
            pull = np.einsum("ij,ij->i", pushes[:, outer], apart) / np.maximum(length, 1e-12)
            if length.std() > _LEAST_STRETCH:
                lengths.append(length - length.mean())
                pulls.append(pull - pull.mean())
    if not lengths:
        return Stretching(0, frames, 0.0, 0.0)
    stretch, pull = np.concatenate(lengths), np.concatenate(pulls)
    scale = float(np.sqrt((stretch @ stretch) * (pull @ pull)))
    product = float(stretch @ pull)
    correlation = product / scale if scale else 0.0
    return Stretching(len(lengths), frames, -product / float(stretch @ stretch), correlation)


def _terminal_bonds(places: Floats) -> list[tuple[int, int]]:
    """Return the pairs (outer atom, its only neighbour) of a structure, `[n, 3]`."""
    distances = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    np.fill_diagonal(distances, np.inf)
    order = np.sort(distances, axis=1)
    alone = order[:, 1] > _ALONE * order[:, 0] if len(places) > 2 else np.ones(len(places), dtype=np.bool_)
    return [(atom, int(distances[atom].argmin())) for atom in np.flatnonzero(alone).tolist()]
