"""What can be asked of a simulator: the InputSpace protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column

Point = dict[str, Any]
"""One point: input name → canonical value (float rounded to 12 significant digits, int, or str)."""


@runtime_checkable
class InputSpace(Protocol):
    """A set of questions that can be put to a simulator, of whatever kind."""

    @property
    def kind(self) -> str:
        """Name of the kind, for example `parameters`."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The input columns that a point of this space fills."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of axes of the unit cube that `from_unit` maps from; 0 when the space is not a box."""
        ...

    def canonicalise(self, point: Mapping[str, Any]) -> Point:
        """Return the point with every input present, of its type and rounded.

        Raises:
            SpaceError: If an input is missing, unknown, or not of its type. Being out of bounds is no error here.
        """
        ...

    def contains(self, point: Mapping[str, Any]) -> bool:
        """Return whether a canonical point is within the bounds."""
        ...

    def from_unit(self, unit: NDArray[np.float64]) -> list[Point]:
        """Map `[N, dimensions]` numbers of [0, 1) to N canonical points."""
        ...

    def to_unit(self, points: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Map N canonical points to `[N, dimensions]` float64; out-of-bounds points leave [0, 1]."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping from which `space_from_json` rebuilds the space."""
        ...


class Sampler(Protocol):
    """Chooses points; a later call continues the earlier sequence."""

    def length(self, space: InputSpace) -> int | None:
        """Return how many points the sequence has in this space, or None when it goes on.

        Raises:
            SpaceError: If this sampler cannot serve this space.
        """
        ...

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1` of the sequence that `seed` fixes.

        Raises:
            SpaceError: If this sampler cannot serve this space, or the sequence ends earlier.
        """
        ...


@runtime_checkable
class NamesGroups(Protocol):
    """A sampler whose points belong to groups that are known before anything is simulated."""

    def groups(self, space: InputSpace, start: int, count: int) -> list[str]:
        """Return the group key of points number `start` … `start + count − 1`; empty text for none."""
        ...
