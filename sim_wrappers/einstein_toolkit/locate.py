"""Executable and parameter file of the options: found before anything runs, and known by their content."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_wrappers.einstein_toolkit.options import EinsteinToolkitOptions
from surrogate.core.errors import ConfigError, nearest
from surrogate.core.files import sha256_file


def located(options: EinsteinToolkitOptions, resolve: Callable[[str], Path]) -> dict[str, Any]:
    """Return the options with absolute paths; JSON-ready.

    Args:
        options: The options.
        resolve: Turns a path of the campaign file into the file that it means.

    Raises:
        ConfigError: If one is missing, or the executable may not be executed.
    """
    record: dict[str, Any] = options.model_dump(mode="json")
    source = resolve(options.parfile)
    if not source.is_file():
        others = [entry.name for entry in source.parent.glob("*par")] if source.parent.is_dir() else []
        raise ConfigError(f"'parfile' names {source}, which does not exist.{nearest(source.name, others)}")
    record["parfile"] = str(source.absolute())
    record["command"][0] = _executable(options.command[0], resolve)
    return record


def _executable(word: str, resolve: Callable[[str], Path]) -> str:
    path = resolve(word)
    if path.is_file():
        if not os.access(path, os.X_OK):
            raise ConfigError(f"'command' names {path}, which may not be executed. Try: chmod +x {path}")
        return str(path.absolute())
    found = shutil.which(word) if os.sep not in word else None
    if found is None:
        raise ConfigError(
            f"'command' names the executable '{word}', which is neither beside the campaign file ({path}) nor on PATH. "
            "Build Cactus (it becomes exe/cactus_NAME), or correct the path."
        )
    return str(Path(found).absolute())


def content(path: Path) -> str:
    """Return the hash of a file's bytes.

    Raises:
        ConfigError: If it cannot be read.
    """
    try:
        return sha256_file(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
