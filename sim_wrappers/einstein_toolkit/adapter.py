"""The Simulator of the Einstein Toolkit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.einstein_toolkit import VERSION, outputs, parfile
from sim_wrappers.einstein_toolkit.locate import content, located
from sim_wrappers.einstein_toolkit.options import complete, read
from sim_wrappers.einstein_toolkit.restarts import next_segment, read_psi4, segments
from sim_wrappers.external.linkage import check_launcher
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest, Simulator
from surrogate.core.errors import ConfigError, SimulationError, nearest
from surrogate.core.files import write_text
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace

NAME = "einstein_toolkit"
_SHELL = ("/bin/sh", "-c", 'cd "$0" && exec "$@"')
_TRIGGERED = re.compile(
    r"[Tt]riggering termination|termination .*walltime|Remaining wall ?time .* terminat", re.IGNORECASE
)


class EinsteinToolkit:
    """Binaries of black holes by numerical relativity (see `Simulator` and `Described`)."""

    name = NAME
    known_errors = (
        KnownError(
            r"(?:NaNChecker|Carpet).*(?:found|contains).*\bNaNs?\b|\bnan\b.* detected",
            FailureKind.UNCONVERGED,
            "The evolution produced numbers that are not finite.",
            remedy_text="Lower the Courant factor or raise the resolution in the parameter file.",
        ),
        KnownError(
            r"Newton (?:solver|iteration) did not converge|TwoPunctures.*(?:did not|failed to) converge",
            FailureKind.UNCONVERGED,
            "The initial data did not converge.",
            remedy_text="Raise TwoPunctures' resolution or its number of iterations in the parameter file.",
        ),
        KnownError(
            r"(?:Parameter|Thorn) '?(?P<what>[\w:]+)'? (?:not found|is not defined|does not exist)",
            FailureKind.EXIT_STATUS,
            "The executable does not know '{what}', which the parameter file names.",
            remedy_text="Build Cactus with that thorn, or correct the parameter file.",
            retryable=False,
        ),
    )

    def found(self) -> str | None:
        """Return None: which executable is needed is said by the options (see `Simulator.found`)."""
        return None

    def version(self, options: Mapping[str, Any]) -> str:
        """Return our version and a hash of the executable's bytes (see `Simulator.version`)."""
        return f"{VERSION}+{content(Path(read(options).command[0]))[:16]}"

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `EinsteinToolkitOptions`, complete (see `Simulator.check_options`)."""
        return complete(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all but places: contents instead (see `Simulator.identity_options`)."""
        settings = read(options)
        deciding = {key: value for key, value in complete(options).items() if key not in ("checkpoint_margin_s", "end")}
        return {
            **deciding,
            "command": [Path(settings.command[0]).name, *settings.command[1:]],
            "parfile": content(Path(settings.parfile)),
        }

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return None: only the campaign knows the inputs (see `Simulator.default_space`)."""
        return None

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return r·h/M and the masses of the horizons (see `Simulator.output_schema`)."""
        return outputs.schema(read(options))

    def named_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parameter file (see `Described.named_files`)."""
        return (read(options).parfile,)

    def locate(self, options: Mapping[str, Any], resolve: Callable[[str], Path]) -> dict[str, Any]:
        """Return the options with absolute paths (see `Described.locate`)."""
        return located(read(options), resolve)

    def check_space(self, options: Mapping[str, Any], space: InputSpace) -> None:
        """Refuse an input or a value that the parameter file has no placeholder for (see `Described.check_space`)."""
        settings = read(options)
        holes = parfile.placeholders(Path(settings.parfile).read_text(encoding="utf-8"))
        for kind, names in (("Input", [column.name for column in space.columns]), ("Value", list(settings.values))):
            idle = [name for name in names if name not in holes]
            if idle:
                raise ConfigError(
                    f"{kind} '{idle[0]}' is used nowhere in {settings.parfile}: the code would not notice it. Write "
                    f"@{idle[0]}@ where it belongs.{nearest(idle[0], holes)}"
                )

    def check_launcher(self, options: Mapping[str, Any], dialect: str, mpiexec: str) -> None:
        """Compare the executable's MPI with the launcher's (see `Described.check_launcher`)."""
        check_launcher(Path(read(options).command[0]), dialect, mpiexec)

    def errors(self, options: Mapping[str, Any]) -> tuple[KnownError, ...]:
        """Return nothing beside `known_errors` (see `Described.errors`)."""
        return ()

    def log_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return nothing: Cactus writes to its output (see `Described.log_files`)."""
        return ()

    def restart_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return earlier output and the checkpoints (see `Described.restart_files`)."""
        return ("output-*/**/*", "checkpoints/**/*")

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the parameter file of the next restart (see `Simulator.prepare`).

        Raises:
            SimulationError: If its script fails.
        """
        options = read(request.options)
        segment = folder / next_segment(folder)
        segment.mkdir()
        (folder / "checkpoints").mkdir(exist_ok=True)
        source = Path(options.parfile)
        stem = source.name.rpartition(".")[0]
        walltime = request.resources.walltime_s
        facts = {
            "SIMULATION_NAME": stem,
            "WALLTIME_HOURS": walltime / 3600.0,
            "WALLTIME_SECONDS": round(walltime),
            "NUM_PROCS": request.resources.ranks,
            "NUM_THREADS": request.resources.cores_per_rank,
        }
        text = parfile.filled(source.read_text(encoding="utf-8"), {**facts, **options.values, **request.inputs})
        if source.suffix == ".rpar":
            write_text(segment / source.name, text, durable=False)
            text = parfile.filled(parfile.rendered_script(segment / source.name), facts)
        text = parfile.with_restarts(text, stem, walltime, options.checkpoint_margin_s)
        write_text(segment / f"{stem}.par", text, durable=False)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return Cactus on the parameter file, in the folder of the restart (see `Simulator.program`)."""
        options = read(request.options)
        stem = Path(options.parfile).name.rpartition(".")[0]
        return Program((*_SHELL, segments(folder)[-1].name, *options.command, f"{stem}.par"))

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Ask for another restart, or read the whole simulation (see `Simulator.parse`).

        Raises:
            SimulationError: If the run is to go on (kind `walltime`), goes nowhere, or lacks something.
        """
        options = read(request.options)
        if options.end == "final_time":
            self._check_end(request, folder, stdout)
        return outputs.read(folder, options)

    def _check_end(self, request: RunRequest, folder: Path, stdout: Path) -> None:
        """Refuse a run that has not reached its final time.

        Raises:
            SimulationError: With the kind `walltime`, which has it go on, when it made progress.
        """
        options = read(request.options)
        current = segments(folder)[-1]
        stem = Path(options.parfile).name.rpartition(".")[0]
        target = parfile.final_time((current / f"{stem}.par").read_text(encoding="utf-8"))
        if target is None:
            return
        times = read_psi4(folder, options.mode, options.radius)[:, 0]
        if times[-1] >= target - 2.0 * float(times[-1] - times[-2]):
            return
        reached = f"The simulation reached {times[-1]:g} of {target:g}"
        if read_psi4_end(folder, request.options) >= float(times[-1]):
            raise SimulationError(
                f"{reached} and made no progress in its last restart. Raise 'resources.walltime', or look at the "
                "output of the code.",
                kind="no_end_marker",
            )
        said = stdout.read_text(encoding="utf-8", errors="replace") if stdout.exists() else ""
        if _TRIGGERED.search(said) is None:
            raise SimulationError(f"{reached} and ended without saying why.", kind="no_end_marker")
        raise SimulationError(
            f"{reached}, wrote a checkpoint and ended before its walltime; it goes on from there.", kind="walltime"
        )


def read_psi4_end(folder: Path, options: Mapping[str, Any]) -> float:
    """Return the last time of all restarts but the latest, −1 when there is only one."""
    settings = read(options)
    ends = []
    for segment in segments(folder)[:-1]:
        try:
            ends.append(float(read_psi4(segment, settings.mode, settings.radius)[-1, 0]))
        except SimulationError:
            continue  # a restart that was lost before it wrote anything
    return max(ends, default=-1.0)


SIMULATOR: Simulator = EinsteinToolkit()
