"""The base of the adapters of codes that are Python packages and run in a program of ours (see `batch`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.molecular.adapter import MolecularAdapter, missing_package, package_version
from sim_wrappers.molecular.asked import asked_structures, run_data
from sim_wrappers.molecular.batch import RESULTS_FILE, read_results, write_case
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest
from surrogate.core.outcome import FailureKind

MORE_CYCLES = "more_cycles"
"""Remedy: more iterations at most, from another start."""

_KNOWN = (
    KnownError(
        r"FAILED \(unconverged\): (?P<what>.*)\.",
        FailureKind.UNCONVERGED,
        "The self-consistent field did not converge. {what}.",
        remedy=MORE_CYCLES,
        remedy_text="The next attempt iterates longer and shifts levels from the start; if that does not help, the "
        "structure is too far from what the method describes.",
    ),
    KnownError(
        r"FAILED \(not_physical\): (?P<what>.*)\.",
        FailureKind.NOT_PHYSICAL,
        "{what}.",
        remedy_text="Correct the structure.",
        retryable=False,
    ),
    KnownError(
        r"FAILED \(\w+\): (?P<what>.*)\.",
        FailureKind.EXIT_STATUS,
        "{what}.",
        remedy_text="Correct the options or the structure.",
        retryable=False,
    ),
)


class BatchAdapter(MolecularAdapter):
    """Base of an adapter; a subclass adds name, options and level of theory.

    Attributes:
        name: Name in the catalogue.
        module: The program, started by `python -m`.
        package: Distribution of the code.
        what: The code, as the subject of a sentence.
        own_version: Version of the adapter's own part in the results.
    """

    name = ""
    module = ""
    package = ""
    what = ""
    own_version = ""
    known_errors = _KNOWN

    def level_of_theory(self, options: Mapping[str, Any]) -> str:
        """Return what decides the energy, in words."""
        raise NotImplementedError

    def found(self) -> str | None:
        """Return None, or how to install the package (see `Simulator.found`)."""
        return missing_package(self.package, self.what)

    def version(self, options: Mapping[str, Any]) -> str:
        """Return the adapter's version and the package's (see `Simulator.version`)."""
        del options
        return f"{self.own_version}+{self.package}.{package_version(self.package)}"

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the program's input file (see `Simulator.prepare`)."""
        write_case(request, folder)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the program's command, its threads pinned (see `Simulator.program`)."""
        del folder
        threads = str(request.resources.cores_per_rank)
        pinned = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        return Program((sys.executable, "-m", self.module), mpi=False, environment=pinned)

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read energies and forces (see `Simulator.parse`)."""
        del stdout
        structures = asked_structures(request.inputs)
        results, before = read_results(folder, structures)
        notes = {
            "code": self.package,
            "code_version": package_version(self.package),
            "computed_by_an_earlier_attempt": before,
            "structures": [result.notes for result in results],
        }
        return run_data(
            structures,
            [result.energy for result in results],
            [result.forces for result in results],
            self.level_of_theory(request.options),
            notes,
        )

    def restart_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the results so far (see `Described.restart_files`)."""
        del options
        return (RESULTS_FILE,)
