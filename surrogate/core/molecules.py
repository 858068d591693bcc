"""What a sample of a molecule is: the columns by which simulators, readers and model families speak of structures.

    species             input    [n]     int64    atomic numbers
    coordinates         input    [n, 3]  float64  angstrom
    charge              input            int64    elementary charges
    multiplicity        input            int64    2S + 1
    cell                input    [c, 3]  float64  angstrom; c = 3 lattice vectors as rows, periodic in all; c = 0: none
    energy              output           float64  hartree, total energy
    forces              output   [n, 3]  float64  hartree/angstrom, minus the gradient of the energy
    level_of_theory     fact             str      method, basis and whatever else decides the energy

The group key of a sample is its molecule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import SYMBOLS
from surrogate.core.errors import DataError
from surrogate.core.identity import point_hash
from surrogate.core.schema import RAGGED, Column, Ragged, SampleTable, Schema, Values
from surrogate.core.structure import Structure

SPECIES = "species"
COORDINATES = "coordinates"
CHARGE = "charge"
MULTIPLICITY = "multiplicity"
CELL = "cell"
ENERGY = "energy"
FORCES = "forces"
LEVEL_OF_THEORY = "level_of_theory"

LENGTH_UNIT = "angstrom"
ENERGY_UNIT = "hartree"
FORCE_UNIT = "hartree/angstrom"

INPUT_COLUMNS: tuple[Column, ...] = (
    Column(
        SPECIES, "input", dtype="int64", shape=(RAGGED,), dims=("atom",), low=1, high=len(SYMBOLS),
        description="atomic numbers",
    ),
    Column(
        COORDINATES, "input", LENGTH_UNIT, shape=(RAGGED, 3), dims=("atom", "xyz"), description="where the atoms are"
    ),
    Column(CHARGE, "input", dtype="int64", description="total charge in elementary charges"),
    Column(MULTIPLICITY, "input", dtype="int64", low=1, description="2S + 1"),
    Column(
        CELL, "input", LENGTH_UNIT, shape=(RAGGED, 3), dims=("vector", "xyz"),
        description="lattice vectors as rows, periodic in all three directions; no rows for a molecule in free space",
    ),
)  # fmt: skip
ENERGY_COLUMN = Column(ENERGY, "output", ENERGY_UNIT, description="total energy")
FORCES_COLUMN = Column(
    FORCES, "output", FORCE_UNIT, shape=(RAGGED, 3), dims=("atom", "xyz"),
    description="forces on the atoms: minus the gradient of the energy",
)  # fmt: skip
LEVEL_COLUMN = Column(LEVEL_OF_THEORY, "fact", dtype="str", description="method and basis of the energy")


def output_columns(*, forces: bool = True) -> tuple[Column, ...]:
    """Return what is known of a labelled structure: energy, forces unless there are none, and the level of theory."""
    return (ENERGY_COLUMN, *((FORCES_COLUMN,) if forces else ()), LEVEL_COLUMN)


def molecule_schema(*, forces: bool = True) -> Schema:
    """Return the columns of labelled structures.

    Args:
        forces: Whether there are forces; some data sets have energies only.
    """
    return Schema((*INPUT_COLUMNS, *output_columns(forces=forces)))


def is_molecular(schema: Schema) -> bool:
    """Return whether the inputs of a schema are those of structures."""
    wanted = {column.name: (column.unit, column.shape) for column in INPUT_COLUMNS}
    return {column.name: (column.unit, column.shape) for column in schema.inputs} == wanted


def input_values(structures: Sequence[Structure]) -> dict[str, Values]:
    """Return the input columns of N structures: Ragged species, coordinates and cell, `[N]` int64 for the others."""
    return {
        SPECIES: Ragged.from_list([entry.species for entry in structures], like=np.zeros(0, np.int64)),
        COORDINATES: Ragged.from_list([entry.coordinates for entry in structures], like=np.zeros((0, 3))),
        CHARGE: np.asarray([entry.charge for entry in structures], dtype=np.int64),
        MULTIPLICITY: np.asarray([entry.multiplicity for entry in structures], dtype=np.int64),
        CELL: Ragged.from_list([entry.cell for entry in structures], like=np.zeros((0, 3))),
    }


def molecule_table(
    structures: Sequence[Structure],
    energies: Sequence[float] | NDArray[np.float64],
    forces: Sequence[NDArray[np.float64]] | None = None,
    level_of_theory: str = "",
    ids: Sequence[str] | None = None,
) -> SampleTable:
    """Return labelled structures as a table; the group key of a row is the name of its molecule.

    Args:
        structures: N structures.
        energies: `[N]` Ha.
        forces: N arrays `[n_i, 3]` Ha/Å, minus the gradient; None when there are none.
        level_of_theory: Of all of them.
        ids: Identity of each; made of its point when None.

    Raises:
        DataError: If there are not as many labels as structures, or forces for another number of atoms.
    """
    columns: dict[str, Values] = {
        **input_values(structures),
        ENERGY: np.asarray(energies, dtype=np.float64),
        LEVEL_OF_THEORY: np.full(len(structures), level_of_theory),
    }
    if len(energies) != len(structures):
        raise DataError(f"There are {len(structures)} structures and {len(energies)} energies.")
    if forces is not None:
        shapes = [entry.coordinates.shape for entry in structures]
        if [np.shape(entry) for entry in forces] != shapes:
            raise DataError("There must be forces [n, 3] for every structure of n atoms.")
        columns[FORCES] = Ragged.from_list([np.asarray(entry, np.float64) for entry in forces], like=np.zeros((0, 3)))
    names = tuple(ids) if ids is not None else tuple(point_hash(entry.point())[:32] for entry in structures)
    groups = tuple(entry.name for entry in structures)
    return SampleTable(molecule_schema(forces=forces is not None), names, groups, columns)


def structures_of(columns: Mapping[str, Values], groups: Sequence[str] = ()) -> list[Structure]:
    """Return the structures of a table's columns, or of the inputs that a prediction is asked for.

    Args:
        columns: At least species and coordinates; without charge all are 0, without multiplicity the lowest possible,
            without cell there is none.
        groups: Name of each molecule; formulas when empty.

    Raises:
        DataError: If species or coordinates are missing, or disagree.
    """
    for name in (SPECIES, COORDINATES):
        if not isinstance(columns.get(name), Ragged):
            raise DataError(f"Structures need the ragged column '{name}'; there are {', '.join(columns) or 'none'}.")
    species: Any = columns[SPECIES]
    places: Any = columns[COORDINATES]
    cells, charges, spins = columns.get(CELL), columns.get(CHARGE), columns.get(MULTIPLICITY)
    return [
        Structure.of(
            species[row],
            places[row],
            charge=0 if charges is None else int(charges[row]),
            multiplicity=None if spins is None else int(spins[row]),
            cell=None if cells is None else cells[row],
            name=groups[row] if groups else "",
        )
        for row in range(len(species))
    ]
