"""The structures that a run is asked for, and what a run of them yields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.protocol import RunData
from surrogate.core.errors import DataError, SimulationError
from surrogate.core.molecules import ENERGY, FORCES, INPUT_COLUMNS, LEVEL_OF_THEORY, input_values, output_columns
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.core.structure import Structure, formula, problem


def output_schema() -> Schema:
    """Return energy, forces and level of theory (see `surrogate.core.molecules`)."""
    return Schema(output_columns())


def asked_structures(inputs: Mapping[str, Any]) -> list[Structure]:
    """Return the structures of a request: one point, or the list of each input's values.

    Raises:
        SimulationError: If the inputs are no structures, or one is impossible.
    """
    names = [column.name for column in INPUT_COLUMNS]
    try:
        if isinstance(inputs["charge"], list):
            rows = zip(*(inputs[name] for name in names), strict=True)
            structures = [Structure.from_point(dict(zip(names, row, strict=True))) for row in rows]
        else:
            structures = [Structure.from_point(inputs)]
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise SimulationError(f"The inputs of the run are no structures: {error}.", kind="not_physical") from error
    for number, structure in enumerate(structures, 1):
        impossible = problem(structure)
        if impossible is not None:
            raise SimulationError(f"{place_of(structure, number, len(structures))}: {impossible}", kind="not_physical")
    return structures


def place_of(structure: Structure, number: int, count: int) -> str:
    """Return how sentences call a structure of a run."""
    name = formula(structure.species)
    return f"Structure {name}" if count == 1 else f"Structure {number} of {count} ({name})"


def run_data(
    structures: Sequence[Structure],
    energies: Sequence[float],
    forces: Sequence[NDArray[np.float64]],
    level_of_theory: str,
    notes: dict[str, Any],
) -> RunData:
    """Return what a run of S structures yielded.

    Args:
        structures: S structures.
        energies: `[S]` Ha.
        forces: S arrays `[n, 3]` Ha/Å, minus the gradient.
        level_of_theory: Of all of them.
        notes: JSON-ready facts for the provenance.

    Raises:
        SimulationError: If there are not as many results as structures, or forces for another number of atoms.
    """
    if not len(structures) == len(energies) == len(forces):
        raise SimulationError(
            f"{len(structures)} structures were asked for, and {len(energies)} energies and {len(forces)} sets of "
            "forces were found.",
            kind="output_missing",
        )
    for number, (structure, found) in enumerate(zip(structures, forces, strict=True), 1):
        if np.shape(found) != structure.coordinates.shape:
            raise SimulationError(
                f"{place_of(structure, number, len(structures))} has {len(structure.species)} atoms, and forces of "
                f"shape {list(np.shape(found))} were found.",
                kind="wrong_shape",
            )
    columns: dict[str, Values] = {
        ENERGY: np.asarray(energies, dtype=np.float64),
        FORCES: Ragged.from_list([np.asarray(entry, dtype=np.float64) for entry in forces]),
        LEVEL_OF_THEORY: np.full(len(structures), level_of_theory),
    }
    return RunData(columns, len(structures), input_values(structures), notes=notes)
