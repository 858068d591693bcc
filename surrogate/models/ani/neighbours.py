"""Which atoms are near each other: all pairs of small molecules, a cell list for large and periodic structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

SMALL = 48
"""Atoms up to which all pairs of a molecule in free space are looked at; above, a cell list is faster."""

COINCIDENT = 0.2
"""Distance in Å below which two atoms are taken for one, as in `surrogate.core.structure`."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of atoms, each once; an atom and its own image in a neighbouring cell are a pair, too.

    Attributes:
        first: `[P]` int, index of one atom in the batch.
        second: `[P]` int, index of the other.
        vectors: `[P, 3]` float64, Å, from the first to the second or its image.
        distances: `[P]` float64, Å.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    vectors: NDArray[np.float64]
    distances: NDArray[np.float64]


def find_pairs(
    positions: NDArray[np.float64],
    offsets: NDArray[np.int64],
    cutoff: float,
    cells: Sequence[NDArray[np.float64]] | None = None,
) -> Pairs:
    """Return all pairs nearer than a cutoff, structure by structure.

    Args:
        positions: `[M, 3]` Å, atoms of all structures.
        offsets: `[N + 1]`, where structures begin.
        cutoff: Å.
        cells: For each structure its lattice vectors `[3, 3]` as rows, or `[0, 3]`; None when none is periodic.

    Raises:
        DataError: If two atoms coincide, or a position is not finite.
    """
    if not np.isfinite(positions).all():
        raise DataError("A coordinate is not finite; only finite numbers are places of atoms.")
    counts = np.diff(offsets)
    periodic = np.zeros(len(counts), dtype=bool) if cells is None else np.asarray([len(cell) > 0 for cell in cells])
    small = (counts <= SMALL) & ~periodic
    found = [_all_pairs(positions, offsets[:-1][small], counts[small], cutoff)]
    for row in np.flatnonzero(~small).tolist():
        begin, end = int(offsets[row]), int(offsets[row + 1])
        cell = cells[row] if cells is not None and periodic[row] else None
        found.append(_shifted(cell_list(positions[begin:end], cutoff, cell), begin))
    pairs = found[0] if len(found) == 1 else _joined(found)
    _refuse_coincident(pairs, offsets)
    return pairs


def _refuse_coincident(pairs: Pairs, offsets: NDArray[np.int64]) -> None:
    """Refuse atoms in one place.

    Raises:
        DataError: Naming the first two.
    """
    if not len(pairs.distances) or pairs.distances.min() >= COINCIDENT:
        return
    worst = int(np.argmin(pairs.distances))
    atom = int(pairs.first[worst])
    row = int(np.searchsorted(offsets, atom, side="right")) - 1
    begin = int(offsets[row])
    raise DataError(
        f"Atoms {atom - begin + 1} and {int(pairs.second[worst]) - begin + 1} of structure {row + 1} are "
        f"{pairs.distances[worst]:.3g} Å apart, less than {COINCIDENT:g} Å: they coincide, and no energy is given."
    )


def _shifted(pairs: Pairs, by: int) -> Pairs:
    return Pairs(pairs.first + by, pairs.second + by, pairs.vectors, pairs.distances)


def _joined(parts: Sequence[Pairs]) -> Pairs:
    return Pairs(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.second for part in parts]),
        np.concatenate([part.vectors for part in parts]),
        np.concatenate([part.distances for part in parts]),
    )


