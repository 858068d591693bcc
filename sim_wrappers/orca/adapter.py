"""The Simulator of ORCA: one molecule a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.molecular.batch import Result
from sim_wrappers.molecular.single_adapter import SingleAdapter, one_line, read_output
from sim_wrappers.options import refuse_unknown, text, whole
from sim_wrappers.orca import VERSION
from sim_wrappers.protocol import KnownError, Program, RunRequest, Simulator
from surrogate.core.elements import symbol_of
from surrogate.core.errors import SimulationError
from surrogate.core.outcome import FailureKind
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR

_NAME = "orca"
_DEFAULTS: dict[str, Any] = {
    "method": "wB97X",
    "basis": "6-31G(d)",
    "keywords": "TightSCF DefGrid3",
    "max_cycle": 125,
    "memory_mb": 2000,
}
_END = "ORCA TERMINATED NORMALLY"
_RESULT = "run.engrad"
_LONGER = 4


class Orca(SingleAdapter):
    """Molecules in free space → energy, forces (see `Simulator`).

    Options: `method`, `basis`, `keywords` (more of the line that begins with '!'), `max_cycle`, `memory_mb` (a core).
    ORCA starts its own ranks: give it cores, not ranks.
    """

    name = _NAME
    programs = ("orca",)
    input_file = "run.inp"
    where_from = "It is to be had from its makers; name its folder on PATH."
    own_version = VERSION
    known_errors = (
        KnownError(
            r"SCF NOT CONVERGED AFTER|The wavefunction IS NOT YET CONVERGED",
            FailureKind.UNCONVERGED,
            "The self-consistent field did not converge.",
            remedy="more_cycles",
            remedy_text="The next attempt iterates four times longer, with ORCA's SlowConv.",
        ),
        KnownError(
            r"UNRECOGNIZED OR DUPLICATED KEYWORD",
            FailureKind.EXIT_STATUS,
            "ORCA does not know a keyword.",
            remedy_text="Correct the options 'method', 'basis' or 'keywords'.",
            retryable=False,
        ),
    )

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options (see `Simulator.check_options`)."""
        refuse_unknown(_NAME, options, _DEFAULTS)
        given = {**_DEFAULTS, **options}
        words = {
            name: one_line(_NAME, name, text(_NAME, name, given[name])) for name in ("method", "basis", "keywords")
        }
        numbers = {name: whole(_NAME, name, given[name], low=1) for name in ("max_cycle", "memory_mb")}
        return {**words, **numbers}

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return those that decide the result (see `Simulator.identity_options`)."""
        return {name: options[name] for name in ("method", "basis", "keywords")}

    def level_of_theory(self, options: Mapping[str, Any]) -> str:
        """Return method and basis; ORCA's d functions are spherical."""
        return f"{options['method']}/{options['basis']} spherical, {options['keywords']}, orca"

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return ORCA's command, which starts its own ranks (see `Simulator.program`)."""
        program = super().program(request, folder)
        return Program(program.argv, mpi=False)

    def input_text(self, structure: Structure, options: Mapping[str, Any], request: RunRequest) -> str:
        """Return the input file."""
        return input_text(structure, options, request.remedies, request.resources.cores_per_rank)

    def read(self, structure: Structure, options: Mapping[str, Any], folder: Path, stdout: Path) -> Result:
        """Read energy and forces."""
        del options
        check_end(read_output(stdout, "ORCA"))
        return read_engrad(read_output(folder / _RESULT, "ORCA"), structure)


def input_text(structure: Structure, options: Mapping[str, Any], remedies: tuple[str, ...], cores: int) -> str:
    """Return the input file of a molecule.

    Raises:
        SimulationError: If it has a cell.
    """
    if structure.periodic:
        raise SimulationError(
            "The structure has a cell, and this adapter computes molecules in free space.", kind="not_physical"
        )
    atoms = [
        f"  {symbol_of(int(number))} {' '.join(f'{value:.14f}' for value in place)}"
        for number, place in zip(structure.species, structure.coordinates.tolist(), strict=True)
    ]
    slow = " SlowConv" if remedies else ""
    lines = [
        f"! {options['method']} {options['basis']} {options['keywords']} EnGrad{slow}",
        f"%maxcore {options['memory_mb']}",
        *(f"%pal nprocs {cores} end" for _ in range(cores > 1)),
        f"%scf MaxIter {int(options['max_cycle']) * _LONGER ** len(remedies)} end",
        f"* xyz {structure.charge} {structure.multiplicity}",
        *atoms,
        "*",
    ]
    return "\n".join(lines) + "\n"


def check_end(output: str) -> None:
    """Refuse an output that is not converged or not finished.

    Raises:
        SimulationError: If so, with its kind.
    """
    if "SCF NOT CONVERGED AFTER" in output or "IS NOT YET CONVERGED" in output:
        raise SimulationError("ORCA's self-consistent field did not converge.", kind="unconverged")
    if _END not in output:
        raise SimulationError(f"ORCA's output lacks the mark of a finished run ('{_END}').", kind="no_end_marker")


def read_engrad(content: str, structure: Structure) -> Result:
    """Return energy and forces from ORCA's file `run.engrad`, which holds the GRADIENT in Ha/bohr.

    Raises:
        SimulationError: If it is not as ORCA writes it, or of other atoms.
    """
    words = [line.strip() for line in content.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    count = len(structure.species)
    try:
        if int(words[0]) != count:
            raise SimulationError(f"{_RESULT} is of {words[0]} atoms; {count} are expected.", kind="wrong_shape")
        energy = float(words[1])
        gradient = np.asarray([float(word) for word in words[2 : 2 + 3 * count]]).reshape(count, 3)
        kinds = [int(line.split()[0]) for line in words[2 + 3 * count : 2 + 4 * count]]
    except (IndexError, ValueError) as error:
        raise SimulationError(f"{_RESULT} is not as ORCA writes it ({error}).", kind="output_unreadable") from error
    if kinds != structure.species.tolist():
        raise SimulationError(f"{_RESULT} is of other atoms: {kinds}.", kind="wrong_inputs")
    return Result(energy, -gradient / BOHR, {})


SIMULATOR: Simulator = Orca()
