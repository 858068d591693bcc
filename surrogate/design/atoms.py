"""The doors to ASE: molecules by name, and molecular dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from surrogate.core.errors import DataError, MissingExtraError, SpaceError, nearest
from surrogate.core.structure import Structure


def load() -> Any:
    """Return ASE.

    Raises:
        MissingExtraError: If it is not installed.
    """
    try:
        import ase
    except ImportError as error:
        raise MissingExtraError("Structures of atoms (ASE)", "molecules") from error
    return ase


def named_molecule(name: str, charge: int = 0, multiplicity: int | None = None) -> Structure:
    """Return a molecule of the G2 set by its name, such as `CH4` or `CH3CH2OH`.

    L. A. Curtiss, K. Raghavachari, P. C. Redfern, J. A. Pople (1997), J. Chem. Phys. 106, 1063; as ASE has it.

    Raises:
        MissingExtraError: If ASE is not installed.
        SpaceError: If there is no such molecule.
    """
    load()
    from ase import build
    from ase.collections import g2

    if name not in g2.names:
        raise SpaceError(
            f"There is no molecule '{name}' among the {len(g2.names)} that are known by name."
            f"{nearest(name, g2.names)} Give a file with its structure under 'files'."
        )
    atoms: Any = build.molecule(name)  # type: ignore[no-untyped-call]
    moments = float(np.sum(atoms.get_initial_magnetic_moments()))
    spin = multiplicity or (round(abs(moments)) + 1 if charge == 0 else None)
    return Structure.of(atoms.numbers, atoms.positions, charge=charge, multiplicity=spin, name=name)


def to_atoms(structure: Structure) -> Any:
    """Return a structure as `ase.Atoms`; charge and multiplicity go into `info`.

    Raises:
        MissingExtraError: If ASE is not installed.
    """
    load()
    from ase import Atoms

    cell = structure.cell if structure.periodic else None
    info = {"charge": structure.charge, "multiplicity": structure.multiplicity, "molecule": structure.name}
    return Atoms(
        numbers=structure.species, positions=structure.coordinates, cell=cell, pbc=structure.periodic, info=info
    )


def from_atoms(atoms: Any, *, charge: int | None = None, multiplicity: int | None = None, name: str = "") -> Structure:
    """Return `ase.Atoms` as a structure.

    Args:
        atoms: The atoms.
        charge: Total charge; `info["charge"]` or 0 when None.
        multiplicity: 2S + 1; `info["multiplicity"]` (or `info["spin"]` + 1), or the lowest, when None.
        name: The molecule; `info["molecule"]`, `info["name"]`, or the formula when empty.

    Raises:
        DataError: If it is periodic in one or two directions only.
    """
    periodic = [bool(entry) for entry in atoms.pbc]
    if any(periodic) and not all(periodic):
        raise DataError(
            f"The structure is periodic along {sum(periodic)} of three directions; all or none are understood. Make a "
            "slab or wire periodic in all directions, with a vacuum."
        )
    info = atoms.info
    total = charge if charge is not None else info.get("charge", 0)
    spin = multiplicity if multiplicity is not None else info.get("multiplicity")
    if spin is None and "spin" in info:
        spin = int(info["spin"]) + 1
    named = name or str(info.get("molecule", info.get("name", "")))
    return Structure.of(
        atoms.numbers,
        atoms.positions,
        charge=_whole(total, "charge"),
        multiplicity=None if spin is None else _whole(spin, "multiplicity"),
        cell=np.asarray(atoms.cell) if all(periodic) else None,
        name=named,
    )


def _whole(value: Any, what: str) -> int:
    number = float(value)
    if number != round(number):
        raise DataError(f"A {what} is a whole number, and {value} was found.")
    return round(number)


def langevin(
    structure: Structure,
    engine: Callable[[Structure], Any],
    rng: np.random.Generator,
    *,
    temperature: float,
    timestep: float,
    spacing: int,
    friction: float,
) -> Iterator[Structure]:
    """Yield frames of Langevin dynamics for ever; momenta are those of the temperature from the start.

    Args:
        structure: Where it starts.
        engine: Gives energy, Ha, and forces, Ha/Å.
        rng: Where randomness comes from.
        temperature: In K.
        timestep: In fs.
        spacing: Steps from one frame to the next.
        friction: In 1/fs.

    Raises:
        MissingExtraError: If ASE is not installed.
        SimulationError: If the engine fails.
    """
    load()
    from ase import units
    from ase.md.langevin import Langevin

    atoms: Any = to_atoms(structure)
    atoms.calc = _calculator(structure, engine)
    widths = np.sqrt(atoms.get_masses() * units.kB * temperature)[:, None]
    atoms.set_momenta(widths * rng.standard_normal((len(atoms), 3)))
    run: Any = Langevin(
        atoms,
        timestep * units.fs,
        temperature_K=temperature,
        friction=friction / units.fs,
        fixcm=False,
        rng=rng,
    )
    while True:
        run.run(spacing)
        yield structure.moved(np.array(atoms.positions, dtype=np.float64))


def _calculator(structure: Structure, engine: Callable[[Structure], Any]) -> Any:
    """Return an engine as an ASE calculator."""
    from ase import units
    from ase.calculators.calculator import Calculator, all_changes

    class Engine(Calculator):
        """The engine as ASE asks for it."""

        implemented_properties = ["energy", "forces"]  # noqa: RUF012 - as the base class has it

        def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = all_changes) -> None:
            """Put energy, eV, and forces, eV/Å, into the results."""
            super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
            energy, forces = engine(structure.moved(np.asarray(atoms.positions, dtype=np.float64)))
            self.results = {"energy": energy * units.Hartree, "forces": forces * units.Hartree}

    made: Any = Engine
    return made()
