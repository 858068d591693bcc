"""A full grid: every combination of evenly spread levels of every input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from surrogate.core.errors import SpaceError, nearest
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.scales import is_count
from surrogate.design.space import InputSpace, Point


@dataclass(frozen=True)
class Grid:
    """Sampler `grid`. The last input changes fastest; the seed changes nothing.

    Attributes:
        levels: Levels of every input, or input name → levels. Levels include both bounds and are even in the input's
            scale; one level is the middle. A categorical input has all its choices and needs no entry.
    """

    levels: int | Mapping[str, int]

    def _sizes(self, space: InputSpace) -> list[tuple[Parameter, int]]:
        if not isinstance(space, ParameterSpace):
            raise SpaceError(f"The sampler 'grid' needs named inputs, and a space of kind '{space.kind}' has none.")
        if isinstance(self.levels, Mapping):
            for name in self.levels:
                if name not in space.names:
                    raise SpaceError(
                        f"'levels' names the input '{name}', and there are {', '.join(space.names)}."
                        f"{nearest(str(name), space.names)}"
                    )
        return [(parameter, self._size(parameter)) for parameter in space.parameters]

    def _size(self, parameter: Parameter) -> int:
        asked = self.levels.get(parameter.name) if isinstance(self.levels, Mapping) else self.levels
        if parameter.scale == "categorical":
            words = len(parameter.choices)
            if isinstance(self.levels, Mapping) and asked not in (None, words):
                raise SpaceError(f"Input '{parameter.name}' has {words} choices, and 'levels' gives {asked!r} for it.")
            return words
        if asked is None:
            raise SpaceError(f"'levels' has no entry for the input '{parameter.name}'.")
        if not is_count(asked):
            raise SpaceError(
                f"The levels of '{parameter.name}' are a whole number of at least 1, and {asked!r} was given."
            )
        if parameter.size is not None and asked > parameter.size:
            raise SpaceError(
                f"Input '{parameter.name}' has {parameter.size} whole values, and {asked} levels were asked for."
            )
        return asked

    def length(self, space: InputSpace) -> int | None:
        """Return the number of combinations.

        Raises:
            SpaceError: If the space has no named inputs, or the levels do not fit it.
        """
        return math.prod(size for _, size in self._sizes(space))

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            SpaceError: If the levels do not fit the space, or the grid ends earlier.
        """
        del seed
        sizes = self._sizes(space)
        total = math.prod(size for _, size in sizes)
        if start < 0 or count < 0 or start + count > total:
            raise SpaceError(f"The grid has {total} points; {count} from number {start} on were asked for.")
        points = []
        for number in range(start, start + count):
            point, rest = {}, number
            for parameter, size in reversed(sizes):
                rest, index = divmod(rest, size)
                point[parameter.name] = parameter.mapping.level(index, size)
            points.append(space.canonicalise(point))
        return points
