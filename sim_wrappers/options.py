"""Checks of a simulator's options, each of which ends in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from surrogate.core.errors import ConfigError, nearest
from surrogate.core.tables import ModelType, validated_table


def complete_options(model: type[ModelType], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options, complete with the defaults of their model; JSON-ready.

    Raises:
        ConfigError: One sentence that names the key.
    """
    return validated_table(model, options, "").model_dump(mode="json")


def read_options(model: type[ModelType], options: Mapping[str, Any]) -> ModelType:
    """Return complete options as their model; the last few are remembered."""
    found = _read(model, json.dumps(options))
    assert isinstance(found, model)  # noqa: S101 - tells the type checker what the cache holds
    return found


@lru_cache(maxsize=16)
def _read(model: type[BaseModel], text: str) -> BaseModel:
    return model.model_validate_json(text)


def refuse_unknown(simulator: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse options that the simulator does not have.

    Raises:
        ConfigError: With the nearest known name.
    """
    names = tuple(known)
    for name in options:
        if name not in names:
            has = f"it has {', '.join(names)}" if names else "it has none"
            raise ConfigError(f"{simulator} has no option '{name}'; {has}.{nearest(str(name), names)}")


def whole(simulator: str, name: str, value: Any, *, low: int) -> int:
    """Return a whole number.

    Raises:
        ConfigError: If it is none, or below `low`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ConfigError(
            f"Option '{name}' of {simulator} must be a whole number of at least {low}; {value!r} was given."
        )
    return value


def real(simulator: str, name: str, value: Any) -> float:
    """Return a finite number.

    Raises:
        ConfigError: If it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError(f"Option '{name}' of {simulator} must be a finite number; {value!r} was given.")
    return float(value)


def truth(simulator: str, name: str, value: Any) -> bool:
    """Return a truth value.

    Raises:
        ConfigError: If it is none.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"Option '{name}' of {simulator} must be true or false; {value!r} was given.")
    return value


def text(simulator: str, name: str, value: Any) -> str:
    """Return a text.

    Raises:
        ConfigError: If it is none.
    """
    if not isinstance(value, str):
        raise ConfigError(f"Option '{name}' of {simulator} must be text; {value!r} was given.")
    return value


def one_of(simulator: str, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of the choices.

    Raises:
        ConfigError: If it is none of them, with the nearest.
    """
    if value not in choices:
        raise ConfigError(
            f"Option '{name}' of {simulator} must be one of {', '.join(choices)}; {value!r} was given."
            f"{nearest(str(value), choices)}"
        )
    return str(value)
