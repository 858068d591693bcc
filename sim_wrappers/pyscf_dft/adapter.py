"""The Simulator of PySCF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_wrappers.molecular.batch_adapter import BatchAdapter
from sim_wrappers.protocol import Program, RunRequest, Simulator
from sim_wrappers.pyscf_dft import VERSION
from sim_wrappers.pyscf_dft.options import NAME, complete_options, deciding_options, level_of_theory


class Pyscf(BatchAdapter):
    """Molecules in free space → energy, forces (see `Simulator`); its options are those of `complete_options`."""

    name = NAME
    module = "sim_wrappers.pyscf_dft.program"
    package = "pyscf"
    what = "PySCF"
    own_version = VERSION

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options (see `Simulator.check_options`)."""
        return complete_options(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return those that decide the result (see `Simulator.identity_options`)."""
        return deciding_options(options)

    def level_of_theory(self, options: Mapping[str, Any]) -> str:
        """Return functional, basis, kind of d functions and grid."""
        return level_of_theory(options)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the program's command; a user's own configuration of PySCF is not read (see `Simulator.program`)."""
        program = super().program(request, folder)
        own = {"PYSCF_CONFIG_FILE": "/dev/null", "PYSCF_TMPDIR": str(folder)}
        return replace(program, environment={**program.environment, **own})


SIMULATOR: Simulator = Pyscf()
