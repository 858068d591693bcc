"""Points that were made once and are kept.

Structures that come out of a calculation differ in their last digits from machine to machine, and those of dynamics
altogether, while a campaign's design must stay the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surrogate.core.errors import IntegrityError
from surrogate.core.files import atomic_path
from surrogate.core.identity import digest
from surrogate.core.molecules import CELL, CHARGE, COORDINATES, MULTIPLICITY, SPECIES, input_values, structures_of
from surrogate.core.schema import Ragged
from surrogate.core.structure import Structure
from surrogate.design.space import InputSpace, NamesGroups, Point, Sampler

_RAGGED, _PLAIN = (SPECIES, COORDINATES, CELL), (CHARGE, MULTIPLICITY)


class KeptPoints:
    """A sampler of structures whose first points come from a file, where there is one.

    Attributes:
        name: Name of the file; it depends on space, sampler and seed.
    """

    def __init__(self, inner: Sampler, space: InputSpace, options: object, seed: int, folder: Path | None) -> None:
        """Look for points that were kept.

        Args:
            inner: Makes the points that are not there yet.
            space: Where points are chosen.
            options: What decides the sequence beside space and seed; JSON-ready.
            seed: Fixes the sequence.
            folder: Where the file may lie, or None.

        Raises:
            IntegrityError: If the file is damaged.
        """
        self.name = f"structures-{digest('kept points', space.to_json(), options, seed)[:16]}.npz"
        self._inner = inner
        path = None if folder is None else folder / self.name
        self._known = _read(path) if path is not None and path.is_file() else []

    def length(self, space: InputSpace) -> int | None:
        """Return how many points there are (see `Sampler.length`)."""
        return self._inner.length(space)

    def groups(self, space: InputSpace, start: int, count: int) -> list[str]:
        """Return the group keys of points (see `NamesGroups`)."""
        return self._inner.groups(space, start, count) if isinstance(self._inner, NamesGroups) else [""] * count

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points; those that are not kept are made, and kept from now on (see `Sampler.points`)."""
        self._inner.length(space)
        have, stop = len(self._known), start + count
        if stop > have:
            self._known = [*self._known, *self._inner.points(space, have, stop - have, seed)]
        return self._known[start:stop]

    def save(self, folder: Path) -> None:
        """Write all points that are known, atomically; a file that is there already and as long is left as it is."""
        path = folder / self.name
        if path.is_file() and len(_read(path)) >= len(self._known):
            return
        columns = input_values([Structure.from_point(point) for point in self._known])
        arrays = {name: np.asarray(columns[name]) for name in _PLAIN}
        for name in _RAGGED:
            values = columns[name]
            if isinstance(values, Ragged):
                arrays |= {f"{name}.data": values.data, f"{name}.offsets": values.offsets}
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary, temporary.open("wb") as target:
            np.savez(target, allow_pickle=False, **arrays)


def _read(path: Path) -> list[Point]:
    """Return the points of a file.

    Raises:
        IntegrityError: If it is damaged.
    """
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
            columns = {name: Ragged(file[f"{name}.data"], file[f"{name}.offsets"]) for name in _RAGGED}
            structures = structures_of(columns | {name: file[name] for name in _PLAIN})
    except Exception as error:  # a damaged archive makes NumPy raise one of a dozen kinds
        raise IntegrityError(
            f"The file {path} with the structures of this campaign is damaged ({error}). Remove it: they are made "
            "again, and are the same on the same machine."
        ) from error
    return [structure.point() for structure in structures]
