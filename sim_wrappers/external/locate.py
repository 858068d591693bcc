"""Paths of the options made absolute, and what they name looked at before anything runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sim_wrappers.external.options import ExternalOptions
from sim_wrappers.external.rules.parser import load_parser
from surrogate.core.errors import ConfigError, nearest

Resolve = Callable[[str], Path]
PYTHON = "python"
INTERPRETERS = frozenset(
    (
        "awk", "bash", "dash", "gawk", "julia", "ksh", "mawk", "node", "octave", "perl", PYTHON, "python3", "ruby",
        "Rscript", "sh", "tclsh", "zsh",
    )
)  # fmt: skip
"""Programs that are not the simulation code themselves: what they execute is one of the run's own files."""


def named_files(options: ExternalOptions) -> Iterator[str]:
    """Yield the files and folders, as the options write them, of which a campaign keeps a copy.

    The program is not among them: it may need its neighbourhood, so that it is run where it is, and its bytes are part
    of its version. Neither are linked files: they are linked because they are large.
    """
    yield from (entry.source for entry in options.template)
    yield from (entry.source for entry in options.files if not entry.link)
    yield from options.version_files
    yield from (rule.file for rule in options.coordinates.values() if rule.file is not None)
    yield from (source for source, _ in _parsers(options))


def _parsers(options: ExternalOptions) -> Iterator[tuple[str, str]]:
    """Yield (file, function) of the parsers that are files."""
    for rule in options.outputs.values():
        source, _, function = (rule.parser or "").rpartition(":")
        if source.endswith(".py"):
            yield source, function


def located(options: ExternalOptions, resolve: Resolve) -> dict[str, Any]:
    """Return the options with absolute paths; JSON-ready.

    Args:
        options: The options.
        resolve: Turns a path of the campaign file into the file that it means.

    Raises:
        ConfigError: If something is missing, unreadable, or not of its kind.
    """
    record: dict[str, Any] = options.model_dump(mode="json")
    for number, file in enumerate(options.files):
        source = _existing(file.source, resolve, f"'files[{number + 1}]'")
        record["files"][number] |= {"source": str(source), "target": file.name}
    for number, template in enumerate(options.template):
        record["template"][number]["source"] = str(_file(template.source, resolve, f"'template[{number + 1}].source'"))
    for number, name in enumerate(options.version_files):
        record["version_files"][number] = str(_existing(name, resolve, f"'version_files[{number + 1}]'"))
    for name, axis in options.coordinates.items():
        if axis.file is not None:
            record["coordinates"][name]["file"] = str(_file(axis.file, resolve, f"'coordinates.{name}.file'"))
    for name, rule in options.outputs.items():
        if rule.parser is not None:
            place, _, function = rule.parser.rpartition(":")
            if place.endswith(".py"):
                place = str(_file(place, resolve, f"'outputs.{name}.parser'"))
            record["outputs"][name]["parser"] = f"{place}:{function}"
            load_parser(f"{place}:{function}")
    record["command"][0] = _program(options, resolve)
    if options.version_command:
        record["version_command"][0] = _found(options.version_command[0], resolve, "version_command")
    _refuse_strays(options, resolve)
    return record


def _existing(name: str, resolve: Resolve, key: str) -> Path:
    path = resolve(name)
    if not _is_there(path):
        others = [entry.name for entry in path.parent.glob("*")] if path.parent.is_dir() else []
        raise ConfigError(f"{key} names {path}, which does not exist.{nearest(path.name, others)}")
    return path.absolute()


def _file(name: str, resolve: Resolve, key: str) -> Path:
    path = _existing(name, resolve, key)
    if path.is_dir():
        raise ConfigError(f"{key} names {path}, which is a folder; a file is needed.")
    return path


def _is_there(path: Path) -> bool:
    """Return whether something is there; a name that is too long for the file system is not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def own_files(options: ExternalOptions) -> set[str]:
    """Return the names of the files that every run finds in its folder."""
    return {entry.name for entry in options.files} | {entry.target for entry in options.template}


def _program(options: ExternalOptions, resolve: Resolve) -> str:
    """Return the program: absolute, or relative when it is one of the run's own files.

    Raises:
        ConfigError: If there is none, or it may not be executed.
    """
    word = options.command[0]
    if os.path.normpath(word) in own_files(options):
        return f"./{os.path.normpath(word)}"
    return _found(word, resolve, "command")


def _found(word: str, resolve: Resolve, key: str) -> str:
    """Return the absolute path of a program: beside the campaign file, else on PATH.

    Raises:
        ConfigError: If there is none, or it may not be executed.
    """
    if word == PYTHON:
        return sys.executable
    path = resolve(word)
    there = _is_there(path) and path.is_file()
    if not there and os.sep not in word:
        found = shutil.which(word)
        if found is None:
            raise ConfigError(
                f"'{key}' names the program '{word}', which is neither beside the campaign file ({path}) nor on "
                f"PATH. {_build_hint(path)}"
            )
        return str(Path(found).absolute())
    if not there:
        raise ConfigError(f"'{key}' names the program {path}, which does not exist. {_build_hint(path)}")
    if not os.access(path, os.X_OK):
        raise ConfigError(
            f"'{key}' names {path}, which may not be executed. Make it a program with: chmod +x {path} (or start it "
            "by its interpreter, as in [\"sh\", …], and name it in 'files')."
        )
    return str(path.absolute())


def _build_hint(path: Path) -> str:
    for folder in (path.parent, path.parent.parent):
        if (folder / "Makefile").is_file():
            return f"There is a Makefile; build it with: make -C {folder}"
    return "Build it, load the module that brings it, or correct its path."


def _refuse_strays(options: ExternalOptions, resolve: Resolve) -> None:
    """Refuse an argument that is a file beside the campaign, which a run in its own folder would not find.

    Raises:
        ConfigError: If there is one.
    """
    own = own_files(options)
    for word in options.command[1:]:
        stray = not word.startswith(("-", "/")) and os.path.normpath(word) not in own
        if stray and not any(word.startswith(f"{name}/") for name in own) and _is_there(resolve(word)):
            raise ConfigError(
                f"'{word}' in 'command' lies beside the campaign file, and every run has a folder of its own. Name it "
                "in 'files', which copies it there (or as a 'template', if it has placeholders)."
            )
