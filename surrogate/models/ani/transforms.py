"""What the family learned from the training rows without a network: self-energies, features in use, scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import symbol_of
from surrogate.core.errors import DataError
from surrogate.core.molecules import CELL, CHARGE, COORDINATES, MULTIPLICITY, SPECIES
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.models.ani.reach import Reach
from surrogate.models.ani.symmetry import SymmetryFunctions


@dataclass(frozen=True, slots=True, eq=False)
class AniTransforms:
    """What is fitted before any network is.

    Attributes:
        schema: The columns.
        functions: The symmetry functions.
        columns: For each element, which of the F features its networks are given; the others were zero throughout.
        scales: For each element `[K]`, what those are multiplied by.
        self_energies: `[E]` Ha, energy of each lone atom.
        unit: Energy in Ha that the networks' outputs are in.
        states: Pairs of charge and multiplicity that were trained on.
        forces: Whether forces are learned.
        energy_weight: Weight of energies in the loss.
        force_weight: Weight of forces in the loss.
        level_of_theory: Of the training samples; may be empty.
        reach: The surroundings of atoms that were trained on.
    """

    schema: Schema
    functions: SymmetryFunctions
    columns: tuple[NDArray[np.int64], ...]
    scales: tuple[NDArray[np.float64], ...]
    self_energies: NDArray[np.float64]
    unit: float
    states: tuple[tuple[int, int], ...]
    forces: bool
    energy_weight: float
    force_weight: float
    level_of_theory: str
    reach: Reach

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbol of each element."""
        return tuple(symbol_of(number) for number in self.functions.elements)

    @property
    def has_forces(self) -> bool:
        """Whether forces are an output."""
        return any(column.name == "forces" for column in self.schema.outputs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays."""
        columns = {f"columns/{symbol}": picked for symbol, picked in zip(self.symbols, self.columns, strict=True)}
        scales = {f"scales/{symbol}": scale for symbol, scale in zip(self.symbols, self.scales, strict=True)}
        return {"self_energies": self.self_energies, **columns, **scales, **self.reach.arrays(self.symbols)}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {
            "functions": self.functions.to_json(),
            "unit": self.unit,
            "states": [list(state) for state in self.states],
            "forces": self.forces,
            "energy_weight": self.energy_weight,
            "force_weight": self.force_weight,
            "level_of_theory": self.level_of_theory,
            "reach": self.reach.to_json(),
        }

    @classmethod
    def restore(cls, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> AniTransforms:
        """Rebuild from `arrays` and `to_json`."""
        functions = SymmetryFunctions.from_json(record["functions"])
        return cls(
            schema=schema,
            functions=functions,
            columns=tuple(
                np.asarray(arrays[f"columns/{symbol_of(number)}"], dtype=np.int64) for number in functions.elements
            ),
            scales=tuple(
                np.asarray(arrays[f"scales/{symbol_of(number)}"], dtype=np.float64) for number in functions.elements
            ),
            self_energies=np.asarray(arrays["self_energies"], dtype=np.float64),
            unit=float(record["unit"]),
            states=tuple((int(charge), int(spin)) for charge, spin in record["states"]),
            forces=bool(record["forces"]),
            energy_weight=float(record["energy_weight"]),
            force_weight=float(record["force_weight"]),
            level_of_theory=str(record["level_of_theory"]),
            reach=Reach.restore(tuple(symbol_of(number) for number in functions.elements), arrays, record["reach"]),
        )

    def check_states(self, inputs: Mapping[str, Values]) -> None:
        """Refuse charges and multiplicities that were not trained on.

        Raises:
            DataError: Naming the first.
        """
        if CHARGE not in inputs or MULTIPLICITY not in inputs:
            return
        asked = zip(np.asarray(inputs[CHARGE]).tolist(), np.asarray(inputs[MULTIPLICITY]).tolist(), strict=True)
        known = ", ".join(f"{charge:+d} with {spin}" if charge else f"0 with {spin}" for charge, spin in self.states)
        for row, state in enumerate(asked):
            if state not in self.states:
                raise DataError(
                    f"Structure {row + 1} has the charge {state[0]:+d} and the multiplicity {state[1]}, and the "
                    f"potential was trained on the charge {known}. It cannot tell how the energy would differ."
                )


def atoms_of(inputs: Mapping[str, Values]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return atomic numbers `[M]`, places `[M, 3]` in Å, and offsets `[N + 1]`.

    Raises:
        DataError: If the columns are missing or disagree.
    """
    species, places = inputs.get(SPECIES), inputs.get(COORDINATES)
    if not isinstance(species, Ragged) or not isinstance(places, Ragged):
        raise DataError("The family 'ani' needs the ragged columns 'species' and 'coordinates' of molecules.")
    if not np.array_equal(species.offsets, places.offsets):
        raise DataError("A structure has another number of atomic numbers than of coordinates.")
    return (
        np.asarray(species.data, dtype=np.int64),
        np.asarray(places.data, dtype=np.float64),
        np.asarray(species.offsets, dtype=np.int64),
    )


def cells_of(inputs: Mapping[str, Values]) -> list[NDArray[np.float64]] | None:
    """Return the lattice vectors of each structure, or None when none is periodic."""
    cells = inputs.get(CELL)
    if not isinstance(cells, Ragged) or not len(cells.data):
        return None
    return [np.asarray(cells[row], dtype=np.float64) for row in range(len(cells))]
