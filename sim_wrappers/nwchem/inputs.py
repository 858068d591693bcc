"""What NWChem is asked: options, and the input file of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim_wrappers.options import one_of, real, refuse_unknown, text, truth, whole
from surrogate.core.elements import symbol_of
from surrogate.core.errors import ConfigError
from surrogate.core.structure import Structure

NAME = "nwchem"
INPUT_FILE = "run.nw"
SCRATCH = "scratch"
MORE_CYCLES = "more_cycles"
LEVEL_SHIFT = 0.3
"""Ha by which unoccupied levels are lifted where a field did not converge."""

GRIDS = ("xcoarse", "coarse", "medium", "fine", "xfine", "huge")
FUNCTIONALS = {
    "pbe": "xpbe96 cpbe96",
    "pbe0": "pbe0",
    "b3lyp": "b3lyp",
    "blyp": "becke88 lyp",
    "bp86": "becke88 perdew86",
    "lda": "slater vwn_5",
    "hf": "hfexch",
}
"""Functional → the words of NWChem's input. Others are given in NWChem's own words."""

_BASES = {"6-31g(d)": "6-31g*", "6-31g(d,p)": "6-31g**"}
_DEFAULTS: dict[str, Any] = {
    "xc": "pbe",
    "basis": "6-31g*",
    "cart": True,
    "grid": "fine",
    "conv_tol": 1e-8,
    "max_cycle": 50,
    "memory_mb": 800,
}
_DECIDING = ("xc", "basis", "cart", "grid", "conv_tol")
_LONGER = 4


def complete_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with defaults filled in.

    Args:
        options: Any of `xc` (one of `FUNCTIONALS`, or NWChem's own words), `basis` (of NWChem's library), `cart`
            (Cartesian d functions and higher ones), `grid`, `conv_tol` (Ha), `max_cycle`, `memory_mb` (of each rank).

    Raises:
        ConfigError: If one is unknown or of another type.
    """
    refuse_unknown(NAME, options, _DEFAULTS)
    given = {**_DEFAULTS, **options}
    words = {}
    for name in ("xc", "basis"):
        words[name] = " ".join(text(NAME, name, given[name]).lower().split())
        if not words[name] or not words[name].isprintable() or any(letter in words[name] for letter in "\"';#"):
            raise ConfigError(f"Option '{name}' of {NAME} must be a name on one line; {given[name]!r} was given.")
    tolerance = real(NAME, "conv_tol", given["conv_tol"])
    if not 1e-12 <= tolerance <= 1e-4:
        raise ConfigError(f"Option 'conv_tol' of {NAME} must be between 1e-12 and 1e-4 Ha; {tolerance:g} was given.")
    return {
        "xc": words["xc"],
        "basis": _BASES.get(words["basis"], words["basis"]),
        "cart": truth(NAME, "cart", given["cart"]),
        "grid": one_of(NAME, "grid", given["grid"], GRIDS),
        "conv_tol": tolerance,
        "max_cycle": whole(NAME, "max_cycle", given["max_cycle"], low=1),
        "memory_mb": whole(NAME, "memory_mb", given["memory_mb"], low=100),
    }


def deciding_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide the result: neither the number of iterations nor the memory does."""
    return {name: options[name] for name in _DECIDING}


def level_of_theory(options: Mapping[str, Any]) -> str:
    """Return the level in words, such as `pbe/6-31g* cartesian, grid fine, nwchem`."""
    functions = "cartesian" if options["cart"] else "spherical"
    return f"{options['xc']}/{options['basis']} {functions}, grid {options['grid']}, nwchem"


def input_text(
    structures: Sequence[Structure],
    options: Mapping[str, Any],
    *,
    remedies: Sequence[str] = (),
    first: int = 1,
    result_file: str = "ecce-1.out",
    orbitals: str | None = None,
) -> str:
    """Return the input file of the structures that are left to compute.

    Args:
        structures: The structures, at least one.
        options: Complete options.
        remedies: Each `more_cycles` gives four times the iterations, and shifts levels.
        first: Number of the first structure in the run.
        result_file: Name of the file that gets the results with all digits.
        orbitals: File with orbitals of the first structure from which its field goes on; None begins anew.
    """
    lines = [
        "start run",
        f"memory total {options['memory_mb']} mb",
        f"scratch_dir ./{SCRATCH}",
        "permanent_dir .",
        f"ecce_print {result_file}",
    ]
    for number, structure in enumerate(structures, first):
        lines += _task(structure, number, options, remedies, orbitals if number == first else None)
    return "\n".join(lines) + "\n"


def _task(
    structure: Structure, number: int, options: Mapping[str, Any], remedies: Sequence[str], orbitals: str | None
) -> list[str]:
    """Return the lines of one structure."""
    atoms = [
        f"  {symbol_of(int(kind))} {' '.join(f'{value:.14f}' for value in place)}"
        for kind, place in zip(structure.species, structure.coordinates.tolist(), strict=True)
    ]
    cycles = int(options["max_cycle"]) * _LONGER ** len(remedies)
    shift = [f"  convergence lshift {LEVEL_SHIFT}"] if remedies else []
    start = f"input {orbitals} " if orbitals else "input atomic "
    tolerance = float(options["conv_tol"])
    return [
        f'title "structure {number}"',
        f"charge {structure.charge}",
        "geometry units angstrom noautosym nocenter noautoz noprint",
        *atoms,
        "end",
        f'basis "ao basis" {"cartesian" if options["cart"] else "spherical"} noprint',
        f'  * library "{options["basis"]}"',
        "end",
        "dft",
        f"  xc {FUNCTIONALS.get(options['xc'], options['xc'])}",
        f"  mult {structure.multiplicity}",
        f"  iterations {cycles}",
        f"  convergence energy {tolerance:.1e} density {tolerance * 100:.1e} gradient {tolerance * 1000:.1e}",
        *shift,
        f"  grid {options['grid']}",
        "  tolerances tight",
        f"  vectors {start}output {orbitals_file(number)}",
        "end",
        "task dft gradient",
    ]


def orbitals_file(number: int) -> str:
    """Return the name of the file with the orbitals of a structure."""
    return f"structure-{number}.movecs"
