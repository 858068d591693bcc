"""One structure: atoms in space, their charge and multiplicity, and what makes it impossible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import SYMBOLS, symbol_of
from surrogate.core.errors import DataError
from surrogate.core.identity import canonical_float

COINCIDENT = 0.2
"""Distance in Å below which two atoms are taken for one: less than a third of the shortest bond, that of H2."""


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Atoms in space. Nothing is checked when it is made; `problem` says what is impossible about it.

    Attributes:
        species: `[n]` int64, atomic numbers.
        coordinates: `[n, 3]` float64, Å.
        charge: Total charge in elementary charges.
        multiplicity: 2S + 1.
        cell: `[3, 3]` float64, Å, one lattice vector a row, periodic in all three directions; `[0, 3]` for none.
        name: The molecule; structures of one name are one group.
    """

    species: NDArray[np.int64]
    coordinates: NDArray[np.float64]
    charge: int
    multiplicity: int
    cell: NDArray[np.float64]
    name: str = ""

    @classmethod
    def of(
        cls,
        species: Sequence[int] | NDArray[Any],
        coordinates: Sequence[Sequence[float]] | NDArray[Any],
        *,
        charge: int = 0,
        multiplicity: int | None = None,
        cell: Sequence[Sequence[float]] | NDArray[Any] | None = None,
        name: str = "",
    ) -> Structure:
        """Make a structure of what can be turned into arrays.

        Args:
            species: `[n]` atomic numbers.
            coordinates: `[n, 3]` Å.
            charge: Total charge.
            multiplicity: 2S + 1; the lowest that the number of electrons allows when None.
            cell: `[3, 3]` Å, or None.
            name: The molecule; its formula when empty.

        Raises:
            DataError: If an array has another shape.
        """
        numbers = np.asarray(species, dtype=np.int64)
        places = np.asarray(coordinates, dtype=np.float64)
        box = np.zeros((0, 3)) if cell is None or np.size(cell) == 0 else np.asarray(cell, dtype=np.float64)
        if numbers.ndim != 1 or places.shape != (len(numbers), 3) or box.shape not in ((0, 3), (3, 3)):
            raise DataError(
                f"A structure of n atoms has species [n], coordinates [n, 3] and a cell [3, 3] or none; found were "
                f"{list(numbers.shape)}, {list(places.shape)} and {list(box.shape)}."
            )
        lowest = 1 + (int(numbers.sum()) - charge) % 2
        return cls(numbers, places, charge, multiplicity or lowest, box, name or formula(numbers))

    @property
    def periodic(self) -> bool:
        """Whether it repeats in space."""
        return len(self.cell) > 0

    @property
    def electrons(self) -> int:
        """Number of electrons."""
        return int(self.species.sum()) - self.charge

    def moved(self, coordinates: NDArray[np.float64]) -> Structure:
        """Return the same atoms at other places, `[n, 3]` Å."""
        return Structure(self.species, coordinates, self.charge, self.multiplicity, self.cell, self.name)

    def point(self) -> dict[str, Any]:
        """Return the structure as a point of an input space: plain numbers, rounded to 12 significant digits."""
        return {
            "species": [int(number) for number in self.species],
            "coordinates": _rounded(self.coordinates),
            "charge": int(self.charge),
            "multiplicity": int(self.multiplicity),
            "cell": _rounded(self.cell),
        }

    @classmethod
    def from_point(cls, point: Mapping[str, Any], name: str = "") -> Structure:
        """Return the structure of a point.

        Raises:
            DataError: If an entry is missing or has another shape.
        """
        try:
            return cls.of(
                point["species"],
                np.asarray(point["coordinates"], dtype=np.float64).reshape(-1, 3),
                charge=int(point["charge"]),
                multiplicity=int(point["multiplicity"]),
                cell=point["cell"],
                name=name,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"This is no structure: {error}.") from error


def _rounded(array: NDArray[np.float64]) -> list[list[float]]:
    return [[canonical_float(value) for value in row] for row in array.tolist()]


