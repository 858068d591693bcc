"""The Simulator of CP2K: Quickstep, one structure a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.cp2k import VERSION
from sim_wrappers.molecular.batch import Result
from sim_wrappers.molecular.single_adapter import SingleAdapter, one_line, read_output
from sim_wrappers.options import real, refuse_unknown, text, whole
from sim_wrappers.protocol import KnownError, RunRequest, Simulator
from surrogate.core.elements import symbol_of
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.outcome import FailureKind
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR

_NAME = "cp2k"
_DEFAULTS: dict[str, Any] = {
    "xc": "PBE",
    "basis": "DZVP-MOLOPT-SR-GTH",
    "potential": "GTH-PBE",
    "basis_file": "BASIS_MOLOPT",
    "potential_file": "GTH_POTENTIALS",
    "cutoff": 400.0,
    "eps_scf": 1e-7,
    "max_scf": 50,
    "vacuum": 6.0,
}
_NUMBER = r"([-+]?\d+\.\d+(?:[EeDd][-+]?\d+)?)"
_ENERGY = re.compile(rf"^ ENERGY\| Total FORCE_EVAL \( QS \) energy \[(?:a\.u\.|hartree)\]:?\s+{_NUMBER}", re.MULTILINE)
_OLD_ROW = re.compile(rf"^\s+(\d+)\s+\d+\s+([A-Z][a-z]?)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s*$", re.MULTILINE)
_NEW_ROW = re.compile(rf"^ FORCES\|\s+(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}(?:\s+\S+)?\s*$", re.MULTILINE)
_END = "PROGRAM ENDED AT"
_LONGER = 4


class Cp2k(SingleAdapter):
    """Structures of atoms → energy, forces (see `Simulator`); molecules get a box with vacuum around them.

    Options: `xc`, `basis`, `potential`, their files, `cutoff` (Ry), `eps_scf`, `max_scf`, `vacuum` (Å on each side).
    """

    name = _NAME
    programs = ("cp2k.psmp", "cp2k.popt", "cp2k.ssmp", "cp2k")
    input_file = "run.inp"
    where_from = "It is to be had from its makers; name its folder on PATH."
    own_version = VERSION
    known_errors = (
        KnownError(
            r"SCF run NOT converged|SCF run converged.*NOT",
            FailureKind.UNCONVERGED,
            "The self-consistent field did not converge.",
            remedy="more_cycles",
            remedy_text="The next attempt iterates four times longer.",
        ),
    )

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options (see `Simulator.check_options`)."""
        refuse_unknown(_NAME, options, _DEFAULTS)
        given = {**_DEFAULTS, **options}
        complete: dict[str, Any] = {
            name: one_line(_NAME, name, text(_NAME, name, given[name]))
            for name in ("xc", "basis", "potential", "basis_file", "potential_file")
        }
        for name in ("cutoff", "eps_scf", "vacuum"):
            complete[name] = real(_NAME, name, given[name])
            if complete[name] <= 0:
                raise ConfigError(f"Option '{name}' of {_NAME} must be above 0; {complete[name]:g} was given.")
        return {**complete, "max_scf": whole(_NAME, "max_scf", given["max_scf"], low=1)}

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all but the number of iterations (see `Simulator.identity_options`)."""
        return {name: value for name, value in options.items() if name != "max_scf"}

    def level_of_theory(self, options: Mapping[str, Any]) -> str:
        """Return functional, basis, potential and cutoff."""
        return f"{options['xc']}/{options['basis']} {options['potential']}, cutoff {options['cutoff']:g} Ry, cp2k"

    def command(self, program: str) -> tuple[str, ...]:
        """Return program and arguments."""
        return (program, "-i", self.input_file)

    def input_text(self, structure: Structure, options: Mapping[str, Any], request: RunRequest) -> str:
        """Return the input file."""
        return input_text(structure, options, int(options["max_scf"]) * _LONGER ** len(request.remedies))

    def read(self, structure: Structure, options: Mapping[str, Any], folder: Path, stdout: Path) -> Result:
        """Read energy and forces from the program's output."""
        del options, folder
        return read_text(read_output(stdout, "CP2K"), structure)


