"""Rows to train on: features, how they change with places, and scaled energies and forces.

Places do not move while a network is trained, so that features and their Jacobian are computed once. The forces are
then one product of the Jacobian with the network's gradient, and linear in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.molecules import ENERGY, FORCES
from surrogate.core.schema import Ragged, SampleTable
from surrogate.models.ani.features import Features
from surrogate.models.ani.fitting import sums
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.packing import Packing, feature_rows
from surrogate.models.ani.potential import pieces
from surrogate.models.ani.transforms import AniTransforms, atoms_of, cells_of
from surrogate.models.protocols import Rows

MOST_BYTES = 8 * 2**30
"""Memory that the Jacobians of a table may take."""

_ATOMS_AT_ONCE = 128


def training_rows(transforms: AniTransforms, table: SampleTable) -> Rows:
    """Return the rows of samples with known outputs.

    Args:
        transforms: What was fitted.
        table: R samples.

    Returns:
        `features_X` `[R, n, K]`, `mask_X` `[R, n]` of each element X; `energy` `[R]`, total minus self-energies in
        units of `transforms.unit`; `atoms` `[R]`; where forces are learned `jacobian_X` `[R, n·K, 3A]` and `forces`
        `[R, 3A]` in that unit per Å, A atoms of the largest structure.

    Raises:
        DataError: If the Jacobians would not fit into memory, or structures with forces are periodic.
    """
    species, positions, offsets = atoms_of(table.inputs)
    cells = cells_of(table.inputs)
    kinds = transforms.functions.kinds(species)
    whole = Packing(kinds, offsets, len(transforms.symbols))
    width = int(np.diff(offsets).max(initial=1))
    if transforms.forces:
        _check_memory(transforms, whole, width)
        if cells is not None:
            raise DataError(
                "Forces are learned on molecules in free space only, and the training samples have cells. "
                "Set force_weight = 0 to learn their energies."
            )
    parts: list[Rows] = []
    for start, stop in pieces(offsets, _ATOMS_AT_ONCE):
        begin, end = int(offsets[start]), int(offsets[stop])
        local = offsets[start : stop + 1] - begin
        part = None if cells is None else cells[start:stop]
        pairs = find_pairs(positions[begin:end], local, transforms.functions.radial_cutoff, part)
        features = Features(transforms.functions, kinds[begin:end], pairs)
        packing = Packing(kinds[begin:end], local, len(transforms.symbols), whole.slots)
        rows = feature_rows(packing, transforms, features.values)
        if transforms.forces:
            rows |= _jacobian_rows(packing, transforms, features.jacobian(local, width))
        parts.append(rows)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return joined | _targets(transforms, table, kinds, offsets, width)


def _check_memory(transforms: AniTransforms, packing: Packing, width: int) -> None:
    """Refuse Jacobians that do not fit.

    Raises:
        DataError: If they need more than `MOST_BYTES`.
    """
    numbers = sum(slots * len(columns) for slots, columns in zip(packing.slots, transforms.columns, strict=True))
    needed = 4 * packing.count * numbers * 3 * width
    if needed > MOST_BYTES:
        raise DataError(
            f"To learn the forces of {packing.count} structures of up to {width} atoms, {needed / 2**30:.1f} GiB of "
            f"derivatives are needed, and at most {MOST_BYTES / 2**30:g} are allowed. Train on fewer or smaller "
            "structures, use fewer symmetry functions, or set force_weight = 0 to learn energies alone."
        )


def _jacobian_rows(packing: Packing, transforms: AniTransforms, jacobian: NDArray[np.float64]) -> Rows:
    """Return `jacobian_X` of some structures."""
    rows: Rows = {}
    for kind, symbol in enumerate(transforms.symbols):
        picked = jacobian[packing.atoms[kind]][:, transforms.columns[kind]] * transforms.scales[kind][:, None, None]
        flat = picked.reshape(*picked.shape[:2], -1)
        packed = packing.pack(kind, flat)
        rows[f"jacobian_{symbol}"] = packed.reshape(packing.count, -1, flat.shape[-1])
    return rows


def _targets(
    transforms: AniTransforms, table: SampleTable, kinds: NDArray[np.int64], offsets: NDArray[np.int64], width: int
) -> Rows:
    """Return what the network is to say."""
    energies = np.asarray(table.columns[ENERGY], dtype=np.float64) - sums(transforms.self_energies[kinds], offsets)
    counts = np.diff(offsets)
    rows: Rows = {
        "energy": (energies / transforms.unit).astype(np.float32),
        "atoms": counts.astype(np.float32),
    }
    if transforms.forces:
        forces = table.columns[FORCES]
        if not isinstance(forces, Ragged):
            raise DataError("The column 'forces' must be ragged: one row an atom.")
        packed = np.zeros((len(counts), width, 3), dtype=np.float32)
        owner = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(owner)) - offsets[owner]
        packed[owner, within] = forces.data / transforms.unit
        rows["forces"] = packed.reshape(len(counts), -1)
    return rows
