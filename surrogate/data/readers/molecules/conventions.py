"""Which units and which sign a file of molecules has: said by the person, by the file, by the format, and checked.

Total energies lie close to the sum over free atoms, so that their unit can be told: the estimate for an atom is that of
J. Schwinger (1981), Phys. Rev. A 24, 2353. Bonds have lengths of about the sum of covalent radii (B. Cordero et al.,
2008, Dalton Trans., 2832). The sign of forces follows from their neighbours and from bonds that vibrate (see
`surrogate.data.force_check`, `surrogate.data.bond_check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surrogate.core.errors import UnitError
from surrogate.core.outcome import FailureKind
from surrogate.core.units import conversion_factor
from surrogate.data.bond_check import SOFTEST, STIFFEST, stretching
from surrogate.data.force_check import agreement
from surrogate.data.readers.molecules.batches import Contents, Specimen, specimen
from surrogate.data.readers.molecules.options import MoleculeOptions
from surrogate.data.readers.protocol import SourceError

_ENERGY_UNITS = ("hartree", "eV", "kcal/mol", "kJ/mol", "rydberg")
_LENGTH_UNITS = ("angstrom", "bohr", "nanometer", "picometer")
_NEAR_ENERGY = 0.15
_NEAR_LENGTH = 0.35
_RADII = {
    1: 0.31, 2: 0.28, 3: 1.28, 4: 0.96, 5: 0.84, 6: 0.76, 7: 0.71, 8: 0.66, 9: 0.57, 10: 0.58, 11: 1.66, 12: 1.41,
    13: 1.21, 14: 1.11, 15: 1.07, 16: 1.05, 17: 1.02, 18: 1.06, 19: 2.03, 20: 1.76, 22: 1.60, 26: 1.32, 28: 1.24,
    29: 1.32, 30: 1.22, 35: 1.20, 53: 1.39,
}  # fmt: skip
"""Atomic number → covalent radius, Å."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a format takes for granted, until the numbers say otherwise; that forces are forces is taken by none.

    Attributes:
        length_unit: Unit of coordinates.
        energy_unit: Unit of energies; None when files of that format have any.
        level_of_theory: Of the data sets that are known by the format.
    """

    length_unit: str
    energy_unit: str | None
    level_of_theory: str


@dataclass(frozen=True, slots=True)
class Conventions:
    """How the numbers of a file become ours.

    Attributes:
        to_angstrom: Factor of coordinates.
        to_hartree: Factor of energies.
        to_force: Factor of forces, to minus the gradient in Ha/Å; 0 when there are none.
        level_of_theory: Of all structures, unless each says its own.
        sentences: What was assumed, what was found, what is converted.
    """

    to_angstrom: float
    to_hartree: float
    to_force: float
    level_of_theory: str
    sentences: tuple[str, ...]


def settle(path: Path, contents: Contents, assumed: Assumed, options: MoleculeOptions) -> Conventions:
    """Return the conventions of a file.

    Raises:
        SourceError: If they cannot be told, or the numbers contradict what is assumed; the sentence names the option
            that settles it.
    """
    some = specimen(contents.batches)
    if not some.molecules:
        raise SourceError(f"{path} has no structure with finite coordinates and energy.", FailureKind.NOT_FINITE)
    lengths = _Claims(options.length_unit, contents.length_unit, assumed.length_unit)
    length, told_length = _unit(path, "length", lengths, _seen_length(some))
    energies = _Claims(options.energy_unit, contents.energy_unit, assumed.energy_unit)
    energy, told_energy = _unit(path, "energy", energies, _seen_energy(some))
    level = options.level_of_theory or contents.level_of_theory or assumed.level_of_theory
    source = "as given" if options.level_of_theory else "as the file says" if contents.level_of_theory else "assumed"
    sentences = [f"Coordinates are in {length} ({told_length}), energies in {energy} ({told_energy})."]
    factor = 0.0
    if contents.has_forces and options.forces != "none":
        factor, sentence = _forces(path, (contents.force_unit, contents.are_forces), options, some, (length, energy))
        sentences.append(sentence)
    else:
        sentences.append("Forces are left out." if contents.has_forces else "There are no forces.")
    sentences.append(f"The level of theory is '{level}' ({source}).")
    return Conventions(
        conversion_factor(length, "angstrom"),
        conversion_factor(energy, "hartree"),
        factor,
        level,
        tuple(sentences),
    )


class _Claims(NamedTuple):
    """What person, file and format say a unit is."""

    given: str | None
    said: str | None
    assumed: str | None


def _unit(path: Path, what: str, claims: _Claims, seen: str | None) -> tuple[str, str]:
    """Return the unit and how it was told: the person's word, then the file's, then the format's, each checked."""
    given, said, assumed = claims
    option = f"{what}_unit"
    base = "hartree" if what == "energy" else "angstrom"
    if given is not None:
        _check(path, option, given, base)
        return given, "as given"
    if said is None and seen is None and what == "energy":
        raise SourceError(
            f"{path} does not say the unit of energy, and the numbers do not tell it: they are not those of total "
            f"energies of all electrons. Settle it with the option {option}, for example {option} = "
            f"'{assumed or base}'."
        )
    claimed, source = (said, "as the file says") if said is not None else (assumed, "assumed")
    if claimed is None:
        return str(seen), "told by the numbers"
    _check(path, option, claimed, base)
    if seen is not None and not _same(seen, claimed, base):
        raise SourceError(
            f"{path}: the unit of {what} is {claimed} {'by the file' if said else 'in files of this format'}, and the "
            f"numbers look like {seen}. Settle it with the option {option} = '{seen}' or '{claimed}'."
        )
    return claimed, f"{source}, and the numbers agree" if seen is not None else source