@lru_cache(maxsize=SMALL + 1)
def _triangle(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows, columns = np.triu_indices(count, 1)
    return rows, columns


def _all_pairs(
    positions: NDArray[np.float64], starts: NDArray[np.int64], counts: NDArray[np.int64], cutoff: float
) -> Pairs:
    """Return the pairs of small molecules in free space, those of equally many atoms together."""
    sizes = np.unique(counts) if len(counts) != 1 else counts
    firsts, seconds = [], []
    for size in sizes:
        rows, columns = _triangle(int(size))
        begin = starts[counts == size, None]
        firsts.append((begin + rows).ravel())
        seconds.append((begin + columns).ravel())
    if not firsts:
        empty = np.zeros(0, dtype=np.intp)
        return Pairs(empty, empty, np.zeros((0, 3)), np.zeros(0))
    first = firsts[0] if len(firsts) == 1 else np.concatenate(firsts)
    second = seconds[0] if len(seconds) == 1 else np.concatenate(seconds)
    return _within(positions, first, second, None, cutoff)


def _within(
    positions: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    shifts: NDArray[np.float64] | None,
    cutoff: float,
) -> Pairs:
    """Return those of some candidates that are nearer than the cutoff."""
    vectors = np.take(positions, second, axis=0)
    vectors -= np.take(positions, first, axis=0)
    if shifts is not None:
        vectors += shifts
    distances = np.sqrt(np.einsum("pc,pc->p", vectors, vectors))
    near = distances < cutoff
    if near.all():
        return Pairs(first, second, vectors, distances)
    return Pairs(first[near], second[near], vectors[near], distances[near])


def cell_list(positions: NDArray[np.float64], cutoff: float, cell: NDArray[np.float64] | None = None) -> Pairs:
    """Return the pairs of one structure; time and memory grow linearly with the number of atoms.

    Space is cut into boxes at least as wide as the cutoff, and atoms are compared with those of their own and the 26
    neighbouring boxes. In a cell the images that lie within the cutoff of it are added as further atoms.

    Args:
        positions: `[n, 3]` Å.
        cutoff: Å.
        cell: `[3, 3]` lattice vectors as rows, Å; None in free space.

    Raises:
        DataError: If the cell has no volume.
    """
    count = len(positions)
    owners, shifts = np.arange(count, dtype=np.intp), np.zeros((count, 3))
    if cell is not None and count:
        positions = _wrapped(positions, cell)
        owners, shifts = _images(positions, cutoff, cell)
    places = positions[owners] + shifts
    first, ghost = _candidates(places, count, cutoff)
    second = owners[ghost]
    step = shifts[ghost]
    # Every pair is found from both of its ends; the one that counts is told apart by indices, then by the shift.
    keep = (first < second) | ((first == second) & _positive(step))
    first, second, step = first[keep], second[keep], step[keep]
    return _within(positions, first, second, step, cutoff)


def _wrapped(positions: NDArray[np.float64], cell: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions moved into the cell.

    Raises:
        DataError: If the cell has no volume.
    """
    if abs(float(np.linalg.det(cell))) < 1e-3:
        raise DataError("The cell has no volume: its three vectors must span a space.")
    fractions = np.linalg.solve(cell.T, positions.T).T
    return np.asarray(positions - np.floor(fractions) @ cell, dtype=np.float64)


def _images(
    positions: NDArray[np.float64], cutoff: float, cell: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the atoms of a cell and their images within the cutoff of it: owner of each, and its shift in Å.

    The first entries are the atoms themselves.
    """
    inverse = np.linalg.inv(cell)
    # The distance between opposite faces along lattice direction d is 1 / |column d of the inverse|.
    reach = cutoff * np.linalg.norm(inverse, axis=0)
    spans = np.ceil(reach).astype(int)
    fractions = positions @ inverse
    grids = np.meshgrid(*(np.arange(-span, span + 1) for span in spans), indexing="ij")
    steps = np.stack([grid.ravel() for grid in grids], axis=1)
    steps = steps[np.any(steps != 0, axis=1)]
    owners, shifts = [np.arange(len(positions), dtype=np.intp)], [np.zeros((len(positions), 3))]
    for step in steps:
        moved = fractions + step
        near = np.flatnonzero(np.all((moved >= -reach) & (moved <= 1 + reach), axis=1))
        owners.append(near)
        shifts.append(np.broadcast_to(step @ cell, (len(near), 3)))
    return np.concatenate(owners), np.concatenate(shifts)


def _positive(shifts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which shifts are positive in their first component that is not zero; one of each pair ± s is."""
    x, y, z = shifts.T
    tiny = 1e-9
    flat_x, flat_y = np.abs(x) < tiny, np.abs(y) < tiny
    return np.asarray(
        np.where(~flat_x, x > 0, np.where(~flat_y, y > 0, z > tiny)),
        dtype=np.bool_,
    )


def _candidates(places: NDArray[np.float64], count: int, cutoff: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return candidates: one of the first `count` places, and any place in its own or a neighbouring box."""
    if not len(places):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    boxes = np.floor((places - places.min(axis=0)) / cutoff).astype(np.int64) + 1
    # One empty layer of boxes all around, so that a neighbour never leaves the grid.
    shape = boxes.max(axis=0) + 2
    number = (boxes[:, 0] * shape[1] + boxes[:, 1]) * shape[2] + boxes[:, 2]
    order = np.argsort(number, kind="stable")
    filled, starts, sizes = np.unique(number[order], return_index=True, return_counts=True)
    atoms = np.arange(count, dtype=np.intp)
    firsts, seconds = [], []
    for x in (-1, 0, 1):
        for y in (-1, 0, 1):
            for z in (-1, 0, 1):
                wanted = number[:count] + (x * shape[1] + y) * shape[2] + z
                place = np.minimum(np.searchsorted(filled, wanted), len(filled) - 1)
                lengths = np.where(filled[place] == wanted, sizes[place], 0)
                begin = np.cumsum(lengths) - lengths
                inside = np.arange(int(lengths.sum())) - np.repeat(begin, lengths)
                firsts.append(np.repeat(atoms, lengths))
                seconds.append(order[np.repeat(starts[place], lengths) + inside])
    return np.concatenate(firsts), np.concatenate(seconds)
