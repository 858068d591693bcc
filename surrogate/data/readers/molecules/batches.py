"""What the formats of molecules have in common: structures of one molecule, read in slabs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Slab = tuple[Floats, Floats, Floats | None]
"""Coordinates `[k, n, 3]`, energies `[k]`, forces `[k, n, 3]` or None, as the file has them."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Structures of one molecule in a file.

    Attributes:
        name: The molecule; the group key.
        species: `[n]` int64, atomic numbers.
        count: How many structures.
        read: Gives structures number `start` … `stop − 1`.
        charge: Total charge, or None when the file does not say.
        multiplicity: 2S + 1, or None when the file does not say.
        cell: `[3, 3]` in the file's unit of length, or `[0, 3]` for none.
    """

    name: str
    species: NDArray[np.int64]
    count: int
    read: Callable[[int, int], Slab]
    charge: int | None = None
    multiplicity: int | None = None
    cell: Floats = field(default_factory=lambda: np.zeros((0, 3)))


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """An open file of molecules, and what it says of itself.

    Attributes:
        batches: The structures.
        has_forces: Whether there are forces.
        length_unit: Unit of the coordinates as the file says it, or None.
        energy_unit: Unit of the energies as the file says it, or None.
        force_unit: Unit of the forces as the file says it, or None.
        are_forces: Whether the file says that its forces are minus the gradient (True), the gradient (False), or
            nothing (None).
        level_of_theory: As the file says it, or None.
    """

    batches: tuple[Batch, ...]
    has_forces: bool
    length_unit: str | None = None
    energy_unit: str | None = None
    force_unit: str | None = None
    are_forces: bool | None = None
    level_of_theory: str | None = None

    @property
    def count(self) -> int:
        """Number of structures."""
        return sum(batch.count for batch in self.batches)


@dataclass(frozen=True, slots=True, eq=False)
class Specimen:
    """A few hundred structures of a file, by which its conventions are told; as the file has them.

    Attributes:
        molecules: N names.
        species: N arrays `[n]`.
        coordinates: N arrays `[n, 3]`.
        energies: `[N]`.
        forces: N arrays `[n, 3]`; empty when there are none.
    """

    molecules: tuple[str, ...]
    species: tuple[NDArray[np.int64], ...]
    coordinates: tuple[Floats, ...]
    energies: Floats
    forces: tuple[Floats, ...]


_MOLECULES = 12
_STRUCTURES = 200


def specimen(batches: Sequence[Batch]) -> Specimen:
    """Return some structures of a file: the first ones of a few molecules that are spread over all of them."""
    rows = list(_some(batches))
    forces = tuple(entry[4] for entry in rows if entry[4] is not None)
    return Specimen(
        tuple(entry[0] for entry in rows),
        tuple(entry[1] for entry in rows),
        tuple(entry[2] for entry in rows),
        np.asarray([entry[3] for entry in rows], dtype=np.float64),
        forces if len(forces) == len(rows) else (),
    )


def _some(batches: Sequence[Batch]) -> Iterator[tuple[str, NDArray[np.int64], Floats, float, Floats | None]]:
    kinds: dict[tuple[str, bytes], list[Batch]] = {}
    for batch in batches:
        kinds.setdefault((batch.name, batch.species.tobytes() + batch.cell.tobytes()), []).append(batch)
    chosen = list(kinds.items())[:: max(1, -(-len(kinds) // _MOLECULES))]
    for number, (key, members) in enumerate(chosen):
        left = _STRUCTURES
        for batch in members:
            coordinates, energies, forces = batch.read(0, min(left, batch.count))
            good = np.isfinite(coordinates).all(axis=(1, 2)) & np.isfinite(energies)
            for row in np.flatnonzero(good).tolist():
                name = f"{number} {key[0]}"
                yield (
                    name,
                    batch.species,
                    coordinates[row],
                    float(energies[row]),
                    None if forces is None else forces[row],
                )
            left -= batch.count
            if left <= 0:
                break
