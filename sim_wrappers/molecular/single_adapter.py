"""The base of the adapters of programs that are started once for each structure."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.molecular.adapter import MolecularAdapter
from sim_wrappers.molecular.asked import asked_structures, run_data
from sim_wrappers.molecular.batch import Result
from sim_wrappers.protocol import Program, RunData, RunRequest
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.files import write_text
from surrogate.core.structure import Structure


class SingleAdapter(MolecularAdapter):
    """Base of an adapter; a subclass adds input file, parser and options.

    Attributes:
        name: Name in the catalogue.
        programs: Names that the program goes by, the first that is found is taken.
        input_file: Name of the input file.
        where_from: How to get the program, as a sentence.
        own_version: Version of our own part in the results.
    """

    name = ""
    programs: tuple[str, ...] = ()
    input_file = ""
    where_from = ""
    own_version = ""

    def input_text(self, structure: Structure, options: Mapping[str, Any], request: RunRequest) -> str:
        """Return the input file of a structure."""
        raise NotImplementedError

    def read(self, structure: Structure, options: Mapping[str, Any], folder: Path, stdout: Path) -> Result:
        """Return what the program says of the structure."""
        raise NotImplementedError

    def level_of_theory(self, options: Mapping[str, Any]) -> str:
        """Return what decides the energy, in words."""
        raise NotImplementedError

    def command(self, program: str) -> tuple[str, ...]:
        """Return program and arguments."""
        return (program, self.input_file)

    def _program(self) -> str | None:
        return next((path for name in self.programs if (path := shutil.which(name)) is not None), None)

    def found(self) -> str | None:
        """Return None, or how to get the program (see `Simulator.found`)."""
        if self._program() is not None:
            return None
        names = " or ".join(f"'{name}'" for name in self.programs)
        return f"{self.name} is not installed here: there is no program {names}. {self.where_from}"

    def version(self, options: Mapping[str, Any]) -> str:
        """Return the version of our own part; the program's own is in each run's notes (see `Simulator.version`)."""
        del options
        return self.own_version

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the program's input file (see `Simulator.prepare`)."""
        text = self.input_text(self._only(request), request.options, request)
        write_text(folder / self.input_file, text, durable=False)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the program's command (see `Simulator.program`)."""
        del folder
        return Program(self.command(self._program() or self.programs[0]), mpi=request.resources.ranks > 1)

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read energy and forces (see `Simulator.parse`)."""
        structure = self._only(request)
        result = self.read(structure, request.options, folder, stdout)
        level = self.level_of_theory(request.options)
        return run_data([structure], [result.energy], [result.forces], level, {"code": self.name, **result.notes})

    def _only(self, request: RunRequest) -> Structure:
        structures = asked_structures(request.inputs)
        if len(structures) != 1:
            raise SimulationError(
                f"{self.name} computes one structure a run, and {len(structures)} were asked for. Set "
                "'design.samples_per_run' to 1.",
                kind="exit_status",
            )
        return structures[0]


def one_line(simulator: str, name: str, value: str) -> str:
    """Return an option that goes into an input file, its spaces reduced.

    Raises:
        ConfigError: If it is empty, or has more than one line or a quotation mark in it.
    """
    words = " ".join(value.split())
    if not words or "\n" in value or re.search(r"[\"'#%&$\\]", words) or not words.isprintable():
        raise ConfigError(f"Option '{name}' of {simulator} must be a name on one line; {value!r} was given.")
    return words


def read_output(path: Path, what: str) -> str:
    """Return a file that a program left.

    Raises:
        SimulationError: If it is missing.
    """
    if not path.is_file():
        raise SimulationError(f"{what} left no {path.name}.", kind="output_missing")
    return path.read_text(encoding="utf-8", errors="replace")
