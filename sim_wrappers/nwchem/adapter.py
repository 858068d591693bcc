"""The Simulator of NWChem."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sim_wrappers.molecular.adapter import MolecularAdapter
from sim_wrappers.molecular.asked import asked_structures, run_data
from sim_wrappers.nwchem import VERSION, inputs, outputs
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest, Simulator
from surrogate.core.errors import SimulationError
from surrogate.core.files import write_text
from surrogate.core.outcome import FailureKind
from surrogate.core.process import scrubbed_environment

_PATIENCE_S = 60
_BANNER = re.compile(r"\(NWChem\)\s+(\S+)")


class Nwchem(MolecularAdapter):
    """Molecules in free space → energy, forces, over MPI (see `Simulator`); options as in `inputs.complete_options`.

    A run that was stopped by its walltime goes on: structures that are done stay done, and the field of the one that
    was not begins from the orbitals that were saved.
    """

    name = inputs.NAME
    known_errors = (
        KnownError(
            r"Calculation failed to converge",
            FailureKind.UNCONVERGED,
            "The self-consistent field did not converge.",
            remedy=inputs.MORE_CYCLES,
            remedy_text="The next attempt iterates four times longer and shifts levels.",
        ),
        KnownError(
            r"bas_tag_lib: failed to (?:find|match)|basis_library.*not (?:found|exist)|no such basis",
            FailureKind.EXIT_STATUS,
            "NWChem's library has no such basis set for one of the elements.",
            remedy_text="Correct the option 'basis'.",
            retryable=False,
        ),
        KnownError(
            r"xc_inp: unknown|dft_input: unknown|unknown (?:functional|xc)",
            FailureKind.EXIT_STATUS,
            "NWChem does not know the functional.",
            remedy_text="Correct the option 'xc'.",
            retryable=False,
        ),
    )

    def found(self) -> str | None:
        """Return None, or how to install NWChem (see `Simulator.found`)."""
        if shutil.which("nwchem") is not None:
            return None
        return "NWChem is not installed here: there is no program 'nwchem'. On Debian: apt-get install nwchem"

    def version(self, options: Mapping[str, Any]) -> str:
        """Return the adapter's version and NWChem's (see `Simulator.version`)."""
        del options
        program = shutil.which("nwchem")
        return f"{VERSION}+nwchem.{_version_of(program) if program else 'none'}"

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options (see `Simulator.check_options`)."""
        return inputs.complete_options(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return those that decide the result (see `Simulator.identity_options`)."""
        return inputs.deciding_options(options)

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the input file of what earlier attempts have left to compute (see `Simulator.prepare`)."""
        structures = asked_structures(request.inputs)
        if any(structure.periodic for structure in structures):
            raise SimulationError(
                "A structure has a cell, and this adapter computes molecules in free space.", kind="not_physical"
            )
        earlier = outputs.result_files(folder)
        done = sum(len(outputs.computed(path.read_text(encoding="utf-8", errors="replace"))) for path in earlier)
        done = min(done, len(structures) - 1)  # the last one is computed again rather than nothing
        orbitals = inputs.orbitals_file(done + 1)
        (folder / inputs.SCRATCH).mkdir(exist_ok=True)
        text = inputs.input_text(
            structures[done:],
            request.options,
            remedies=request.remedies,
            first=done + 1,
            result_file=f"ecce-{len(earlier) + 1}.out",
            orbitals=orbitals if (folder / orbitals).is_file() else None,
        )
        write_text(folder / inputs.INPUT_FILE, text, durable=False)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return NWChem's command; a single rank needs no launcher (see `Simulator.program`)."""
        del folder
        environment = {}
        if os.getuid() == 0:  # Open MPI refuses root unless it is told twice
            environment = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
        program = shutil.which("nwchem") or "nwchem"
        return Program((program, inputs.INPUT_FILE), mpi=request.resources.ranks > 1, environment=environment)

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read energies and forces (see `Simulator.parse`)."""
        structures = asked_structures(request.inputs)
        outputs.check_ranks(stdout.read_text(encoding="utf-8", errors="replace"), request.resources.ranks)
        results, before = outputs.read_all(folder, structures)
        notes = {
            "code": "nwchem",
            "code_version": self.version(request.options),
            "ranks": request.resources.ranks,
            "computed_by_an_earlier_attempt": before,
        }
        level = inputs.level_of_theory(request.options)
        return run_data(
            structures, [entry.energy for entry in results], [entry.forces for entry in results], level, notes
        )

    def restart_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the results so far and the orbitals (see `Described.restart_files`)."""
        del options
        return (outputs.RESULT_FILES, "*.movecs")


@lru_cache(maxsize=4)
def _version_of(program: str) -> str:
    """Return the version that NWChem prints, or `unknown`."""
    with tempfile.TemporaryDirectory(prefix="surrogate-nwchem-") as folder:
        Path(folder, "v.nw").write_text('start v\ntitle "version"\n', encoding="utf-8")
        try:
            answer = subprocess.run(
                [program, "v.nw"],
                cwd=folder,
                env={**scrubbed_environment(os.environ), "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"
    banner = _BANNER.search(answer.stdout)
    return banner[1] if banner else "unknown"


SIMULATOR: Simulator = Nwchem()
