"""Fitting on training rows: self-energies by least squares, which features are in use, scales of inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.molecules import CHARGE, ENERGY, FORCES, LEVEL_OF_THEORY, MULTIPLICITY, is_molecular
from surrogate.core.schema import SampleTable
from surrogate.models.ani.features import Features
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.options import AniOptions
from surrogate.models.ani.potential import pieces
from surrogate.models.ani.reach import Reach
from surrogate.models.ani.symmetry import SymmetryFunctions
from surrogate.models.ani.transforms import AniTransforms, atoms_of, cells_of

_UNUSED = 1e-7
"""A feature that no training atom raises above this is not given to the networks."""

_USUAL_UNIT = 0.016
"""Ha, about 10 kcal/mol: unit of the networks' outputs where all training energies are alike."""


def fit_transforms(train: SampleTable, options: AniOptions) -> AniTransforms:
    """Fit what is fitted before the networks are.

    Args:
        train: Training samples.
        options: Options of the family.

    Raises:
        DataError: If the columns are not those of molecules, or levels of theory are mixed.
    """
    level = check_table(train)
    species, _, offsets = atoms_of(train.inputs)
    elements = tuple(int(number) for number in np.unique(species))
    functions = options.functions(elements)
    if functions.angular_cutoff > functions.radial_cutoff:
        raise DataError(
            f"The angular cutoff, {functions.angular_cutoff:g} Å, is larger than the radial one, "
            f"{functions.radial_cutoff:g} Å. Choose it smaller."
        )
    kinds = functions.kinds(species)
    energies = np.asarray(train.columns[ENERGY], dtype=np.float64)
    self_energies = fit_self_energies(kinds, offsets, energies, len(elements))
    spread = float(np.std(energies - sums(self_energies[kinds], offsets)))
    seen = survey(train, functions, kinds)
    scales = seen.scales()
    charges, spins = np.asarray(train.columns[CHARGE]).tolist(), np.asarray(train.columns[MULTIPLICITY]).tolist()
    forces = FORCES in train.columns and options.force_weight > 0
    return AniTransforms(
        schema=train.schema,
        functions=functions,
        columns=seen.columns,
        scales=scales,
        self_energies=self_energies,
        unit=spread if spread > 1e-6 else _USUAL_UNIT,
        states=tuple(sorted(set(zip(map(int, charges), map(int, spins), strict=True)))),
        forces=forces,
        energy_weight=options.energy_weight,
        force_weight=options.force_weight if forces else 0.0,
        level_of_theory=level,
        reach=seen.reach(scales, len(train)),
    )


def check_table(table: SampleTable) -> str:
    """Return the level of theory of labelled molecules.

    Raises:
        DataError: If the columns are not those of molecules, there is no sample, or levels of theory are mixed.
    """
    if not is_molecular(table.schema) or ENERGY not in table.columns:
        names = ", ".join(column.name for column in table.schema.columns)
        raise DataError(
            f"A potential learns the energies of molecules from the columns species, coordinates, charge, multiplicity,"
            f" cell and energy, and the dataset has {names}. Choose another family."
        )
    if not len(table):
        raise DataError("There is no training sample to learn a potential from.")
    found = np.asarray(table.columns[LEVEL_OF_THEORY]) if LEVEL_OF_THEORY in table.columns else np.asarray([""])
    levels = np.unique(found).tolist()
    if len(levels) > 1:
        raise DataError(
            f"The training samples come from different levels of theory: {', '.join(map(str, levels))}. Their energies "
            "cannot be learned together: train on one of them."
        )
    return str(levels[0])


def sums(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum over the atoms of each structure, `[N]`."""
    return np.asarray(np.add.reduceat(values, offsets[:-1]), dtype=np.float64)


def fit_self_energies(
    kinds: NDArray[np.int64], offsets: NDArray[np.int64], energies: NDArray[np.float64], elements: int
) -> NDArray[np.float64]:
    """Return the energy of each lone atom, `[E]` Ha: least squares of total energies over numbers of atoms.

    Where the compositions leave a freedom, the solution of least norm is taken.

    Args:
        kinds: `[M]`, position of each atom's element.
        offsets: `[N + 1]`, where structures begin.
        energies: `[N]` Ha.
        elements: Number of elements E.
    """
    counts = np.stack([sums((kinds == kind).astype(np.float64), offsets) for kind in range(elements)], axis=1)
    return np.asarray(np.linalg.lstsq(counts, energies, rcond=None)[0], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """The features of all training atoms, element by element.

    Attributes:
        features: For each element `[n, F]`.
        columns: For each element, which of them differ from zero.
    """

    features: list[NDArray[np.float32]]
    columns: tuple[NDArray[np.int64], ...]

    def scales(self) -> tuple[NDArray[np.float64], ...]:
        """Return for each element `[K]` factors, all alike, that make the mean square of its features in use 1."""
        found = []
        for own, picked in zip(self.features, self.columns, strict=True):
            mean = float(np.square(own[:, picked], dtype=np.float64).mean()) if len(own) else 0.0
            found.append(np.full(len(picked), 1 / np.sqrt(mean) if mean > 0 else 1.0))
        return tuple(found)

    def reach(self, scales: Sequence[NDArray[np.float64]], structures: int) -> Reach:
        """Return the surroundings that are known, by scaled features."""
        scaled = [
            own[:, picked] * scale for own, picked, scale in zip(self.features, self.columns, scales, strict=True)
        ]
        return Reach.fit(scaled, sum(map(len, scaled)) / max(structures, 1))


def survey(table: SampleTable, functions: SymmetryFunctions, kinds: NDArray[np.int64]) -> Survey:
    """Return the features of all atoms.

    Args:
        table: Training samples.
        functions: The symmetry functions.
        kinds: `[M]`, position of each atom's element.
    """
    count = len(functions.elements)
    parts: list[list[NDArray[np.float32]]] = [[] for _ in range(count)]
    _, positions, offsets = atoms_of(table.inputs)
    cells = cells_of(table.inputs)
    for start, stop in pieces(offsets):
        begin, end = int(offsets[start]), int(offsets[stop])
        part = None if cells is None else cells[start:stop]
        pairs = find_pairs(positions[begin:end], offsets[start : stop + 1] - begin, functions.radial_cutoff, part)
        values = Features(functions, kinds[begin:end], pairs).values.astype(np.float32)
        for kind in range(count):
            parts[kind].append(values[kinds[begin:end] == kind])
    features = [np.concatenate(rows) for rows in parts]
    return Survey(
        features, tuple(_at_least_one(np.flatnonzero(own.max(axis=0, initial=0.0) > _UNUSED)) for own in features)
    )


def _at_least_one(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the columns, or the first feature where a lone atom has none in use: a network needs an input."""
    return columns if len(columns) else np.zeros(1, dtype=np.int64)