def _check(path: Path, option: str, unit: str, base: str) -> None:
    try:
        conversion_factor(unit, base)
    except UnitError as error:
        raise SourceError(f"{path}: the unit of {option.removesuffix('_unit')} is wrong: {error}") from error


def _same(one: str, other: str, base: str) -> bool:
    return bool(np.isclose(conversion_factor(one, base), conversion_factor(other, base), rtol=1e-3))


def _seen_energy(some: Specimen) -> str | None:
    """Return the unit in which energies are close to those of the free atoms together, or None."""
    ratios = []
    for species, energy in zip(some.species, some.energies.tolist(), strict=True):
        charges = species.astype(np.float64)
        atoms = -0.768745 * charges ** (7 / 3) + 0.5 * charges**2 - 0.269900 * charges ** (5 / 3)
        ratios.append(energy / float(atoms.sum()))
    ratio = float(np.median(ratios))
    for unit in _ENERGY_UNITS:
        if abs(ratio * conversion_factor(unit, "hartree") - 1.0) < _NEAR_ENERGY:
            return unit
    return None


def _seen_length(some: Specimen) -> str | None:
    """Return the unit in which nearest neighbours are one bond apart, or None; lone atoms are in any unit."""
    if all(len(species) == 1 for species in some.species):
        return "angstrom"
    ratios = [ratio for species, places in zip(some.species, some.coordinates, strict=True)
              for ratio in _bond_ratios(species, places)]  # fmt: skip
    if not ratios:
        return None
    ratio = float(np.median(ratios))
    distances = {unit: abs(np.log(ratio * conversion_factor(unit, "angstrom"))) for unit in _LENGTH_UNITS}
    unit = min(distances, key=lambda name: distances[name])
    return unit if distances[unit] < _NEAR_LENGTH else None


def _bond_ratios(species: np.ndarray, places: np.ndarray) -> Iterator[float]:
    known = [atom for atom, number in enumerate(species.tolist()) if number in _RADII]
    if len(known) < 2:
        return
    points, radii = places[known], np.asarray([_RADII[int(species[atom])] for atom in known])
    ratios = np.linalg.norm(points[:, None] - points[None, :], axis=2) / (radii[:, None] + radii[None, :])
    np.fill_diagonal(ratios, np.inf)
    yield from ratios.min(axis=1).tolist()


