"""Opening the three formats: what is where in the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import atomic_number
from surrogate.core.errors import DataError, MissingExtraError
from surrogate.core.outcome import FailureKind
from surrogate.data.readers.containers import UNIT_ATTRIBUTES, unit_text
from surrogate.data.readers.hdf5 import reading
from surrogate.data.readers.molecules.batches import Batch, Contents, Floats, Slab
from surrogate.data.readers.protocol import SourceError
from surrogate.design.xyz import Frame, read_frames

_COORDINATES = ("coordinates", "coords", "positions")
_ENERGIES = ("energies", "energy", "wb97x_dz.energy")
_FORCES = ("forces", "wb97x_dz.forces", "gradients")
_SPECIES = ("species", "atomic_numbers", "numbers")


@contextlib.contextmanager
def open_ani(path: Path) -> Iterator[Contents]:
    """Open an HDF5 file as those of ANI-1, ANI-1x and COMP6: groups with species, coordinates, energies, forces.

    Raises:
        SourceError: If it is none.
    """
    with reading(path):
        file = h5py.File(path, "r")
    with file:
        with reading(path):
            contents = _ani_contents(path, file)
        yield contents


def _ani_contents(path: Path, file: h5py.File) -> Contents:
    groups: list[h5py.Group] = []
    file.visititems(lambda _, item: groups.append(item) if _is_molecule(item) else None)
    if _is_molecule(file):
        groups.append(file)
    if not groups:
        raise SourceError(
            f"{path} has no group with species, coordinates and energies, as files of the format 'ani' have.",
            FailureKind.OUTPUT_MISSING,
        )
    batches = tuple(_ani_batch(path, group) for group in groups)
    forced = [found for group in groups if (found := _pick(group, _FORCES)) is not None]
    forces = forced[0] if forced else None
    return Contents(
        batches,
        has_forces=len(forced) == len(groups),
        length_unit=_said_unit(_pick(groups[0], _COORDINATES)),
        energy_unit=_said_unit(_pick(groups[0], _ENERGIES)),
        force_unit=_said_unit(forces),
        are_forces=False if forces is not None and forces.name.endswith("gradients") else None,
        level_of_theory=_said_level(groups[0]),
    )


def _pick(group: h5py.Group, names: Sequence[str]) -> h5py.Dataset | None:
    return next((group[name] for name in names if isinstance(group.get(name), h5py.Dataset)), None)


def _is_molecule(item: Any) -> bool:
    return isinstance(item, h5py.Group) and all(
        _pick(item, names) is not None for names in (_SPECIES, _COORDINATES, _ENERGIES)
    )


def _said_unit(dataset: h5py.Dataset | None) -> str | None:
    if dataset is None:
        return None
    return next((unit_text(dataset.attrs[key]) for key in UNIT_ATTRIBUTES if key in dataset.attrs), None)


def _said_level(group: h5py.Group) -> str | None:
    level = group.get("lot")
    if not isinstance(level, h5py.Dataset) or level.size != 1:
        return None
    word = np.asarray(level[()]).reshape(-1)[0]
    return word.decode("utf-8", errors="replace") if isinstance(word, bytes) else str(word)


def _ani_batch(path: Path, group: h5py.Group) -> Batch:
    kinds: Any = _pick(group, _SPECIES)
    places: Any = _pick(group, _COORDINATES)
    energies: Any = _pick(group, _ENERGIES)
    forces = _pick(group, _FORCES)
    species = _species(path, np.asarray(kinds[()]))
    wanted = (len(energies), len(species), 3)
    for dataset in (places, *((forces,) if forces is not None else ())):
        if dataset.shape != wanted:
            raise SourceError(
                f"In {path}, '{dataset.name}' has the shape {list(dataset.shape)}; {list(wanted)} is expected for "
                f"{wanted[0]} structures of {wanted[1]} atoms.",
                FailureKind.WRONG_SHAPE,
            )

    def read(start: int, stop: int) -> Slab:
        with reading(path):
            return (
                np.asarray(places[start:stop], dtype=np.float64),
                np.asarray(energies[start:stop], dtype=np.float64).reshape(-1),
                None if forces is None else np.asarray(forces[start:stop], dtype=np.float64),
            )

    return Batch(group.name.strip("/") or path.stem, species, int(wanted[0]), read)


def _species(path: Path, values: NDArray[Any]) -> NDArray[np.int64]:
    """Return atomic numbers from symbols or numbers."""
    try:
        if values.dtype.kind in "SO":
            words = [word.decode() if isinstance(word, bytes) else str(word) for word in values.reshape(-1)]
            return np.asarray([atomic_number(word) for word in words], dtype=np.int64)
        return values.astype(np.int64).reshape(-1)
    except (DataError, UnicodeDecodeError, ValueError) as error:
        raise SourceError(f"{path}: {error}") from error


@contextlib.contextmanager
def open_rmd17(path: Path) -> Iterator[Contents]:
    """Open an archive of revised MD17: nuclear_charges, coords, energies, forces of one molecule.

    A. S. Christensen, O. A. von Lilienfeld (2020), Mach. Learn.: Sci. Technol. 1, 045018.

    Raises:
        SourceError: If it is none.
    """
    names = ("nuclear_charges", "coords", "energies", "forces")
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as archive:
            found = {name: np.asarray(archive[name]) for name in names if name in archive}
            there = ", ".join(archive.files) or "none"
    except Exception as error:  # a damaged archive makes NumPy raise one of a dozen kinds
        raise SourceError(f"{path} cannot be read as a NumPy archive: {error}.") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise SourceError(
            f"{path} has no array '{missing[0]}', as archives of the format 'rmd17' have; it has {there}.",
            FailureKind.OUTPUT_MISSING,
        )
    charges, coords, energies, forces = (found[name] for name in names)
    wanted = (len(energies), len(charges), 3)
    for name, array in (("coords", coords), ("forces", forces)):
        if array.shape != wanted:
            raise SourceError(
                f"In {path}, '{name}' has the shape {list(array.shape)}; {list(wanted)} is expected.",
                FailureKind.WRONG_SHAPE,
            )

    def read(start: int, stop: int) -> Slab:
        parts = (coords[start:stop], energies[start:stop], forces[start:stop])
        return tuple(np.asarray(part, dtype=np.float64) for part in parts)  # type: ignore[return-value]

    yield Contents((Batch("", charges.astype(np.int64).reshape(-1), len(energies), read),), has_forces=True)


@contextlib.contextmanager
def open_extxyz(path: Path) -> Iterator[Contents]:
    """Open an extended XYZ file whose structures have energies.

    Raises:
        SourceError: If it is none, or a structure has no energy.
    """
    try:
        frames = read_frames(path)
    except MissingExtraError as error:
        raise SourceError(str(error)) from error
    except DataError as error:
        raise SourceError(str(error)) from error
    for number, frame in enumerate(frames, 1):
        if "energy" not in frame.numbers:
            raise SourceError(
                f"{path}, structure {number} has no energy on its comment line (energy=…).", FailureKind.OUTPUT_MISSING
            )
    has_forces = all(frame.arrays.get("forces", np.zeros(0)).ndim == 2 for frame in frames)
    first = frames[0].facts
    told = str(first.get("forces_are", "")).lower()
    yield Contents(
        tuple(_frame_batch(frame, has_forces=has_forces) for frame in frames),
        has_forces=has_forces,
        length_unit=_fact(first, "length_unit"),
        energy_unit=_fact(first, "energy_unit"),
        force_unit=_fact(first, "force_unit"),
        are_forces=True if told == "minus the gradient" else False if told in ("gradients", "the gradient") else None,
        level_of_theory=_fact(first, "level_of_theory"),
    )


def _fact(facts: dict[str, Any], name: str) -> str | None:
    value = facts.get(name)
    return None if value is None else str(value)


def _frame_batch(frame: Frame, *, has_forces: bool) -> Batch:
    structure = frame.structure
    slab = (
        structure.coordinates[np.newaxis],
        np.asarray([frame.numbers["energy"]]),
        frame.arrays["forces"][np.newaxis] if has_forces else None,
    )
    known = frame.numbers
    return Batch(
        structure.name,
        structure.species,
        1,
        partial(_same_slab, slab),
        charge=structure.charge,
        multiplicity=structure.multiplicity if {"multiplicity", "spin"} & set(known) else None,
        cell=structure.cell,
    )


def _same_slab(slab: tuple[Floats, Floats, Floats | None], start: int, stop: int) -> Slab:
    coordinates, energies, forces = slab
    return coordinates[start:stop], energies[start:stop], None if forces is None else forces[start:stop]
