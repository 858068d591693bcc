"""Whether forces and energies of neighbouring structures belong together: the sign, and the units.

Between two structures of one molecule, not far apart, the energy changes by about the work against the mean force: the
trapezoidal rule, whose error is of third order in the distance. Where "forces" are gradients, the work has the wrong
sign; where forces and energies are in units that do not go together, it has another size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.molecules import COORDINATES, ENERGY, FORCES, SPECIES, structures_of
from surrogate.data.run_file import RunFile

Floats = NDArray[np.float64]

FEWEST_PAIRS = 5
"""Pairs of neighbours below which nothing is concluded."""

LEAST_CORRELATION = 0.8
"""Correlation of work and energy below which structures are too far apart for a conclusion."""

SURE = 8.0
"""Student's t of the correlation above which the sign is certain; with 6 pairs, chance gives it once in 4,000 times."""

SAME = 1.5
"""Factor by which work and energy may differ and still be in the same units; Å and bohr differ by 1.89."""

_MOST_FRAMES = 400
_MOST_PAIRS = 400


@dataclass(frozen=True, slots=True)
class Agreement:
    """How energies and forces go together.

    Attributes:
        pairs: Pairs of neighbouring structures that were compared.
        slope: Energy change per work: 1 for forces in the energy's own unit, −1 for gradients.
        correlation: Of energy changes and work, about zero, in [−1, 1].
    """

    pairs: int
    slope: float
    correlation: float

    @property
    def sign(self) -> int:
        """1 for forces, −1 for gradients, 0 where that cannot be told."""
        size = abs(self.correlation)
        if self.pairs < FEWEST_PAIRS or size < LEAST_CORRELATION:
            return 0
        if size < 1.0 and size * np.sqrt((self.pairs - 1) / (1.0 - size**2)) < SURE:
            return 0
        return 1 if self.correlation > 0 else -1

    @property
    def units_agree(self) -> bool:
        """Whether work and energy have the same size."""
        return 1.0 / SAME <= abs(self.slope) <= SAME


def agreement(
    coordinates: Sequence[Floats], energies: Floats, forces: Sequence[Floats], molecules: Sequence[str]
) -> Agreement:
    """Compare energy differences of neighbours with the work of their forces.

    Args:
        coordinates: N arrays `[n, 3]`.
        energies: `[N]`.
        forces: N arrays `[n, 3]`, in the energies' unit per unit of length of the coordinates.
        molecules: N names; only structures of one name are compared, and their atoms come in the same order.
    """
    work: list[float] = []
    change: list[float] = []
    for name in dict.fromkeys(molecules):
        rows = [row for row, entry in enumerate(molecules) if entry == name]
        rows = rows[:: max(1, -(-len(rows) // _MOST_FRAMES))]
        places = np.asarray([np.ravel(coordinates[row]) for row in rows], dtype=np.float64)
        pulls = np.asarray([np.ravel(forces[row]) for row in rows], dtype=np.float64)
        heights = np.asarray(energies, dtype=np.float64)[rows]
        for first, second in _neighbours(places):
            work.append(float(-0.5 * (pulls[first] + pulls[second]) @ (places[second] - places[first])))
            change.append(float(heights[second] - heights[first]))
    return _compared(np.asarray(work), np.asarray(change))


def _neighbours(places: Floats) -> list[tuple[int, int]]:
    """Return each structure with its nearest other one, the closest pairs first."""
    if len(places) < 2:
        return []
    squares = (places**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2.0 * places @ places.T
    distances[distances < 1e-8 * max(float(squares.max()), 1.0)] = np.inf  # the same structure again says nothing
    nearest = distances.argmin(axis=1)
    pairs = {
        (min(row, int(other)), max(row, int(other)))
        for row, other in enumerate(nearest)
        if np.isfinite(distances[row, other])
    }
    return sorted(pairs, key=lambda pair: float(distances[pair]))[:_MOST_PAIRS]


def _compared(work: Floats, change: Floats) -> Agreement:
    good = np.isfinite(work) & np.isfinite(change)
    work, change = work[good], change[good]
    scale = float(np.sqrt((work @ work) * (change @ change)))
    if scale == 0.0:
        return Agreement(0, 0.0, 0.0)
    product = float(work @ change)
    return Agreement(len(work), product / float(work @ work), product / scale)


def forces_have_their_sign(run: RunFile) -> str | None:
    """Return a sentence when the neighbouring structures of a run say that its forces are none, else None.

    It is a check of admission (see `surrogate.data.admission.PhysicsCheck`). Runs without forces, without neighbours,
    or whose neighbours are too far apart to tell pass.
    """
    if not {SPECIES, COORDINATES, ENERGY, FORCES} <= set(run.columns):
        return None
    pulls, structures = run.columns[FORCES], structures_of(run.columns)
    names = [f"{entry.species.tolist()} {entry.cell.tolist()}" for entry in structures]
    forces = [np.asarray(pulls[row], dtype=np.float64) for row in range(run.samples)]
    energies = np.asarray(run.columns[ENERGY], dtype=np.float64)
    found = agreement([entry.coordinates for entry in structures], energies, forces, names)
    pairs = f"over {found.pairs} pairs of neighbouring structures"
    if found.sign < 0:
        return (
            f"The forces have the sign of gradients: {pairs} the energy rises along them (correlation "
            f"{found.correlation:.3f}); forces are minus the gradient."
        )
    if found.sign > 0 and not found.units_agree:
        return (
            f"The forces do not fit the energies: {pairs} the energy changes by {found.slope:.3g} times their work, "
            "and 1 is expected."
        )
    return None
