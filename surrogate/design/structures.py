"""Molecules and crystals as what a simulator is asked: the InputSpace of kind `structures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError, SpaceError, nearest
from surrogate.core.molecules import INPUT_COLUMNS
from surrogate.core.schema import Column
from surrogate.core.structure import Structure, formula, problem
from surrogate.design.space import Point

Grouping = Literal["molecule", "structure"]
"""What is never divided between training and holdout: all structures of a molecule, or each by itself."""

_NAMES = tuple(column.name for column in INPUT_COLUMNS)


@dataclass(frozen=True, eq=False)
class StructureSet:
    """Structures of some molecules; a point is one structure.

    Attributes:
        molecules: One structure of each molecule, names all different; empty when any structure may be asked for.
        group: Whether all structures of one molecule stay together when points are divided.
    """

    molecules: tuple[Structure, ...] = ()
    group: Grouping = "molecule"

    def __post_init__(self) -> None:
        """Refuse impossible molecules, and two of one name.

        Raises:
            SpaceError: In both cases.
        """
        names = [molecule.name for molecule in self.molecules]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SpaceError(f"Two molecules are named '{twice[0]}'; give each a name of its own.")
        for molecule in self.molecules:
            found = problem(molecule)
            if found is not None:
                raise SpaceError(f"Molecule '{molecule.name}': {found}")

    @property
    def kind(self) -> str:
        """Name of the kind: `structures`."""
        return "structures"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The input columns (see `surrogate.core.molecules`)."""
        return INPUT_COLUMNS

    @property
    def dimensions(self) -> int:
        """0: structures are no box."""
        return 0

    def group_key(self, molecule: str) -> str:
        """Return the group key of a structure of that molecule; empty when structures are divided one by one."""
        return molecule if self.group == "molecule" else ""

    def canonicalise(self, point: Mapping[str, Any]) -> Point:
        """Return the point with every input present and rounded.

        Charge, multiplicity and cell may be left out: neutral, the lowest possible, none.

        Raises:
            SpaceError: If an input is missing, unknown, not finite or of another shape.
        """
        for name in point:
            if name not in _NAMES:
                raise SpaceError(
                    f"A structure has no input '{name}'; it has {', '.join(_NAMES)}.{nearest(str(name), _NAMES)}"
                )
        missing = [name for name in ("species", "coordinates") if name not in point]
        if missing:
            raise SpaceError(f"The structure has no '{missing[0]}'; it must give species and coordinates.")
        try:
            structure = Structure.of(
                point["species"],
                np.asarray(point["coordinates"], dtype=np.float64).reshape(-1, 3),
                charge=int(point.get("charge", 0)),
                multiplicity=int(point["multiplicity"]) if "multiplicity" in point else None,
                cell=point.get("cell"),
            )
            return structure.point()
        except (DataError, TypeError, ValueError) as error:
            raise SpaceError(f"This is no structure: {str(error).rstrip('.')}.") from error

    def contains(self, point: Mapping[str, Any]) -> bool:
        """Return whether a canonical point is possible, and of one of the molecules where those are named."""
        return self.outside(point) is None

    def outside(self, point: Mapping[str, Any]) -> str | None:
        """Return a sentence on what is impossible about a canonical point or foreign to the set, or None."""
        structure = Structure.from_point(point)
        found = problem(structure)
        if found is not None or not self.molecules:
            return found
        if any(_same_atoms(structure, molecule) for molecule in self.molecules):
            return None
        known = ", ".join(f"{formula(molecule.species)} ({molecule.charge:+d})" for molecule in self.molecules)
        return f"{formula(structure.species)} with charge {structure.charge:+d} is none of the molecules: {known}."

    def from_unit(self, unit: NDArray[np.float64]) -> list[Point]:
        """Refuse: there is no unit cube of structures.

        Raises:
            SpaceError: Always.
        """
        del unit
        raise SpaceError(
            "Structures are no box of numbers; choose them by the sampler 'normal_modes', 'rattle', 'dynamics' or "
            "'frames'."
        )

    def to_unit(self, points: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Refuse, as `from_unit`.

        Raises:
            SpaceError: Always.
        """
        del points
        raise SpaceError("Structures are no box of numbers and have no place in a unit cube.")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping with `"kind": "structures"`."""
        return {
            "kind": self.kind,
            "group": self.group,
            "molecules": [{"name": molecule.name, **molecule.point()} for molecule in self.molecules],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> StructureSet:
        """Rebuild a set from `to_json`.

        Raises:
            SpaceError: If the mapping is not one of `to_json`'s.
        """
        try:
            molecules = tuple(Structure.from_point(entry, str(entry["name"])) for entry in record["molecules"])
            return cls(molecules, record["group"])
        except (KeyError, TypeError, DataError) as error:
            raise SpaceError(f"This is no record of a set of structures: {error}.") from error


def _same_atoms(one: Structure, other: Structure) -> bool:
    """Return whether two structures have the same elements and charge; multiplicities may differ."""
    return one.charge == other.charge and np.array_equal(np.sort(one.species), np.sort(other.species))
