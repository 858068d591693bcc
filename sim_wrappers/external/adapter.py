"""The Simulator of a program that the campaign file describes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.diagnose import find_known
from sim_wrappers.external import fingerprint, linkage, locate
from sim_wrappers.external.filling import check_space, filled_command, run_values, write_templates
from sim_wrappers.external.options import EndMarker, complete, read
from sim_wrappers.external.rules.read import find_file, read_output
from sim_wrappers.external.schema import output_schema
from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest, Simulator
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.identity import run_id
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.design.space import InputSpace

_SHELL = ("/bin/sh", "-c", 'exec "$@" <"$0"')


class External:
    """Any executable (see `Simulator` and `Described`)."""

    name = "external"
    known_errors: tuple[KnownError, ...] = ()

    def found(self) -> str | None:
        """Return None: which program is needed is said by the options (see `Simulator.found`)."""
        return None

    def version(self, options: Mapping[str, Any]) -> str:
        """Return what the program says of itself and a hash of its bytes (see `Simulator.version`)."""
        return fingerprint.version(read(options))

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `ExternalOptions`, complete (see `Simulator.check_options`)."""
        return complete(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return command, values, rules and the contents of files (see `Simulator.identity_options`)."""
        return fingerprint.identity(read(options))

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return None: only the campaign knows the inputs (see `Simulator.default_space`)."""
        return None

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return the outputs and coordinates that the options declare (see `Simulator.output_schema`)."""
        return output_schema(read(options))

    def named_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return templates, files, parsers and axes that are files (see `Described.named_files`)."""
        return tuple(dict.fromkeys(locate.named_files(read(options))))

    def locate(self, options: Mapping[str, Any], resolve: Callable[[str], Path]) -> dict[str, Any]:
        """Return the options with absolute paths (see `Described.locate`)."""
        return locate.located(read(options), resolve)

    def check_space(self, options: Mapping[str, Any], space: InputSpace) -> None:
        """Hold the placeholders against the inputs, both ways (see `Described.check_space`)."""
        check_space(read(options), space)

    def check_launcher(self, options: Mapping[str, Any], dialect: str, mpiexec: str) -> None:
        """Compare the program's MPI with the launcher's (see `Described.check_launcher`)."""
        settings = read(options)
        program = Path(settings.command[0])
        if not program.is_absolute():  # one of the run's own files: its source is what is copied there
            sources = {entry.name: entry.source for entry in settings.files}
            program = Path(sources.get(settings.command[0].removeprefix("./"), program))
        if settings.mpi and program.is_absolute():
            linkage.check_launcher(program, dialect, mpiexec)

    def errors(self, options: Mapping[str, Any]) -> tuple[KnownError, ...]:
        """Return the failures of the options, in their order (see `Described.errors`)."""
        return tuple(rule.known() for rule in read(options).error)

    def log_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return `logs` (see `Described.log_files`)."""
        return read(options).logs

    def restart_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return `restart` (see `Described.restart_files`)."""
        return read(options).restart

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Copy or link the files and write the templates (see `Simulator.prepare`).

        Raises:
            SimulationError: If the program or one of its files is no longer what the campaign was planned with.
        """
        options = read(request.options)
        try:
            version, identity = self.version(request.options), self.identity_options(request.options)
        except ConfigError as error:
            raise SimulationError(str(error), kind="launcher") from error
        if run_id(self.name, version, identity, request.inputs) != request.run_id:
            raise SimulationError(
                f"The program {options.command[0]}, or one of its files, was changed after the campaign was planned. "
                "Bring back what it was planned with and resume, or begin a campaign of the changed program.",
                kind="launcher",
            )
        resumed = any(any(folder.glob(pattern)) for pattern in options.restart)
        for entry in options.files:
            _place(Path(entry.source), folder / entry.name, link=entry.link)
        write_templates(options, run_values(options, request, resumed=resumed), folder)

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return the command, placeholders filled (see `Simulator.program`)."""
        options = read(request.options)
        resumed = any(any(folder.glob(pattern)) for pattern in options.restart)
        argv, environment = filled_command(options, run_values(options, request, resumed=resumed))
        if options.stdin is not None:
            argv = (*_SHELL, options.stdin, *argv)
        return Program(argv, mpi=options.mpi, environment=environment)

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Look for failures, files and the end marker, then read the outputs (see `Simulator.parse`)."""
        options = read(request.options)
        said = [stdout, *(folder / name for name in options.logs)]
        text = "\n".join(_text(path) for path in said if path.is_file())
        known = find_known(text, self.errors(request.options))
        if known is not None:
            raise SimulationError(known.message, kind=known.kind.value)
        for name in options.must_exist:
            find_file(folder, name, stdout)
        if options.end_marker is not None:
            _check_end(options.end_marker, folder, stdout)
        outputs: dict[str, Values] = {}
        for column in output_schema(options).columns:
            values = read_output(options.outputs[column.name], column, folder, stdout)
            outputs[column.name] = Ragged.from_list([values]) if column.ragged else values[np.newaxis]
        return RunData(outputs, notes={"program": options.command[0]})


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _place(source: Path, target: Path, *, link: bool) -> None:
    """Copy a file or a folder to where a run expects it, or link to it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        target.symlink_to(source)
    elif source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def _check_end(marker: EndMarker, folder: Path, stdout: Path) -> None:
    """Refuse a run that did not come to its end.

    Raises:
        SimulationError: If the marker is missing.
    """
    text = _text(find_file(folder, marker.file, stdout))
    where = "the program's output" if marker.file == "stdout" else marker.file
    if marker.text is not None and marker.text not in text:
        raise SimulationError(f"The end marker {marker.text!r} is missing in {where}.", kind="no_end_marker")
    if marker.pattern is not None and re.search(marker.pattern, text, re.MULTILINE) is None:
        raise SimulationError(
            f"The end marker, pattern '{marker.pattern}', matches nothing in {where}.", kind="no_end_marker"
        )


SIMULATOR: Simulator = External()
