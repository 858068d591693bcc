"""Atoms in the form that networks take them: for each element, a fixed number of places a structure.

A place without an atom has zeros for features and a mask of 0; its energy and its gradient are multiplied by the mask,
so that padding cannot leak into a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.ani.transforms import AniTransforms
from surrogate.models.protocols import Rows


class Packing:
    """Where the atoms of N structures go.

    Attributes:
        places: For each element `[K]`, flat place of its atoms: structure times slots plus slot.
        atoms: For each element `[K]`, its atoms in the batch.
        slots: For each element, places a structure; at least 1.
    """

    def __init__(self, kinds: NDArray[np.int64], offsets: NDArray[np.int64], elements: int, slots: Any = None) -> None:
        """Lay them out.

        Args:
            kinds: `[M]`, position of each atom's element.
            offsets: `[N + 1]`, where structures begin.
            elements: Number of elements E.
            slots: For each element, places a structure; as many as needed when None.
        """
        self.count = len(offsets) - 1
        owner = np.repeat(np.arange(self.count), np.diff(offsets))
        self.atoms, self.places, self.slots = [], [], []
        for kind in range(elements):
            atoms = np.flatnonzero(kinds == kind)
            structures = owner[atoms]
            numbers = np.bincount(structures, minlength=self.count)
            within = np.arange(len(atoms)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
            width = int(slots[kind]) if slots is not None else max(1, int(numbers.max(initial=0)))
            self.atoms.append(atoms)
            self.places.append(structures * width + within)
            self.slots.append(width)

    def pack(self, kind: int, values: NDArray[Any], dtype: Any = np.float32) -> NDArray[Any]:
        """Return `[N, slots, ...]` of one element, zero where there is no atom, from its atoms' values `[K, ...]`."""
        packed = np.zeros((self.count * self.slots[kind], *values.shape[1:]), dtype=dtype)
        packed[self.places[kind]] = values
        return packed.reshape(self.count, self.slots[kind], *values.shape[1:])

    def unpack(self, kind: int, packed: NDArray[Any]) -> NDArray[Any]:
        """Return the values `[K, ...]` of one element's atoms."""
        flat = packed.reshape(self.count * self.slots[kind], *packed.shape[2:])
        return np.asarray(flat[self.places[kind]])

    def masks(self, transforms: AniTransforms) -> Rows:
        """Return `mask_X` `[N, slots]` float32 of each element."""
        return {
            f"mask_{symbol}": self.pack(kind, np.ones(len(self.atoms[kind])))
            for kind, symbol in enumerate(transforms.symbols)
        }


def feature_rows(packing: Packing, transforms: AniTransforms, features: NDArray[Any]) -> Rows:
    """Return `features_X` and `mask_X` of each element, float32, from features `[M, F]`."""
    rows = packing.masks(transforms)
    for kind, symbol in enumerate(transforms.symbols):
        picked = features[packing.atoms[kind]][:, transforms.columns[kind]] * transforms.scales[kind]
        rows[f"features_{symbol}"] = packing.pack(kind, picked)
    return rows
