"""XYZ and extended XYZ files: structures with what is known of them, read by ASE after the text was looked through.

ASE takes the count line on trust and gives up with a traceback; here every frame is counted first, so that a wrong
count, an unknown symbol or a number that is none is named with its line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import atomic_number, symbol_of
from surrogate.core.errors import DataError
from surrogate.core.files import atomic_path
from surrogate.core.structure import Structure
from surrogate.design.atoms import from_atoms, load

_CHARS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One structure of a file and what the file says of it, in the file's own units.

    Attributes:
        structure: The structure; coordinates as the file has them.
        numbers: Numbers of the whole structure by name, such as `energy`.
        arrays: Numbers of each atom by name, such as `forces` `[n, 3]`.
        facts: What else the comment line says, by name.
    """

    structure: Structure
    numbers: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def read_frames(path: Path, *, charge: int | None = None, multiplicity: int | None = None) -> list[Frame]:
    """Read all structures of an XYZ or extended XYZ file.

    Args:
        path: The file.
        charge: Of every structure; what the file says, or 0, when None.
        multiplicity: Of every structure; what the file says, or the lowest, when None.

    Raises:
        DataError: If the file is missing, empty or malformed; the sentence names the line.
        MissingExtraError: If ASE is not installed.
    """
    load()
    from ase.io import read

    _look_through(path)
    try:
        found = read(path, index=":", format="extxyz")
        frames = [_frame(atoms, charge, multiplicity) for atoms in found]
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # ASE raises whatever a malformed comment line leads to
        raise DataError(f"{path} cannot be read as (extended) XYZ: {type(error).__name__}: {error}.") from error
    return frames


def read_structures(
    paths: Sequence[Path], *, charge: int | None = None, multiplicity: int | None = None
) -> list[Structure]:
    """Read all structures of several files (see `read_frames`)."""
    return [frame.structure for path in paths for frame in read_frames(path, charge=charge, multiplicity=multiplicity)]


def write_frames(
    path: Path,
    structures: Sequence[Structure],
    energies: Sequence[float] | NDArray[np.float64] | None = None,
    forces: Sequence[NDArray[np.float64]] | None = None,
    facts: Sequence[dict[str, Any]] = (),
) -> None:
    """Write structures as extended XYZ, whole or not at all; every comment line says the units.

    ASE reads it; its own writer keeps eight decimals, and here every digit is kept.

    Args:
        path: The file.
        structures: N structures.
        energies: `[N]` Ha.
        forces: N arrays `[n, 3]` Ha/Å, minus the gradient.
        facts: More for each comment line: plain numbers, truth values and text.
    """
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as target:
        for place, structure in enumerate(structures):
            energy = None if energies is None else float(energies[place])
            force = None if forces is None else np.asarray(forces[place], dtype=np.float64)
            more = facts[place] if facts else {}
            target.write(f"{len(structure.species)}\n{_comment(structure, energy, force is not None, more)}\n")
            rows = structure.coordinates if force is None else np.hstack([structure.coordinates, force])
            for number, row in zip(structure.species.tolist(), rows.tolist(), strict=True):
                target.write(f"{symbol_of(number):<2} {' '.join(map(repr, row))}\n")


def _comment(structure: Structure, energy: float | None, forced: bool, facts: Mapping[str, Any]) -> str:
    """Return the comment line of a frame."""
    properties = "species:S:1:pos:R:3" + (":forces:R:3" if forced else "")
    words: dict[str, Any] = {}
    if structure.periodic:
        words |= {"Lattice": " ".join(map(repr, structure.cell.ravel().tolist())), "pbc": "T T T"}
    words |= {"Properties": properties, "molecule": structure.name, "charge": structure.charge}
    words |= {"multiplicity": structure.multiplicity, "length_unit": "angstrom"}
    if energy is not None:
        words |= {"energy": energy, "energy_unit": "hartree"}
    if forced:
        words |= {"force_unit": "hartree/angstrom", "forces_are": "minus the gradient"}
    return " ".join(f"{name}={_word(value)}" for name, value in {**words, **facts}.items())


