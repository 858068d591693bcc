"""Single samples out of columns: their content hash, their point, their point's hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.identity import content_hash, point_hash
from surrogate.core.schema import Ragged, Schema, Values


def _hashable(value: NDArray[Any]) -> NDArray[Any]:
    """Return text as UTF-8 bytes of its own width, so that its hash does not depend on its neighbours'."""
    return np.asarray(np.char.encode(value, "utf-8").tolist()) if value.dtype.kind == "U" else value


def content_hashes(schema: Schema, columns: Mapping[str, Values], samples: int) -> tuple[str, ...]:
    """Return the content hash of each sample: names, dtypes, shapes and bytes of its inputs and outputs.

    Args:
        schema: The columns that count.
        columns: Name → `[N, *shape]` or Ragged of N samples.
        samples: N.
    """
    picked = {column.name: columns[column.name] for column in schema.columns}
    return tuple(
        content_hash({name: _hashable(np.asarray(values[index])) for name, values in picked.items()})
        for index in range(samples)
    )


def points(schema: Schema, columns: Mapping[str, Values], samples: int) -> list[dict[str, Any]]:
    """Return the point of each sample: input name → Python value.

    Args:
        schema: Names the inputs.
        columns: Name → `[N, *shape]` or Ragged of N samples.
        samples: N.
    """
    lists: dict[str, list[Any]] = {}
    for column in schema.inputs:
        values = columns[column.name]
        if isinstance(values, Ragged):
            lists[column.name] = [values[index].tolist() for index in range(samples)]
        else:
            lists[column.name] = values.tolist()
    return [{name: values[index] for name, values in lists.items()} for index in range(samples)]


def point_hashes(schema: Schema, columns: Mapping[str, Values], samples: int) -> tuple[str, ...]:
    """Return the hash of each sample's point (hex, 64 characters)."""
    return tuple(point_hash(point) for point in points(schema, columns, samples))
