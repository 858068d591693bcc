"""A potential that answers: energies, forces and virials of a batch of structures, by all members at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.models.ani.committee import Activation, Chosen, Committee, ElementNetworks
from surrogate.models.ani.features import Features
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.symmetry import SymmetryFunctions

Array = NDArray[Any]

ATOMS_AT_ONCE = 512
"""About how many atoms are worked on at once: their arrays stay in the processor's cache."""

_ATOMS_OF_ONE = 320
"""The same for a single member, whose matrix products gain less from many rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a potential says about N structures of M atoms in all.

    Attributes:
        energies: `[N]` float64, Ha, mean over members.
        member_energies: `[members, N]` float64, Ha.
        forces: `[M, 3]` float64, Ha/Å, of the mean; empty when not asked for.
        virials: `[N, 3, 3]` float64, Ha: change of the energy with strain; empty when not asked for.
    """

    energies: NDArray[np.float64]
    member_energies: NDArray[np.float64]
    forces: NDArray[np.float64]
    virials: NDArray[np.float64]


class Potential:
    """Energies and forces of structures.

    Attributes:
        functions: The symmetry functions.
        members: Number of members.
    """

    def __init__(
        self,
        functions: SymmetryFunctions,
        networks: Mapping[int, ElementNetworks],
        self_energies: NDArray[np.float64],
        *,
        columns: Mapping[int, NDArray[np.int64]] | None = None,
        scales: Mapping[int, NDArray[np.float64]] | None = None,
        unit: float = 1.0,
        activation: Activation = "celu",
        dtype: Any = np.float32,
    ) -> None:
        """Prepare the networks.

        Args:
            functions: The symmetry functions.
            networks: Atomic number → networks of all members.
            self_energies: `[E]` Ha, energy of each lone atom; added back in float64.
            columns: Atomic number → features that its networks are given; all when None.
            scales: Atomic number → factors of those features; 1 when None.
            unit: Energy in Ha that the networks' outputs are in.
            activation: Function of the hidden layers.
            dtype: Floating type of features and networks; sums and self-energies are float64 always.
        """
        self.functions, self._dtype, self._unit = functions, dtype, unit
        self._self_energies = np.asarray(self_energies, dtype=np.float64)
        every = np.arange(functions.length)
        self._committees = [
            Committee(
                networks[number],
                every if columns is None else columns[number],
                np.ones(functions.length) if scales is None else scales[number],
                activation,
                dtype,
            )
            for number in functions.elements
        ]
        self.members = self._committees[0].members
        self._settings: dict[bytes, _Setting] = {}

    def answer(
        self,
        species: NDArray[Any],
        positions: NDArray[np.float64],
        offsets: NDArray[np.int64],
        cells: Sequence[NDArray[np.float64]] | None = None,
        *,
        forces: bool = True,
        virials: bool = False,
    ) -> Answer:
        """Return energies and what else is asked of N structures.

        Args:
            species: `[M]` atomic numbers of all structures' atoms.
            positions: `[M, 3]` Å.
            offsets: `[N + 1]`, where structures begin.
            cells: For each structure its lattice vectors `[3, 3]` as rows, or `[0, 3]`; None when none is periodic.
            forces: Whether forces are wanted.
            virials: Whether virials are wanted.

        Raises:
            DataError: If an element is unknown, atoms coincide, or a structure is empty.
        """
        if np.any(np.diff(offsets) < 1):
            raise DataError("A structure has no atoms; a potential gives the energy of atoms.")
        kinds = self.functions.kinds(species)
        parts = []
        at_once = ATOMS_AT_ONCE if self.members > 1 else min(ATOMS_AT_ONCE, _ATOMS_OF_ONE)
        for start, stop in pieces(offsets, at_once):
            begin, end = int(offsets[start]), int(offsets[stop])
            parts.append(
                self._piece(
                    kinds[begin:end],
                    positions[begin:end],
                    offsets[start : stop + 1] - begin,
                    None if cells is None else cells[start:stop],
                    forces=forces,
                    virials=virials,
                )
            )
        if len(parts) == 1:
            return parts[0]
        return Answer(
            np.concatenate([part.energies for part in parts]),
            np.concatenate([part.member_energies for part in parts], axis=1),
            np.concatenate([part.forces for part in parts]),
            np.concatenate([part.virials for part in parts]),
        )

    def _piece(
        self,
        kinds: NDArray[np.int64],
        positions: NDArray[np.float64],
        offsets: NDArray[np.int64],
        cells: Sequence[NDArray[np.float64]] | None,
        *,
        forces: bool,
        virials: bool,
    ) -> Answer:
        """Answer structures that are worked on at once."""
        setting = self._setting(kinds)
        pairs = find_pairs(positions, offsets, self.functions.radial_cutoff, cells)
        features = Features(setting.functions, setting.kinds[kinds], pairs, self._dtype)
        energies = np.empty((self.members, len(kinds)), dtype=np.float64)
        wanted = forces or virials
        gradient = np.empty_like(features.values) if wanted else np.zeros((0, 0), dtype=self._dtype)
        for kind, chosen in setting.chosen.items():
            committee, atoms = self._committees[kind], np.flatnonzero(kinds == kind)
            if wanted:
                energies[:, atoms], gradient[atoms] = committee.energies_and_gradient(
                    np.take(features.values, atoms, axis=0), chosen
                )
            else:
                energies[:, atoms] = committee.energies(np.take(features.values, atoms, axis=0), chosen)
        energies *= self._unit
        energies += self._self_energies[kinds]
        member_energies = np.add.reduceat(energies, offsets[:-1], axis=1)
        moved = np.zeros((0, 3))
        strained = np.zeros((0, 3, 3))
        if wanted:
            pair_gradient = features.pair_gradient(gradient) * self._unit
            moved = features.forces(pair_gradient) if forces else moved
            strained = features.virial(pair_gradient, offsets) if virials else strained
        return Answer(member_energies.mean(axis=0), member_energies, moved, strained)

    def _setting(self, kinds: NDArray[np.int64]) -> _Setting:
        """Return what is computed where only some elements are present."""
        present = np.bincount(kinds, minlength=len(self.functions.elements)) > 0
        key = present.tobytes()
        if key not in self._settings:
            self._settings[key] = _Setting.of(self.functions, self._committees, np.flatnonzero(present))
        return self._settings[key]


