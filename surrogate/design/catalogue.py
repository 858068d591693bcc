"""The kinds of input space by name, so that a record on disk finds its class again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from surrogate.core.errors import SpaceError, nearest
from surrogate.design.parameters import ParameterSpace
from surrogate.design.space import InputSpace
from surrogate.design.structures import StructureSet

KINDS: dict[str, Callable[[Mapping[str, Any]], InputSpace]] = {
    "parameters": ParameterSpace.from_json,
    "structures": StructureSet.from_json,
}
"""Kind → what rebuilds a space of it from its JSON. A new kind is one more entry."""


def space_from_json(record: Mapping[str, Any]) -> InputSpace:
    """Rebuild an input space of any kind from `InputSpace.to_json`.

    Raises:
        SpaceError: If the kind is missing or unknown, or the rest is not of that kind.
    """
    kind = record.get("kind")
    if not isinstance(kind, str):
        raise SpaceError("This is no record of an input space: it has no 'kind'.")
    if kind not in KINDS:
        raise SpaceError(
            f"The kind of input space '{kind}' is not known; there are {', '.join(KINDS)}.{nearest(kind, KINDS)}"
        )
    return KINDS[kind](record)