def formula(species: Sequence[int] | NDArray[Any]) -> str:
    """Return the formula in Hill's order: C, H, then the other symbols by the alphabet."""
    counts = Counter(symbol_of(int(number)) if 1 <= number <= len(SYMBOLS) else f"?{number}" for number in species)
    first = [symbol for symbol in ("C", "H") if symbol in counts] if "C" in counts else []
    order = [*first, *sorted(symbol for symbol in counts if symbol not in first)]
    return "".join(f"{symbol}{counts[symbol] if counts[symbol] > 1 else ''}" for symbol in order)


def problem(structure: Structure) -> str | None:
    """Return a sentence that says what is impossible about a structure, or None.

    No atoms, numbers that are not finite, unknown elements, a flat cell, coincident atoms, and a multiplicity that the
    number of electrons does not allow are impossible.
    """
    return (
        _bad_numbers(structure)
        or spin_problem(structure.electrons, structure.charge, structure.multiplicity)
        or _coincident(structure)
    )


def _bad_numbers(structure: Structure) -> str | None:
    if not len(structure.species):
        return "The structure has no atoms."
    unknown = [int(number) for number in structure.species if not 1 <= number <= len(SYMBOLS)]
    if unknown:
        return f"The structure has an atom with the atomic number {unknown[0]}; they go from 1 to {len(SYMBOLS)}."
    bad = np.argwhere(~np.isfinite(structure.coordinates))
    if len(bad):
        atom, axis = bad[0]
        value = structure.coordinates[atom, axis]
        return f"Coordinate {'xyz'[axis]} of atom {atom + 1} is {value}; only finite numbers are places."
    if structure.periodic:
        volume = abs(float(np.linalg.det(structure.cell))) if np.isfinite(structure.cell).all() else 0.0
        if volume < 1e-3:
            return "The cell has no volume: its three vectors must be finite and span a space."
    return None


def spin_problem(electrons: int, charge: int, multiplicity: int) -> str | None:
    """Return a sentence that says why such a multiplicity is impossible, or None."""
    if electrons < 0:
        return f"The charge {charge:+d} takes away more electrons than there are."
    unpaired = multiplicity - 1
    if unpaired < 0 or unpaired > electrons or (electrons - unpaired) % 2:
        kind = "an odd" if multiplicity % 2 else "an even"
        needed = "odd" if electrons % 2 == 0 else "even"
        detail = (
            f"{electrons} electrons need an {needed} one"
            if unpaired >= 0 and (electrons - unpaired) % 2
            else f"{electrons} electrons allow 1 to {electrons + 1}"
        )
        return f"The multiplicity {multiplicity} ({kind} number) is impossible with charge {charge:+d}: {detail}."
    return None


def nearest_pair(structure: Structure) -> tuple[float, int, int]:
    """Return the smallest distance in Å between two atoms, and their positions; infinite for a single atom.

    In a cell the nearest image counts; that is exact for distances well below the cell's thickness.
    """
    places, count = structure.coordinates, len(structure.species)
    if count < 2:
        return np.inf, 0, 0
    first, second = np.triu_indices(count, 1)
    apart = places[first] - places[second]
    if structure.periodic:
        fractions = np.linalg.solve(structure.cell.T, apart.T).T
        apart = (fractions - np.round(fractions)) @ structure.cell
    distances = np.linalg.norm(apart, axis=1)
    least = int(np.argmin(distances))
    return float(distances[least]), int(first[least]), int(second[least])


def _coincident(structure: Structure) -> str | None:
    distance, first, second = nearest_pair(structure)
    if distance >= COINCIDENT:
        return None
    return (
        f"Atoms {first + 1} ({symbol_of(int(structure.species[first]))}) and {second + 1} "
        f"({symbol_of(int(structure.species[second]))}) are {distance:.3g} Å apart, less than {COINCIDENT:g} Å: they "
        "coincide."
    )