@dataclass(frozen=True, slots=True, eq=False)
class _Setting:
    """What is computed for structures of some elements: features that are zero for lack of an element are left out.

    Attributes:
        functions: The symmetry functions of these elements.
        kinds: `[E]`, position among these elements of each of all.
        chosen: Position among all elements → the first layer of its networks for these features.
    """

    functions: SymmetryFunctions
    kinds: NDArray[np.int64]
    chosen: dict[int, Chosen]

    @classmethod
    def of(cls, functions: SymmetryFunctions, committees: Sequence[Committee], present: NDArray[np.int64]) -> _Setting:
        """Choose.

        Args:
            functions: Of all elements.
            committees: Of all elements.
            present: Positions of the elements that are there, rising.
        """
        kinds = np.full(len(functions.elements), -1, dtype=np.int64)
        kinds[present] = np.arange(len(present))
        shifts, block = np.arange(len(functions.radial_shifts)), np.arange(functions.angular_block)
        radial = (present[:, None] * len(shifts) + shifts).ravel()
        rows, columns = np.triu_indices(len(present))
        blocks = functions.pair_index[present[rows], present[columns]]
        angular = functions.radial_length + (blocks[:, None] * len(block) + block).ravel()
        features = np.concatenate([radial, angular])
        chosen = {int(kind): committees[kind].choose(features) for kind in present}
        elements = tuple(functions.elements[kind] for kind in present)
        return cls(replace(functions, elements=elements), kinds, chosen)


def pieces(offsets: NDArray[np.int64], atoms: int = ATOMS_AT_ONCE) -> list[tuple[int, int]]:
    """Return ranges (start, stop) of structures of about `atoms` atoms each, at least one structure each."""
    count = len(offsets) - 1
    ranges: list[tuple[int, int]] = []
    start = 0
    while start < count:
        stop = int(np.searchsorted(offsets, offsets[start] + atoms, side="right")) - 1
        stop = min(max(stop, start + 1), count)
        ranges.append((start, stop))
        start = stop
    return ranges
