"""`[simulator.options]` of the simulator `external`, as one strict model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from sim_wrappers.external.error_rules import ErrorRule, Value
from sim_wrappers.external.output_rules import CoordinateRule, OutputRule
from sim_wrappers.external.parts import OUTPUT, Part, Pattern, RunFile, Source, Text, Word
from sim_wrappers.options import complete_options, read_options
from surrogate.core.errors import nearest

_VARIABLE = re.compile(r"[A-Za-z_]\w*")


class FileEntry(Part):
    """A file or folder that every run needs as it is."""

    source: Source = Field(description="The file or folder, beside the campaign file.")
    target: RunFile | None = Field(default=None, description="Its name in the run's folder; its own when left out.")
    link: bool = Field(
        default=False, description="Link to it instead of copying it: for large data that no run changes."
    )

    @property
    def name(self) -> str:
        """Its name in the run's folder."""
        return self.target or self.source.rstrip("/").rpartition("/")[2]


class TemplateEntry(Part):
    """An input file that is written anew for every run."""

    source: Source = Field(description="The file with placeholders such as {{diffusivity}} or {{dt:.6e}}.")
    target: RunFile = Field(description="Name of the file that is made of it in the run's folder.")
    delimiters: tuple[Text, Text] = Field(
        default=("{{", "}}"), description="What surrounds a placeholder; for files in which {{ }} means something."
    )


class EndMarker(Part):
    """What shows that the program came to its end."""

    text: Text | None = Field(default=None, description="Text that must appear.")
    pattern: Pattern | None = Field(default=None, description="Regular expression that must match.")
    file: RunFile = Field(default=OUTPUT, description="Where: a file in the run's folder, or 'stdout'.")

    @model_validator(mode="after")
    def _check(self) -> EndMarker:
        if (self.text is None) == (self.pattern is None):
            raise ValueError("an end marker is either 'text' or 'pattern'")
        return self


def _entry(value: Any) -> Any:
    return {"source": value} if isinstance(value, str) else value


def _marker(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class ExternalOptions(Part):
    """How a program is run, and what it leaves."""

    command: tuple[Word, ...] = Field(
        min_length=1,
        description="Program and arguments. The program is a file beside the campaign, one of the run's own files, or "
        "found on PATH; 'python' is the Python of this environment. Placeholders such as {{name}} are filled.",
    )
    mpi: bool = Field(
        default=False, description="Whether the program speaks MPI and is started by the site's launcher."
    )
    stdin: RunFile | None = Field(default=None, description="File in the run's folder that the program reads as input.")
    environment: dict[str, Word] = Field(default={}, description="Environment variables; placeholders are filled.")
    files: tuple[Annotated[FileEntry, BeforeValidator(_entry)], ...] = Field(
        default=(), description="Files and folders that every run needs as they are; copied into its folder."
    )
    template: tuple[TemplateEntry, ...] = Field(default=(), description="Input files with placeholders.")
    values: dict[str, Value] = Field(
        default={}, description="Numbers and words that fill placeholders and are the same in all runs, such as a step."
    )
    outputs: dict[str, OutputRule] = Field(min_length=1, description="What is learned, by name.")
    coordinates: dict[str, CoordinateRule] = Field(default={}, description="Axes that outputs lie on, by name.")
    must_exist: tuple[RunFile, ...] = Field(
        default=(), description="Further files that a finished run leaves; those of outputs must exist anyway."
    )
    end_marker: Annotated[EndMarker, BeforeValidator(_marker)] | None = Field(
        default=None, description="Text that appears in the output of every run that came to its end, or a table."
    )
    logs: tuple[RunFile, ...] = Field(default=(), description="Files searched for errors beside the program's output.")
    error: tuple[ErrorRule, ...] = Field(default=(), description="Failures known by their text; the first that fits.")
    restart: tuple[RunFile, ...] = Field(
        default=(),
        description="Files, or patterns, that are put back when a run was lost or its time was up, so that it goes on.",
    )
    version: str = Field(default="", description="Version of the program, where it has one.")
    version_command: tuple[Word, ...] = Field(
        default=(),
        description="Command that prints the version in its first line; its program is found as that of 'command'.",
    )
    version_files: tuple[Source, ...] = Field(
        default=(), description="Further files whose content is part of the version, such as libraries."
    )
    hash_program: bool = Field(
        default=True,
        description="Whether the program's bytes are part of its version, so that a rebuilt program makes new runs. "
        "When false, 'version' must say what changes.",
    )

    @model_validator(mode="after")
    def _check(self) -> ExternalOptions:
        targets = [*(entry.name for entry in self.files), *(entry.target for entry in self.template)]
        twice = [name for name in targets if targets.count(name) > 1]
        if twice:
            raise ValueError(f"two entries of 'files' and 'template' make the same file '{twice[0]}'")
        stale = [name for name, rule in self.outputs.items() if rule.file in targets]
        if stale:
            raise ValueError(
                f"output '{stale[0]}' is read from a file that 'files' or 'template' puts there, so that a run which "
                "writes nothing would be taken for a good one; give that file another 'target'"
            )
        if not self.hash_program and not (self.version or self.version_command):
            raise ValueError("'hash_program = false' needs 'version' or 'version_command', or no edit would be noticed")
        if not self.command[0]:
            raise ValueError("the first word of 'command' is empty; it names the program")
        for name in self.environment:
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"'{name}' cannot be the name of an environment variable")
        self._check_axes()
        self._check_remedies()
        return self

    def _check_axes(self) -> None:
        """Refuse an output whose shape is not known, and a coordinate that no output has."""
        used = {dim for output in self.outputs.values() for dim in output.dims}
        idle = [name for name in self.coordinates if name not in used]
        if idle:
            raise ValueError(
                f"no output lies on the coordinate '{idle[0]}'; name it in the 'dims' of one, or take it out."
                f"{nearest(idle[0], used)}"
            )
        for name, output in self.outputs.items():
            unknown = [dim for dim in output.dims if dim not in self.coordinates]
            if output.shape is None and unknown:
                raise ValueError(
                    f"the length of output '{name}' along '{unknown[0]}' is not known: give 'shape', or make "
                    f"'{unknown[0]}' one of the coordinates.{nearest(unknown[0], self.coordinates)}"
                )

    def _check_remedies(self) -> None:
        """Refuse a remedy for something that is not a value, or of another type."""
        for number, rule in enumerate(self.error, 1):
            for name in (*rule.multiply, *rule.set):
                if name not in self.values:
                    raise ValueError(
                        f"the remedy of error {number} changes '{name}', which is none of 'values'; remedies change "
                        f"how a result is reached, never the inputs.{nearest(name, self.values)}"
                    )
            words = [name for name in rule.multiply if isinstance(self.values[name], bool | str)]
            if words:
                raise ValueError(f"the remedy of error {number} multiplies '{words[0]}', which is no number")


def complete(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options, complete with defaults; see `complete_options`."""
    return complete_options(ExternalOptions, options)


def read(options: Mapping[str, Any]) -> ExternalOptions:
    """Return complete options as their model."""
    return read_options(ExternalOptions, options)
