"""Identity of inputs, runs and samples: the same question always has the same name.

Numbers are rounded to 12 significant digits *before* they are simulated, stored and hashed, so that a value that
went through text, another platform's libm or a second sampler hashes alike.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

SIGNIFICANT_DIGITS = 12
_PLAIN = frozenset({type(None), bool, int, str})
# Made once: json.dumps would make one for each of the hundred thousand points of a large design.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_float(value: float) -> float:
    """Return `value` rounded to 12 significant digits; −0.0 becomes 0.0.

    Args:
        value: A finite number.

    Raises:
        ValueError: If the number is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"A finite number is needed to name a point, and {value} was found.")
    return float(f"{value:.{SIGNIFICANT_DIGITS - 1}e}") + 0.0


def canonical(value: Any) -> Any:
    """Return a JSON-ready form of `value` in which equal questions are equal.

    Args:
        value: None, bool, int, float, str, NumPy scalar or array, or a mapping or sequence of such.

    Raises:
        TypeError: If a value has no canonical form.
        ValueError: If a number is not finite.
    """
    if type(value) in _PLAIN or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return canonical_float(value)
    if isinstance(value, np.generic):
        return canonical(value.item())
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    raise TypeError(f"A value of type {type(value).__name__} has no canonical form.")


def canonical_json(value: Any) -> str:
    """Return the canonical form of `value` as compact JSON with sorted keys."""
    return _ENCODER.encode(canonical(value))


def digest(*parts: Any) -> str:
    """Return the SHA-256 (hex, 64 characters) of the canonical JSON of `parts`."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def run_id(simulator: str, simulator_version: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Return the identity of a run (hex, 32 characters).

    Site, folder, time and resources are no part of it.

    Args:
        simulator: Name of the simulator.
        simulator_version: Version of the simulation code.
        options: What else decides the result.
        inputs: The point, already canonical.
    """
    return run_namer(simulator, simulator_version, options)(inputs)


def run_namer(simulator: str, simulator_version: str, options: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], str]:
    """Return what names the runs of one simulator with the same options: `run_id` for many points.

    Args:
        simulator: Name of the simulator.
        simulator_version: Version of the simulation code.
        options: What else decides the result.
    """
    # The same text that `digest` would hash, its first part written once.
    head = canonical_json(("run", simulator, simulator_version, options))[:-1]
    return lambda inputs: hashlib.sha256(f"{head},{canonical_json(inputs)}]".encode()).hexdigest()[:32]


def sample_id(run: str, index: int) -> str:
    """Return the identity of the sample at position `index` of a run (hex, 32 characters)."""
    return digest("sample", run, index)[:32]


def point_hash(inputs: Mapping[str, Any]) -> str:
    """Return the identity of a point (hex, 64 characters), whatever simulator is asked.

    Args:
        inputs: The point, already canonical.
    """
    return hashlib.sha256(f'["point",{canonical_json(inputs)}]'.encode()).hexdigest()  # digest("point", inputs)


def split_position(salt: str, group: str | None, point: str) -> float:
    """Return the number in [0, 1) that places a point, from its hash; see `split_key`.

    Args:
        salt: The campaign's salt.
        group: Group key, or None or an empty text when every point is a group of its own.
        point: The point's `point_hash`; used when there is no group.
    """
    kind, name = ("group", group) if group else ("point", point)
    # digest("split", salt, kind, name), its first part written once for all points
    key = hashlib.sha256(f"{_split_head(salt, kind)},{_ENCODER.encode(name)}]".encode()).hexdigest()
    return int(key[:13], 16) / 16**13


@lru_cache(maxsize=32)
def _split_head(salt: str, kind: str) -> str:
    return canonical_json(("split", salt, kind))[:-1]


def split_key(salt: str, group: str | None, inputs: Mapping[str, Any]) -> float:
    """Return the number in [0, 1) that places a point in train, tune or holdout.

    It depends on the campaign's salt and on the group key (or else the inputs) only: neither a new simulator version
    nor more data moves a point across the border of the holdout.

    Args:
        salt: The campaign's salt.
        group: Group key, or None or an empty text when every point is a group of its own.
        inputs: The point, already canonical; used when there is no group.
    """
    return split_position(salt, group, "" if group else point_hash(inputs))


def content_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 (hex, 64 characters) of named arrays: names, dtypes, shapes and little-endian bytes.

    Args:
        arrays: Arrays of a numeric, boolean or fixed-width bytes dtype, any shape.
    """
    state = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        state.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        state.update(array.tobytes())
    return state.hexdigest()