def _word(value: Any) -> str:
    """Return a value of a comment line; text in quotation marks unless it is one plain word."""
    if isinstance(value, bool | np.bool_):
        return "T" if value else "F"
    if isinstance(value, int | float | np.integer | np.floating):
        return repr(value.item() if isinstance(value, np.generic) else value)
    text = " ".join(str(value).split())
    if text and all(letter.isalnum() or letter in "_:.+-" for letter in text) and _number(text) is None:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _frame(atoms: Any, charge: int | None, multiplicity: int | None) -> Frame:
    structure = from_atoms(atoms, charge=charge, multiplicity=multiplicity)
    numbers: dict[str, float] = {}
    facts: dict[str, Any] = {}
    arrays: dict[str, NDArray[np.float64]] = {}
    # ASE moves what it knows (energy, forces, …) to a calculator.
    results = dict(atoms.calc.results) if atoms.calc is not None else {}
    for name, value in {**atoms.info, **atoms.arrays, **results}.items():
        array = np.asarray(value)
        if name in ("numbers", "positions"):
            continue
        if array.ndim == 0 and array.dtype.kind in "iuf" and not isinstance(value, bool):
            numbers[name] = float(array)
        elif array.ndim and array.dtype.kind in "iuf" and len(array) == len(structure.species):
            arrays[name] = array.astype(np.float64)
        else:
            facts[name] = value
    return Frame(structure, numbers, arrays, facts)


def _look_through(path: Path) -> None:
    """Count the lines of every frame and look at symbols and numbers.

    Raises:
        DataError: At the first line that is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise DataError(f"The file {path} does not exist.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as text: {error}.") from error
    place = 0
    frames = 0
    while place < len(lines) and any(line.strip() for line in lines[place:]):
        place = _look_at_frame(path, lines, place)
        frames += 1
    if not frames:
        raise DataError(f"{path} is empty; an XYZ file begins with the number of atoms.")


def _look_at_frame(path: Path, lines: Sequence[str], first: int) -> int:
    """Look at the frame that begins at a line; return where the next one begins."""
    text = lines[first].strip()
    if not text.isdecimal() or int(text) < 1:
        raise DataError(
            f"{path}, line {first + 1}: the number of atoms of a structure is expected, and {_shown(text)} was found; "
            "the structure before it has more atoms than its first line says, or a line is missing."
            if first
            else f"{path}, line 1: the number of atoms is expected, and {_shown(text)} was found."
        )
    count = int(text)
    atoms = lines[first + 2 : first + 2 + count]
    comment = lines[first + 1] if first + 1 < len(lines) else ""
    plain = "Properties=" not in comment and "properties=" not in comment
    for offset, line in enumerate(atoms):
        number, words = first + 3 + offset, line.split()
        if len(words) < 4 or (plain and len(words) == 1):
            raise DataError(
                f"{path}, line {number}: atom {offset + 1} of {count} is expected (symbol x y z), and "
                f"{_shown(line.strip())} was found; the first line of this structure (line {first + 1}) counts wrong, "
                "or the file is cut off."
            )
        _look_at_atom(f"{path}, line {number}", words, plain=plain)
    if len(atoms) < count:
        raise DataError(
            f"{path}, line {first + 1} promises {count} atoms, and the file ends after {len(atoms)}: the count is "
            "wrong, or the file is cut off."
        )
    return first + 2 + count


def _look_at_atom(where: str, words: Sequence[str], *, plain: bool) -> None:
    if plain:
        if not words[0].isdecimal():
            try:
                atomic_number(words[0])
            except DataError as error:
                raise DataError(f"{where}: {error}") from error
        for word in words[1:4]:
            if _number(word) is None:
                raise DataError(f"{where}: a coordinate is expected, and {_shown(word)} was found.")
    for word in words:
        value = _number(word)
        if value is not None and not math.isfinite(value):
            raise DataError(f"{where}: {word} is no finite number.")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= _CHARS else text[: _CHARS - 1] + "…") if text else "an empty line"
