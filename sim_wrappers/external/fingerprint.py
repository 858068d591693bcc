"""What makes a program the one that it is: its bytes, its files, what it says of itself."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sim_wrappers.external.locate import INTERPRETERS, PYTHON
from sim_wrappers.external.options import ExternalOptions
from surrogate.core.errors import ConfigError
from surrogate.core.files import sha256_file
from surrogate.core.identity import digest

_SHOWN = 16
_PATIENCE_S = 60


def content(path: Path) -> str:
    """Return the hash of a file's bytes, or of the names and bytes of everything in a folder.

    Raises:
        ConfigError: If it cannot be read.
    """
    try:
        if path.is_dir():
            entries = sorted(entry for entry in path.rglob("*") if entry.is_file())
            return digest([[entry.relative_to(path).as_posix(), content(entry)] for entry in entries])
        status = path.stat()
        return _content(str(path), status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error


@lru_cache(maxsize=1024)
def _content(path: str, size: int, mtime_ns: int, inode: int) -> str:
    del size, mtime_ns, inode  # they tell when the file is another
    return sha256_file(Path(path))


def version(options: ExternalOptions) -> str:
    """Return the version of the program: what it is called, and a hash of its bytes unless that is not wanted.

    Args:
        options: The options, located.

    Raises:
        ConfigError: If the command that tells the version fails.
    """
    program = Path(options.command[0])
    words = [options.version] if options.version else []
    if options.version_command:
        words.append(_asked(options.version_command))
    parts: list[Any] = []
    if options.hash_program and program.is_absolute() and not _is_interpreter(program):
        parts.append(content(program))
    parts += [content(Path(name)) for name in options.version_files]
    parts += [parser for rule in options.outputs.values() if rule.parser for parser in [_parser(rule.parser)]]
    if parts:
        words.append(digest(*parts)[:_SHOWN])
    return " ".join(words) or _word(program)


def _word(program: Path) -> str:
    """Return what a program is called, wherever it lies."""
    return PYTHON if str(program) == sys.executable else program.name


def _is_interpreter(program: Path) -> bool:
    return _word(program) in INTERPRETERS


def _parser(name: str) -> str:
    """Return the hash of a parser's file."""
    source = name.rpartition(":")[0]
    if source.endswith(".py"):
        return content(Path(source))
    spec = find_spec(source)
    return content(Path(spec.origin)) if spec is not None and spec.origin and Path(spec.origin).is_file() else source


@lru_cache(maxsize=8)
def _asked(command: tuple[str, ...]) -> str:
    """Return the first line that a command prints.

    Raises:
        ConfigError: If it fails or prints nothing.
    """
    line = " ".join(command)
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"'version_command' cannot be run ({line}): {error}.") from error
    said = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
    if answer.returncode != 0 or not said:
        told = f"it ended with exit status {answer.returncode}" if answer.returncode else "it printed nothing"
        raise ConfigError(f"'version_command' does not tell the version ({line}): {told}.")
    return said[0].strip()[:200]


def identity(options: ExternalOptions) -> dict[str, Any]:
    """Return what decides results, by the keys of the options: contents instead of places.

    What only tells a good run from a bad one (end marker, errors, bounds) or where a thing lies is no part of it.

    Args:
        options: The options, located.
    """
    outputs = {}
    for name, rule in options.outputs.items():
        told = rule.model_dump(mode="json", exclude={"low", "high", "description", "unit"}, exclude_defaults=True)
        if rule.parser is not None:
            told["parser"] = rule.parser.rpartition(":")[2]
        outputs[name] = told
    return {
        "command": [_word(Path(options.command[0])), *options.command[1:]],
        "stdin": options.stdin,
        "environment": dict(options.environment),
        "files": {entry.name: content(Path(entry.source)) for entry in options.files},
        "template": {entry.target: [content(Path(entry.source)), *entry.delimiters] for entry in options.template},
        "values": dict(options.values),
        "outputs": outputs,
    }
