"""The Simulator of compact binaries by the effective-one-body method."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.compact_binary import VERSION, inputs, outputs
from sim_wrappers.compact_binary.waveforms import library_version, missing
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest, Simulator
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace


class CompactBinary:
    """Masses and aligned spins → h₊(t), h×(t) by EOB, not by numerical relativity (see `Simulator`)."""

    name = inputs.NAME
    takes_many = True
    known_errors = (
        KnownError(
            r"WAVEFORM REFUSED: ",
            FailureKind.NOT_PHYSICAL,
            "The waveform model refuses these masses and spins, or cannot resolve their ringdown.",
            remedy_text="Narrow the space of inputs, or raise the option 'sample_rate'.",
            retryable=False,
        ),
        KnownError(
            r"The simulator 'compact_binary' needs packages that are not installed",
            FailureKind.LAUNCHER,
            "lalsimulation is not installed where the run was executed.",
            remedy_text="Install it there with: pip install 'surrogate-hpc[waveforms]'",
            retryable=False,
        ),
    )

    def found(self) -> str | None:
        """Return None when lalsimulation is installed, else how to install it (see `Simulator.found`)."""
        return missing()

    def version(self, options: Mapping[str, Any]) -> str:
        """Return our version and lalsuite's (see `Simulator.version`)."""
        return f"{VERSION}+lalsuite.{library_version()}"

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the complete options (see `Simulator.check_options`)."""
        return inputs.complete_options(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options: each decides the result (see `Simulator.identity_options`)."""
        return dict(options)

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return both masses, and both spins where they are allowed (see `Simulator.default_space`)."""
        return inputs.space(options)

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return h₊, h×, peak_time and duration (see `Simulator.output_schema`)."""
        return outputs.schema(options)

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the program's input file (see `Simulator.prepare`)."""
        inputs.write_input(request.inputs, request.options, folder)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the program's command (see `Simulator.program`)."""
        module = "sim_wrappers.compact_binary.program"
        return Program((sys.executable, "-m", "mpi4py", "-m", module, inputs.INPUT_FILE, outputs.OUTPUT_FILE))

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read the waveforms (see `Simulator.parse`)."""
        return outputs.read(request.inputs, request.options, folder)


SIMULATOR: Simulator = CompactBinary()
