"""From training samples to a solved kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.molecules import CHARGE, ENERGY, FORCES, MULTIPLICITY
from surrogate.core.schema import Ragged, SampleTable, Schema
from surrogate.models.ani.features import Features
from surrogate.models.ani.fitting import check_table, fit_self_energies, survey
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.packing import Packing
from surrogate.models.ani.potential import pieces
from surrogate.models.ani.reach import Reach
from surrogate.models.ani.transforms import AniTransforms, atoms_of, cells_of
from surrogate.models.kernel.options import KernelOptions
from surrogate.models.kernel.solve import Array, ElementTable, solve_forces

_ATOMS_AT_ONCE = 128


@dataclass(frozen=True, slots=True, eq=False)
class KernelTransforms:
    """The solution.

    Attributes:
        base: Symmetry functions, features in use, their scales, self-energies.
        centres: For each element `[C, K]`, scaled features of the training atoms.
        coefficients: For each element `[C, K]`, in units of `base.unit`.
    """

    base: AniTransforms
    centres: tuple[Array, ...]
    coefficients: tuple[Array, ...]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays."""
        found = self.base.arrays()
        for symbol, centres, coefficients in zip(self.base.symbols, self.centres, self.coefficients, strict=True):
            found |= {f"centres/{symbol}": centres, f"coefficients/{symbol}": coefficients}
        return found

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return self.base.to_json()

    @classmethod
    def restore(cls, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> KernelTransforms:
        """Rebuild from `arrays` and `to_json`."""
        base = AniTransforms.restore(schema, arrays, record)
        return cls(
            base,
            tuple(np.asarray(arrays[f"centres/{symbol}"], dtype=np.float64) for symbol in base.symbols),
            tuple(np.asarray(arrays[f"coefficients/{symbol}"], dtype=np.float64) for symbol in base.symbols),
        )


def fit_kernel(train: SampleTable, options: KernelOptions) -> KernelTransforms:
    """Solve for the coefficients.

    Args:
        train: Training samples with forces, none of them periodic.
        options: Options of the family.

    Raises:
        DataError: If there are no forces, a structure is periodic, or the matrix would not fit into memory.
        TrainingError: If the matrix cannot be decomposed.
    """
    level = check_table(train)
    if not isinstance(train.columns.get(FORCES), Ragged):
        raise DataError("The family 'atomic_kernel' learns from forces, and the dataset has none. Choose 'ani'.")
    if cells_of(train.inputs) is not None:
        raise DataError("The family 'atomic_kernel' learns molecules in free space, and the samples have cells.")
    species, _, offsets = atoms_of(train.inputs)
    elements = tuple(int(number) for number in np.unique(species))
    functions = options.functions(elements)
    kinds = functions.kinds(species)
    seen = survey(train, functions, kinds)
    weights = tuple(options.weights(len(elements))[picked] for picked in seen.columns)
    states = zip(
        np.asarray(train.columns[CHARGE]).tolist(), np.asarray(train.columns[MULTIPLICITY]).tolist(), strict=True
    )
    base = AniTransforms(
        schema=train.schema,
        functions=functions,
        columns=seen.columns,
        scales=weights,
        self_energies=np.zeros(len(elements)),
        unit=1.0,
        states=tuple(sorted({(int(charge), int(spin)) for charge, spin in states})),
        forces=True,
        energy_weight=1.0,
        force_weight=0.1,
        level_of_theory=level,
        reach=Reach((), ()),
    )
    tables, scales = element_tables(train, base, kinds, options.width)
    weights = tuple(scale * factor for scale, factor in zip(weights, scales, strict=True))
    base = replace(base, scales=weights, reach=seen.reach(weights, len(train)))
    forces, real = _padded(train, offsets)
    solution = solve_forces(tables, forces, real, options.noise)
    centres, coefficients, energies = [], [], np.zeros(len(train))
    for table in tables:
        kept = table.present > 0
        centres.append(table.features[kept])
        coefficients.append(np.einsum("njkd,nd->njk", table.jacobian, solution)[kept])
        energies += _energies(table, centres[-1], coefficients[-1])
    labels = np.asarray(train.columns[ENERGY], dtype=np.float64)
    lone = fit_self_energies(kinds, offsets, labels - energies, len(elements))
    return KernelTransforms(replace(base, self_energies=lone), tuple(centres), tuple(coefficients))


def element_tables(
    train: SampleTable, base: AniTransforms, kinds: NDArray[np.int64], width: float
) -> tuple[list[ElementTable], list[float]]:
    """Return features and Jacobians of each element, scaled to a kernel of width 1, and those scales.

    Args:
        train: N samples.
        base: Gives symmetry functions, columns and weights.
        kinds: `[M]`, position of each atom's element.
        width: Width of the kernel in standard deviations of an element's weighted features.
    """
    _, positions, offsets = atoms_of(train.inputs)
    size = int(np.diff(offsets).max())
    whole = Packing(kinds, offsets, len(base.symbols))
    parts: list[list[tuple[Array, Array]]] = [[] for _ in base.symbols]
    for start, stop in pieces(offsets, _ATOMS_AT_ONCE):
        begin, end = int(offsets[start]), int(offsets[stop])
        local = offsets[start : stop + 1] - begin
        pairs = find_pairs(positions[begin:end], local, base.functions.radial_cutoff)
        features = Features(base.functions, kinds[begin:end], pairs)
        packing = Packing(kinds[begin:end], local, len(base.symbols), whole.slots)
        jacobian = features.jacobian(local, size)
        for kind in range(len(base.symbols)):
            atoms, picked, weights = packing.atoms[kind], base.columns[kind], base.scales[kind]
            values = features.values[atoms][:, picked] * weights
            slopes = jacobian[atoms][:, picked] * weights[:, None, None]
            packed = packing.pack(kind, slopes.reshape(*slopes.shape[:2], -1), np.float64)
            parts[kind].append((packing.pack(kind, values, np.float64), packed))
    tables, scales = [], []
    for kind in range(len(base.symbols)):
        values = np.concatenate([part[0] for part in parts[kind]])
        slopes = np.concatenate([part[1] for part in parts[kind]])
        present = whole.pack(kind, np.ones(len(whole.atoms[kind])), np.float64)
        own = values[present > 0]
        spread = float(np.sqrt(np.square(own - own.mean(axis=0)).sum(axis=1).mean()))
        scale = 1 / (width * spread) if spread > 0 else 1.0
        tables.append(ElementTable(values * scale, present, slopes * scale))
        scales.append(scale)
    return tables, scales


def _padded(train: SampleTable, offsets: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """Return forces `[N, D]`, zero where there is no atom, and which of them are real."""
    forces = train.columns[FORCES]
    if not isinstance(forces, Ragged):
        raise TypeError("Forces are ragged.")
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - offsets[owner]
    padded = np.zeros((len(counts), int(counts.max()), 3))
    real = np.zeros(padded.shape, dtype=np.bool_)
    padded[owner, within], real[owner, within] = forces.data, True
    return padded.reshape(len(counts), -1), real.reshape(len(counts), -1)


def _energies(table: ElementTable, centres: Array, coefficients: Array) -> Array:
    """Return the kernel's energy of each training structure from one element's atoms, `[N]`."""
    squares, moved = np.square(centres).sum(axis=1), np.einsum("ck,ck->c", centres, coefficients)
    result = np.zeros(len(table.features))
    for row, (own, present) in enumerate(zip(table.features, table.present, strict=True)):
        apart = np.square(own).sum(axis=1)[:, None] + squares - 2 * own @ centres.T
        terms = np.exp(-0.5 * np.maximum(apart, 0.0)) * (own @ coefficients.T - moved)
        result[row] = float(present @ terms.sum(axis=1))
    return result
