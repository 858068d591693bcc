"""Samplers of structures: normal modes at a temperature, rattles, dynamics, and the frames of files.

Point number i belongs to molecule i modulo the number of molecules, and is drawn from (seed, i): a longer design
continues a shorter one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from surrogate.core.errors import DataError, MissingExtraError, SpaceError
from surrogate.core.identity import canonical_json
from surrogate.core.structure import Structure, formula, problem
from surrogate.design.atoms import langevin
from surrogate.design.normal_modes import NormalModes, hessian, normal_modes, relaxed
from surrogate.design.space import InputSpace, Point
from surrogate.design.structures import StructureSet
from surrogate.design.xtb import energy_forces

_TRIES = 100
METHOD = "GFN2-xTB"


def _set_of(space: InputSpace, sampler: str) -> StructureSet:
    """Return a space that is a set of named molecules.

    Raises:
        SpaceError: If it is none, or names no molecule.
    """
    if not isinstance(space, StructureSet):
        raise SpaceError(
            f"The sampler '{sampler}' moves the atoms of molecules, and the inputs are of kind '{space.kind}'. Say "
            'which molecules by [space] with kind = "structures".'
        )
    if not space.molecules:
        raise SpaceError(f"The sampler '{sampler}' needs at least one molecule, and the space names none.")
    return space


class _ByMolecule:
    """What the samplers that move molecules have in common."""

    name = ""

    def length(self, space: InputSpace) -> int | None:
        """Return None: the sequence goes on.

        Raises:
            SpaceError: If the space is no set of molecules.
        """
        _set_of(space, self.name)
        return None

    def groups(self, space: InputSpace, start: int, count: int) -> list[str]:
        """Return the group keys of points (see `surrogate.design.space.NamesGroups`)."""
        chosen = _set_of(space, self.name)
        names = [chosen.group_key(molecule.name) for molecule in chosen.molecules]
        return [names[number % len(names)] for number in range(start, start + count)]


@dataclass(frozen=True)
class NormalModeSampler(_ByMolecule):
    """Sampler `normal_modes` (see `surrogate.design.normal_modes`).

    Attributes:
        temperature: In K.
        hessians: NPZ files with `species` [n], `coordinates` [n, 3] Å (the minimum) and `hessian` [3n, 3n] Ha/bohr²;
            molecules without one are relaxed by GFN2-xTB, which also gives their Hessian.
    """

    temperature: float
    hessians: tuple[Path, ...] = ()
    name: str = field(default="normal_modes", init=False)

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            DataError: If a file with a Hessian cannot be used.
            MissingExtraError: If the packages are not installed.
            SpaceError: If the space is no set of molecules, or one has no minimum nearby.
            SimulationError: If GFN2-xTB fails.
        """
        chosen = _set_of(space, self.name)
        given = dict(_read_hessian(path) for path in self.hessians)
        modes = [_modes(molecule, given.get(_key(molecule))) for molecule in chosen.molecules]
        return [
            _possible(partial(modes[number % len(modes)].displaced, self.temperature), seed, number)
            for number in range(start, start + count)
        ]


