"""The samplers by name, and the design that one chooses."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from surrogate.core.errors import SpaceError, nearest
from surrogate.core.identity import point_hash
from surrogate.design.grid import Grid
from surrogate.design.latin_hypercube import LatinHypercube
from surrogate.design.sobol import Sobol
from surrogate.design.space import InputSpace, NamesGroups, Point, Sampler
from surrogate.design.structure_samplers import Dynamics, Frames, NormalModeSampler, Rattle
from surrogate.design.table import Table

SAMPLERS: dict[str, type[Any]] = {
    "sobol": Sobol,
    "latin_hypercube": LatinHypercube,
    "grid": Grid,
    "table": Table,
    "normal_modes": NormalModeSampler,
    "rattle": Rattle,
    "dynamics": Dynamics,
    "frames": Frames,
}
"""Name → class; a sampler's options are its fields."""


def sampler(name: str, **options: Any) -> Sampler:
    """Return the sampler of that name.

    Args:
        name: `sobol`, `latin_hypercube`, `grid` or `table`; of structures `normal_modes`, `rattle`, `dynamics` or
            `frames`.
        **options: Its options: `block` of latin_hypercube, `levels` of grid, `path` of table, and those of the
            samplers of structures (see `surrogate.design.structure_samplers`).

    Raises:
        SpaceError: If the name or an option is unknown, or a needed option is missing.
    """
    if name not in SAMPLERS:
        raise SpaceError(
            f"The sampler '{name}' is not known; there are {', '.join(SAMPLERS)}.{nearest(name, SAMPLERS)}"
        )
    fields = {field.name: field for field in dataclasses.fields(SAMPLERS[name]) if field.init}
    for option in options:
        if option not in fields:
            known = f"it has {', '.join(fields)}" if fields else "it has none"
            raise SpaceError(f"The sampler '{name}' has no option '{option}'; {known}.{nearest(option, fields)}")
    for option, field in fields.items():
        if option not in options and field.default is dataclasses.MISSING:
            raise SpaceError(f"The sampler '{name}' needs the option '{option}', and it was not given.")
    chosen: Sampler = SAMPLERS[name](**options)
    return chosen


@dataclass(frozen=True, slots=True)
class Design:
    """The points chosen in an input space.

    Attributes:
        points: Canonical points, all different, in the order of the sequence.
        start: Number of the first point in the sampler's sequence.
        stop: Number after the last one: a later design starts there.
        duplicates: Points left out because an equal one came earlier (whole numbers and rounding make such).
        hashes: `point_hash` of each point.
        groups: Group key of each point, empty text for none; nothing when no point has one.
    """

    points: tuple[Point, ...]
    start: int
    stop: int
    duplicates: int
    hashes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def choose(
    chooser: Sampler, space: InputSpace, *, start: int, count: int, seed: int, known: Collection[str] = ()
) -> Design:
    """Draw points and leave out those that came before; the same call always gives the same design.

    Args:
        chooser: The sampler.
        space: Where to choose.
        start: Number of the first point in the sampler's sequence.
        count: How many points to draw; the design has fewer when some are duplicates.
        seed: Fixes the sequence.
        known: `point_hash` of points that are there already.

    Raises:
        SpaceError: If the sampler cannot serve the space, or its sequence ends earlier.
    """
    seen = set(known)
    kept: dict[str, Point] = {}
    groups: list[str] = []
    points = chooser.points(space, start, count, seed)
    names = chooser.groups(space, start, count) if isinstance(chooser, NamesGroups) else [""] * count
    for point, group in zip(points, names, strict=True):
        key = point_hash(point)
        if key not in seen:
            seen.add(key)
            kept[key] = point
            groups.append(group)
    named = tuple(groups) if any(groups) else ()
    return Design(tuple(kept.values()), start, start + count, count - len(kept), tuple(kept), named)
