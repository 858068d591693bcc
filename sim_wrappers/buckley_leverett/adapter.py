"""The Simulator of Buckley–Leverett displacement."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.buckley_leverett import VERSION, inputs, outputs
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest, Simulator
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace


class BuckleyLeverett:
    """Two-phase displacement in one dimension: M, Swc, Sor → S(pvi, x) (see `Simulator`)."""

    name = "buckley_leverett"
    known_errors = (
        KnownError(
            r"UNSTABLE: ",
            FailureKind.UNCONVERGED,
            "The scheme produced saturations outside its own bounds.",
            remedy="narrower_steps",
            remedy_text="The next attempt halves the Courant number; lower the option 'cfl' to make that permanent.",
        ),
        KnownError(
            r"leave fewer than \d+ cells to a rank",
            FailureKind.EXIT_STATUS,
            "There are more ranks than the cells can occupy.",
            remedy_text="Ask for fewer ranks or set the option 'cells' higher.",
            retryable=False,
        ),
    )

    def found(self) -> str | None:
        """Return None: the solver is part of this program (see `Simulator.found`)."""
        return None

    def version(self, options: Mapping[str, Any]) -> str:
        """Return the version of the numerics (see `Simulator.version`)."""
        return VERSION

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return `cells`, `scheme`, `limiter` and `cfl` (see `Simulator.check_options`)."""
        return inputs.complete_options(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options: each decides the result (see `Simulator.identity_options`)."""
        return dict(options)

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return M ∈ [0.5, 20] (log10), Swc and Sor ∈ [0, 0.3] (see `Simulator.default_space`)."""
        return inputs.space()

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return S, `[10, 256]` (see `Simulator.output_schema`)."""
        return outputs.schema()

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the solver's input file (see `Simulator.prepare`)."""
        inputs.write_input(request.inputs, request.options, request.remedies, folder)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the solver's command (see `Simulator.program`)."""
        module = "sim_wrappers.buckley_leverett.solver"
        return Program((sys.executable, "-m", "mpi4py", "-m", module, inputs.INPUT_FILE, outputs.OUTPUT_FILE))

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read S and the balance (see `Simulator.parse`)."""
        return outputs.read(request.inputs, folder)


SIMULATOR: Simulator = BuckleyLeverett()