@dataclass(frozen=True)
class Rattle(_ByMolecule):
    """Sampler `rattle`: every coordinate of the molecules as they are given gets Gaussian noise.

    Attributes:
        stdev: Standard deviation, Å.
    """

    stdev: float
    name: str = field(default="rattle", init=False)

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            SpaceError: If the space is no set of molecules.
        """
        molecules = _set_of(space, self.name).molecules
        return [
            _possible(partial(self._moved, molecules[number % len(molecules)]), seed, number)
            for number in range(start, start + count)
        ]

    def _moved(self, molecule: Structure, rng: np.random.Generator) -> Structure:
        return molecule.moved(molecule.coordinates + rng.normal(scale=self.stdev, size=molecule.coordinates.shape))


@dataclass(frozen=True)
class Dynamics(_ByMolecule):
    """Sampler `dynamics`: frames of short molecular dynamics by GFN2-xTB, from the molecules as they are given.

    Dynamics are chaotic: another machine gives other frames, so that a campaign keeps those that it was begun with.

    Attributes:
        temperature: Of the Langevin thermostat, K.
        timestep: In fs.
        spacing: Steps from one frame to the next.
        friction: Of the thermostat, 1/fs.
    """

    temperature: float
    timestep: float = 0.5
    spacing: int = 20
    friction: float = 0.02
    name: str = field(default="dynamics", init=False)

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            MissingExtraError: If the packages are not installed.
            SpaceError: If the space is no set of molecules, or atoms collided.
            SimulationError: If GFN2-xTB fails.
        """
        molecules = _set_of(space, self.name).molecules
        found: dict[int, Point] = {}
        for place, molecule in enumerate(molecules):
            wanted = [number for number in range(start, start + count) if number % len(molecules) == place]
            if not wanted:
                continue
            frames = self._frames(molecule, np.random.default_rng([seed, place]))
            for step in range(wanted[-1] // len(molecules) + 1):
                frame = next(frames)
                number = step * len(molecules) + place
                if number >= start:
                    found[number] = frame.point()
        return [found[number] for number in range(start, start + count)]

    def _frames(self, molecule: Structure, rng: np.random.Generator) -> Iterator[Structure]:
        """Yield frames for ever."""
        settings = {"temperature": self.temperature, "timestep": self.timestep, "friction": self.friction}
        for frame in langevin(molecule, energy_forces, rng, spacing=self.spacing, **settings):
            impossible = problem(frame)
            if impossible is not None:
                raise SpaceError(
                    f"In the dynamics of '{molecule.name}' at {self.temperature:g} K: {impossible} Lower the "
                    "temperature or the time step."
                )
            yield frame


@dataclass(frozen=True)
class Frames:
    """Sampler `frames`: structures that somebody chose, in their order; the seed changes nothing.

    Attributes:
        structures: The structures.
    """

    structures: tuple[Structure, ...]

    def length(self, space: InputSpace) -> int | None:
        """Return how many there are.

        Raises:
            SpaceError: If the space is no set of molecules.
        """
        _set_of(space, "frames")
        return len(self.structures)

    def groups(self, space: InputSpace, start: int, count: int) -> list[str]:
        """Return the group keys of points (see `surrogate.design.space.NamesGroups`)."""
        chosen = _set_of(space, "frames")
        return [chosen.group_key(entry.name) for entry in self.structures[start : start + count]]

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return structures number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            SpaceError: If the space is no set of molecules, or there are not so many.
        """
        del seed
        if start < 0 or start + count > (self.length(space) or 0):
            raise SpaceError(
                f"The files have {len(self.structures)} structures; {count} from number {start} on were asked for."
            )
        return [entry.point() for entry in self.structures[start : start + count]]


def _possible(draw: Callable[[np.random.Generator], Structure], seed: int, number: int) -> Point:
    """Return the first structure of a sequence of draws that is possible.

    Raises:
        SpaceError: If a hundred in a row are not.
    """
    rng = np.random.default_rng([seed, number])
    for _ in range(_TRIES):
        drawn = draw(rng)
        impossible = problem(drawn)
        if impossible is None:
            return drawn.point()
    raise SpaceError(
        f"{_TRIES} displacements of '{drawn.name}' in a row were impossible; the last: {impossible} Displace less: "
        "lower the temperature or the standard deviation."
    )


def _key(molecule: Structure) -> str:
    return f"{formula(molecule.species)}{molecule.charge:+d}"


def _modes(molecule: Structure, given: tuple[Structure, Any] | None) -> NormalModes:
    """Return the modes of a molecule, by a Hessian that was given or by GFN2-xTB."""
    if molecule.periodic:
        raise SpaceError(
            f"'{molecule.name}' has a cell, and normal modes are those of molecules in free space; use the sampler "
            "'rattle' or 'dynamics'."
        )
    if given is None:
        return _xtb_modes(canonical_json(molecule.point()), molecule.name)
    minimum, second = given
    named = Structure(
        minimum.species, minimum.coordinates, molecule.charge, molecule.multiplicity, molecule.cell, molecule.name
    )
    return normal_modes(named, second, masses(named))


@lru_cache(maxsize=64)
def _xtb_modes(point: str, name: str) -> NormalModes:
    """Relax a molecule by GFN2-xTB and return its modes; a campaign asks several times."""
    minimum = relaxed(Structure.from_point(json.loads(point), name), energy_forces)
    return normal_modes(minimum, hessian(minimum, energy_forces), masses(minimum))


def masses(structure: Structure) -> Any:
    """Return the atomic masses, `[n]` float64, atomic mass units.

    Raises:
        MissingExtraError: If ASE is not installed.
    """
    try:
        from ase.data import atomic_masses
    except ImportError as error:
        raise MissingExtraError("Normal modes", "molecules") from error
    return np.asarray(atomic_masses[structure.species], dtype=np.float64)


def _read_hessian(path: Path) -> tuple[str, tuple[Structure, Any]]:
    """Return a molecule's key, its minimum and its Hessian from a file.

    Raises:
        DataError: If the file cannot be used.
    """
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
            charge = int(file["charge"]) if "charge" in file else 0
            structure = Structure.of(file["species"], file["coordinates"], charge=charge)
            second = np.asarray(file["hessian"], dtype=np.float64)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataError(
            f"{path} cannot be used as a Hessian: {error}. It is an NPZ file with species [n], coordinates [n, 3] in Å "
            "and hessian [3n, 3n] in Ha/bohr²."
        ) from error
    size = structure.coordinates.size
    if second.shape != (size, size) or not np.isfinite(second).all():
        raise DataError(f"In {path}, the Hessian must be [{size}, {size}] finite numbers, and is {list(second.shape)}.")
    return _key(structure), (structure, 0.5 * (second + second.T))