def input_text(structure: Structure, options: Mapping[str, Any], cycles: int) -> str:
    """Return the input file of a structure.

    Args:
        structure: The structure; without a cell it stands in the middle of a box, whose walls are `vacuum` away.
        options: Complete options.
        cycles: Iterations at most.
    """
    places, cell = structure.coordinates, structure.cell
    if not structure.periodic:
        low = places.min(axis=0) - float(options["vacuum"])
        cell = np.diag(places.max(axis=0) + float(options["vacuum"]) - low)
        places = places - low
    symbols = [symbol_of(int(number)) for number in structure.species]
    poisson = [] if structure.periodic else ["&POISSON", "PERIODIC NONE", "PSOLVER ANALYTIC", "&END POISSON"]
    periodic = "XYZ" if structure.periodic else "NONE"
    rows = [f"{name} {' '.join(f'{value:.12f}' for value in row)}" for name, row in zip("ABC", cell, strict=True)]
    atoms = [
        f"{symbol} {' '.join(f'{value:.12f}' for value in place)}"
        for symbol, place in zip(symbols, places.tolist(), strict=True)
    ]
    kinds = [
        line
        for symbol in dict.fromkeys(symbols)
        for line in (
            f"&KIND {symbol}",
            f"BASIS_SET {options['basis']}",
            f"POTENTIAL {options['potential']}",
            "&END KIND",
        )
    ]
    spin = ["UKS"] if structure.multiplicity > 1 else []
    lines = [
        *("&GLOBAL", "PROJECT run", "RUN_TYPE ENERGY_FORCE", "PRINT_LEVEL MEDIUM", "&END GLOBAL"),
        *("&FORCE_EVAL", "METHOD Quickstep", "&PRINT", "&FORCES ON", "&END FORCES", "&END PRINT", "&DFT"),
        *(f"BASIS_SET_FILE_NAME {options['basis_file']}", f"POTENTIAL_FILE_NAME {options['potential_file']}"),
        *(f"CHARGE {structure.charge}", f"MULTIPLICITY {structure.multiplicity}", *spin),
        *("&MGRID", f"CUTOFF {options['cutoff']:g}", "&END MGRID", "&QS", "EPS_DEFAULT 1.0E-12", "&END QS", *poisson),
        *("&SCF", f"EPS_SCF {options['eps_scf']:.1e}", f"MAX_SCF {cycles}", "&END SCF"),
        *("&XC", f"&XC_FUNCTIONAL {options['xc']}", "&END XC_FUNCTIONAL", "&END XC", "&END DFT"),
        *("&SUBSYS", "&CELL", *rows, f"PERIODIC {periodic}", "&END CELL"),
        *("&COORD", *atoms, "&END COORD", *kinds, "&END SUBSYS", "&END FORCE_EVAL"),
    ]
    return "\n".join(lines) + "\n"


def read_text(output: str, structure: Structure) -> Result:
    """Return energy and forces from CP2K's output; its table holds forces in Ha/bohr, minus the gradient.

    Raises:
        SimulationError: If the output is unfinished, not converged, or lacks energy or forces.
    """
    if "SCF run NOT converged" in output:
        raise SimulationError("CP2K's self-consistent field did not converge.", kind="unconverged")
    if _END not in output:
        raise SimulationError(f"CP2K's output lacks the mark of a finished run ('{_END}').", kind="no_end_marker")
    energies = _ENERGY.findall(output)
    if not energies:
        raise SimulationError("CP2K's output has no total energy.", kind="output_missing")
    rows = [found.groups()[-3:] for found in (_NEW_ROW if "FORCES|" in output else _OLD_ROW).finditer(output)]
    if len(rows) != len(structure.species):
        raise SimulationError(
            f"CP2K's output has forces on {len(rows)} atoms; {len(structure.species)} are expected.", kind="wrong_shape"
        )
    forces = np.asarray([[float(word.replace("D", "E")) for word in row] for row in rows]) / BOHR
    return Result(float(energies[-1]), forces, {})


SIMULATOR: Simulator = Cp2k()