def _forces(
    path: Path, said: tuple[str | None, bool | None], options: MoleculeOptions, some: Specimen, units: tuple[str, str]
) -> tuple[float, str]:
    """Return the factor of forces, and the sentence that says what they are.

    Args:
        path: The file.
        said: The unit of forces that the file gives, and whether it says that they are forces; None for nothing.
        options: The person's word.
        some: Some structures.
        units: Of length and energy.
    """
    length, energy = units
    told, claimed = options.force_unit or said[0], said[1]
    unit, shown = told or f"({energy})/({length})", told or f"{energy}/{length}"
    try:
        size = conversion_factor(unit, "hartree/angstrom")
    except UnitError as error:
        raise SourceError(f"{path}: the unit of forces is wrong: {error}") from error
    if options.forces is not None:
        sentence = f"Forces are in {shown}; they are {options.forces} (as given)."
        return (size if options.forces == "forces" else -size), sentence
    sign, how, fault = _sign(some, size, length, energy)
    if fault:
        raise SourceError(
            f"{path}: the forces, taken in {shown}, {fault}. Settle it with the option force_unit, and with forces = "
            "'forces' or 'gradients'; or leave them out with forces = 'none'."
        )
    if sign == 0 and claimed is not None:
        kind = "minus the gradient" if claimed else "GRADIENTS, whose sign is turned"
        return (size if claimed else -size), f"Forces are in {shown}; they are {kind} (as the file says)."
    if sign == 0:
        raise SourceError(
            f"{path}: whether its forces are forces or gradients cannot be told: it has neither neighbouring "
            "structures of one molecule nor bonds that vibrate. Settle it with the option forces = 'forces' or "
            "'gradients'; or leave them out with forces = 'none'."
        )
    if claimed is not None and claimed != (sign > 0):
        kind, other = ("forces", "gradients") if claimed else ("gradients", "forces")
        raise SourceError(
            f"{path} says that its forces are {kind}, and they are {other}: {how} so. Settle it with the option "
            "forces = 'forces' or 'gradients'."
        )
    if sign > 0:
        return size, f"Forces are in {shown}; they are minus the gradient: {how} so."
    return -size, f"Forces are in {shown}; they are GRADIENTS: {how} so. Their sign is turned."


def _sign(some: Specimen, size: float, length: str, energy: str) -> tuple[int, str, str]:
    """Return the sign of the forces (0 when unknown), how it was told, and what is wrong with their size."""
    to_length, to_energy = conversion_factor(length, "angstrom"), conversion_factor(energy, "hartree")
    places = [entry * to_length for entry in some.coordinates]
    forces = [entry * size for entry in some.forces]
    if not forces:
        return 0, "", ""
    pairs = agreement(places, some.energies * to_energy, forces, some.molecules)
    bonds = stretching(places, forces, some.molecules)
    if pairs.sign and bonds.sign and pairs.sign != bonds.sign:
        return 0, "", "contradict themselves: energy differences and vibrating bonds tell opposite signs"
    if bonds.sign and not SOFTEST <= abs(bonds.stiffness) <= STIFFEST:
        return (
            0,
            "",
            (f"make bonds of {abs(bonds.stiffness):.3g} Ha/Å² stiffness, and {SOFTEST} to {STIFFEST} are expected"),
        )
    if pairs.sign and not pairs.units_agree:
        return (
            0,
            "",
            (f"do not fit the energies, which change by {abs(pairs.slope):.3g} times their work between neighbours"),
        )
    if pairs.sign:
        told = f"energy differences of {pairs.pairs} pairs of neighbours (correlation {pairs.correlation:.3f}) say"
        return pairs.sign, told, ""
    told = f"{bonds.bonds} bonds that vibrate in {bonds.frames} structures (correlation {bonds.correlation:.2f}) say"
    return bonds.sign, told, ""
