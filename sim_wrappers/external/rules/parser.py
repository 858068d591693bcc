"""A function of the user's own that reads an output."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import ConfigError, SimulationError, nearest

Parser = Callable[[Path], Any]


def load_parser(name: str) -> Parser:
    """Return the function that `file.py:function` or `module:function` names.

    Raises:
        ConfigError: If there is none, or its file cannot be imported.
    """
    source, _, function = name.rpartition(":")
    path = Path(source)
    stamp = path.stat().st_mtime_ns if path.suffix == ".py" and path.is_file() else 0
    try:
        module = _module(source, stamp)
    except Exception as error:  # a user's file may raise anything
        raise ConfigError(f"The parser '{source}' cannot be imported: {type(error).__name__}: {error}.") from error
    found = getattr(module, function, None)
    if not callable(found):
        known = [word for word in vars(module) if callable(getattr(module, word)) and not word.startswith("_")]
        raise ConfigError(f"The parser '{source}' has no function '{function}'.{nearest(function, known)}")
    return found  # type: ignore[no-any-return]  # whatever it returns is checked when it is called


@lru_cache(maxsize=32)
def _module(source: str, stamp: int) -> ModuleType:
    """Return a module; one that is a file is executed without leaving compiled code beside it."""
    del stamp
    if not source.endswith(".py"):
        return importlib.import_module(source)
    module = ModuleType(Path(source).stem)
    module.__file__ = source
    code = compile(Path(source).read_text(encoding="utf-8"), source, "exec")
    exec(code, module.__dict__)  # noqa: S102 - the user's own code, which the user named
    return module


def read_by_parser(folder: Path, name: str) -> NDArray[np.float64]:
    """Let a parser read an output.

    Args:
        folder: Folder of the finished run.
        name: The parser.

    Returns:
        Any shape, float64.

    Raises:
        SimulationError: If it fails, or returns what are no numbers.
    """
    told = f"The parser '{Path(name).name}'"
    try:
        values = load_parser(name)(folder)
    except SimulationError:
        raise
    except Exception as error:  # a user's function may raise anything
        raise SimulationError(f"{told} failed: {type(error).__name__}: {error}.", kind="output_unreadable") from error
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "biuf":
            raise ValueError(f"its result is {type(values).__name__} of {found.dtype}")  # noqa: TRY301
        return np.asarray(found, dtype=np.float64)
    except ValueError as error:
        raise SimulationError(f"{told} did not return numbers: {error}.", kind="output_unreadable") from error
