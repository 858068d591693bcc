"""The Simulator `scripted`: its options, and what becomes of them.

Only `length`, `ragged` and `samples` decide results and enter the run id. The others say how a run behaves on its way:

    mode      one mode for all runs, `ok` by default
    modes     mode → share of the runs, chosen by a hash of the run id
    where     list of {mode, input, low, high}: runs whose input lies in [low, high]; these come first
    attempts  how many first attempts fail in the modes flaky, lost and disk
    seconds   how long a run sleeps
    ledger    file outside the working directory that gets the line `RUN_ID ATTEMPT start|end` from every execution
    mpi       whether the program starts ranks
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.options import one_of, real, refuse_unknown, text, truth, whole
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest, Simulator
from sim_wrappers.scripted import VERSION
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.files import write_json
from surrogate.core.identity import digest
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, Schema
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.space import InputSpace

MODES = (
    "ok", "fail", "flaky", "lost", "disk", "crash", "killed", "hang", "stubborn", "nan", "bounds", "shape", "truncate",
    "missing", "unmarked", "unconverged",
)  # fmt: skip
INPUT_FILE, OUTPUT_FILE = "input.json", "output.json"
_NAME = "scripted"
_DEFAULTS: dict[str, Any] = {
    "length": 16, "ragged": False, "samples": 1, "mode": "ok", "modes": {}, "where": [], "attempts": 1,
    "seconds": 0.0, "ledger": "", "mpi": False,
}  # fmt: skip
_DECIDING = ("length", "ragged", "samples")


class Scripted:
    """A fake that computes smooth functions, or fails as it is told (see `Simulator`)."""

    name = _NAME
    known_errors = (
        KnownError(
            r"SCRIPTED: the step is too large",
            FailureKind.UNCONVERGED,
            "The solver's step was too large.",
            remedy="smaller_steps",
            remedy_text="The next attempt takes smaller steps.",
        ),
        KnownError(
            r"SCRIPTED: not converged after (?P<count>\d+) iterations",
            FailureKind.UNCONVERGED,
            "The solver did not converge in {count} iterations.",
            remedy="more_iterations",
            remedy_text="The next attempt iterates longer.",
        ),
    )

    def found(self) -> str | None:
        """Return None: the program is part of this one (see `Simulator.found`)."""
        return None

    def version(self, options: Mapping[str, Any]) -> str:
        """Return the version of the formulas (see `Simulator.version`)."""
        return VERSION

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options listed in this module's docstring (see `Simulator.check_options`)."""
        refuse_unknown(_NAME, options, _DEFAULTS)
        given = {**_DEFAULTS, **options}
        return {
            "length": whole(_NAME, "length", given["length"], low=2),
            "ragged": truth(_NAME, "ragged", given["ragged"]),
            "samples": whole(_NAME, "samples", given["samples"], low=1),
            "mode": one_of(_NAME, "mode", given["mode"], MODES),
            "modes": _shares(given["modes"]),
            "where": [_range(entry) for entry in given["where"]],
            "attempts": whole(_NAME, "attempts", given["attempts"], low=0),
            "seconds": real(_NAME, "seconds", given["seconds"]),
            "ledger": text(_NAME, "ledger", given["ledger"]),
            "mpi": truth(_NAME, "mpi", given["mpi"]),
        }

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return `length`, `ragged` and `samples` (see `Simulator.identity_options`)."""
        return {name: options[name] for name in _DECIDING}

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return a ∈ [0, 1] and b ∈ [0.1, 10] (log10) (see `Simulator.default_space`)."""
        return ParameterSpace((Parameter("a", 0.0, 1.0), Parameter("b", 0.1, 10.0, scale="log10")))

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return wave `[length]`, level, and when `ragged` the trace (see `Simulator.output_schema`)."""
        length = int(options["length"])
        columns = [
            Column("wave", "output", shape=(length,), dims=("k",), low=-1.0, high=1.0, description="a cosine"),
            Column("level", "output", low=-1.0, high=1.0, description="a number"),
        ]
        if options["ragged"]:
            columns.append(
                Column("trace", "output", shape=(RAGGED,), low=-1.0, high=1.0, description="the wave's first values")
            )
        return Schema(tuple(columns), (Coordinate("k", "1", tuple(float(k) for k in range(length))),))

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the program's input file (see `Simulator.prepare`)."""
        options = request.options
        kept = ("length", "ragged", "samples", "attempts", "seconds", "ledger", "mpi")
        case = {name: options[name] for name in kept} | {
            "run_id": request.run_id,
            "attempt": request.attempt,
            "remedies": list(request.remedies),
            "inputs": request.inputs,
            "mode": mode_of(request),
        }
        write_json(folder / INPUT_FILE, case, durable=False)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the program's command (see `Simulator.program`)."""
        module = ("-m", "sim_wrappers.scripted.program", INPUT_FILE, OUTPUT_FILE)
        if request.options["mpi"]:
            return Program((sys.executable, "-m", "mpi4py", *module))
        return Program((sys.executable, *module), mpi=False)

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read the result (see `Simulator.parse`)."""
        path = folder / OUTPUT_FILE
        if not path.exists():
            raise SimulationError(f"The program ended and left no {OUTPUT_FILE}.", kind="output_missing")
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise SimulationError(f"{OUTPUT_FILE} is cut off ({error}).", kind="output_unreadable") from error
        if not result["end"]:
            raise SimulationError(f"{OUTPUT_FILE} lacks the mark of a finished run.", kind="no_end_marker")
        if not result["converged"]:
            raise SimulationError("The solver says that it did not converge.", kind="unconverged")
        outputs: dict[str, NDArray[np.float64] | Ragged] = {
            "wave": np.asarray(result["wave"], dtype=np.float64),
            "level": np.asarray(result["level"], dtype=np.float64),
        }
        if request.options["ragged"]:
            outputs["trace"] = Ragged.from_list([np.asarray(trace, dtype=np.float64) for trace in result["trace"]])
        return RunData(outputs, samples=request.options["samples"], notes={"code_version": VERSION})


def mode_of(request: RunRequest) -> str:
    """Return how a run behaves: by its inputs, else by its id, else as all do."""
    options = request.options
    for entry in options["where"]:
        if entry["low"] <= float(request.inputs[entry["input"]]) <= entry["high"]:
            return str(entry["mode"])
    place = int(digest("mode", request.run_id)[:13], 16) / 16**13
    for mode, share in options["modes"].items():
        if place < share:
            return str(mode)
        place -= share
    return str(options["mode"])


def _shares(modes: Any) -> dict[str, float]:
    """Return mode → share in the order of the names.

    Raises:
        ConfigError: If a mode is unknown, or the shares are not of [0, 1].
    """
    if not isinstance(modes, Mapping):
        raise ConfigError(f"Option 'modes' of {_NAME} must be a table of mode = share; {modes!r} was given.")
    shares = {
        one_of(_NAME, "modes", mode, MODES): real(_NAME, f"modes.{mode}", share)
        for mode, share in sorted(modes.items())
    }
    if min(shares.values(), default=0.0) < 0.0 or sum(shares.values()) > 1.0 + 1e-12:
        raise ConfigError(f"The shares of option 'modes' of {_NAME} must not be negative and add up to at most 1.")
    return shares


def _range(entry: Any) -> dict[str, Any]:
    """Return one entry of `where`.

    Raises:
        ConfigError: If it lacks a part.
    """
    if not isinstance(entry, Mapping) or set(entry) != {"mode", "input", "low", "high"}:
        raise ConfigError(
            f"Each entry of option 'where' of {_NAME} has mode, input, low and high; {entry!r} was given."
        )
    return {
        "mode": one_of(_NAME, "where", entry["mode"], MODES),
        "input": text(_NAME, "where", entry["input"]),
        "low": real(_NAME, "where", entry["low"]),
        "high": real(_NAME, "where", entry["high"]),
    }


SIMULATOR: Simulator = Scripted()
