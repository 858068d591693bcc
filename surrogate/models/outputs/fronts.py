"""Fronts in profiles: where a quantity jumps within a few cells, to a fraction of a cell.

Left and right of a steep place the profile is continued by straight lines fitted beyond the smeared cells. The front is
put where a sharp jump from one line to the other encloses the same area as the smeared profile. Being an integral, that
position hardly depends on how the front lies relative to the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

GAPS = (4, 8, 16)
"""Half widths, in cells, of the smeared zone that are tried."""

_FIT = 5
_STEEPER = 3.0
_ABOVE_NOISE = 4.0
_ABOVE_STEPS = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Fronts:
    """The fronts of R profiles, left to right; Q is the largest number found in one.

    Attributes:
        place: `[R, Q]` float64, position counted in cells (0 is the first cell's centre); NaN behind the last front.
        jump: `[R, Q]` float64, value right of the front minus value left of it; 0 behind the last front.
        thickness: `[R, Q]` float64, |jump| over the steepest difference of neighbours, in cells; NaN behind the last.
        gap: Half width of the smeared zone that was assumed, in cells.
    """

    place: NDArray[np.float64]
    jump: NDArray[np.float64]
    thickness: NDArray[np.float64]
    gap: int

    @property
    def count(self) -> int:
        """Number of fronts in all profiles together."""
        return int(np.isfinite(self.place).sum())


def find_fronts(values: NDArray[np.float64], least_jump: float, gap: int) -> Fronts:
    """Find the fronts of each profile.

    A front is a place steeper than everything within `gap` cells, three times steeper than the straight lines beside
    it, whose jump is at least `least_jump`, four times what those lines leave unexplained, five times the mean
    difference of neighbouring cells under them, and is made within `gap` cells. A place so near to another steep one
    that the lines would cross it is left out: its position would be wrong, and what is not seen is interpolated later.

    Args:
        values: `[R, X]` profiles.
        least_jump: Smallest jump that counts, in the values' unit; positive.
        gap: Half width of the smeared zone, in cells.
    """
    rows, edges = _steep_places(values, least_jump, gap)
    if not len(rows):
        return Fronts(np.full((len(values), 0), np.nan), np.zeros((len(values), 0)), np.zeros((len(values), 0)), gap)
    offsets = np.arange(_FIT, dtype=np.float64) + (gap + 0.5)
    left = _line(values[rows[:, None], edges[:, None] - gap - np.arange(_FIT)], -offsets)
    right = _line(values[rows[:, None], edges[:, None] + gap + 1 + np.arange(_FIT)], offsets)
    zone = values[rows[:, None], edges[:, None] + np.arange(1 - gap, gap + 1)]
    shift = _equal_area(left, right, zone.sum(axis=1), gap)
    jump = (right.level - left.level) + (right.slope - left.slope) * shift
    steepest = np.abs(values[rows, edges + 1] - values[rows, edges])
    thickness = np.abs(jump) / steepest
    beside = np.maximum(np.abs(left.slope), np.abs(right.slope))
    accepted = (
        (np.abs(jump) >= least_jump)
        & (np.abs(jump) >= _ABOVE_NOISE * np.hypot(left.rest, right.rest))
        & (np.abs(jump) >= _ABOVE_STEPS * np.maximum(left.step, right.step))
        & (steepest >= _STEEPER * beside)
        & (thickness <= gap)
        & (np.abs(shift) < gap)
        & ~_crowded(np.abs(np.diff(values, axis=1)), rows, edges, gap)
    )
    columns = tuple(column[accepted] for column in (edges + 0.5 + shift, jump, thickness))
    return _table(len(values), rows[accepted], columns, gap)


def choose_gap(values: NDArray[np.float64], least_jump: float) -> int:
    """Return the smallest of `GAPS` that finds nearly (90 %) as many fronts as any, among those that fit the profile.

    Args:
        values: `[R, X]` profiles; at most 2,000 of them, evenly taken, are looked at.
        least_jump: As in `find_fronts`.
    """
    some = values[:: max(1, len(values) // 2000)]
    fitting = [gap for gap in GAPS if 2 * (gap + _FIT) < values.shape[1]] or [GAPS[0]]
    counts = [find_fronts(some, least_jump, gap).count for gap in fitting]
    return next(gap for gap, count in zip(fitting, counts, strict=True) if count >= 0.9 * max(counts))


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """Straight lines beside C places, each `[C]`.

    Attributes:
        level: Value at the place.
        slope: Change from cell to cell.
        rest: Root mean square of what the line leaves unexplained.
        step: Mean difference of neighbouring cells.
    """

    level: NDArray[np.float64]
    slope: NDArray[np.float64]
    rest: NDArray[np.float64]
    step: NDArray[np.float64]


def _line(samples: NDArray[np.float64], offsets: NDArray[np.float64]) -> _Lines:
    """Fit straight lines by least squares to `[C, m]` samples at `offsets` `[m]` from their place."""
    centre = offsets.mean()
    mean = samples.mean(axis=1)
    slope = (samples - mean[:, None]) @ (offsets - centre) / np.sum((offsets - centre) ** 2)
    level = mean - slope * centre
    rest = samples - level[:, None] - slope[:, None] * offsets
    step = np.abs(np.diff(samples, axis=1)).mean(axis=1)
    return _Lines(level, slope, np.sqrt(np.mean(rest**2, axis=1)), step)


def _equal_area(left: _Lines, right: _Lines, area: NDArray[np.float64], gap: int) -> NDArray[np.float64]:
    """Return where a jump between the lines encloses the same area, `[C]` cells from the place, within ± gap.

    With D(τ) = d₀ + d₁ τ the difference of the lines: ∫ left over ±gap + ∫ D from τ to gap = area, by Newton's method.

    Args:
        left: Lines left of the places.
        right: Lines right of them.
        area: `[C]`, sum over the 2·gap cells of the smeared zone.
        gap: Half width of that zone.
    """
    d0, d1 = right.level - left.level, right.slope - left.slope
    shift = np.zeros_like(area)
    for _ in range(8):
        height = d0 + d1 * shift
        error = 2 * gap * left.level + d0 * (gap - shift) + d1 * (gap**2 - shift**2) / 2 - area
        step = np.divide(error, height, out=np.zeros_like(error), where=height != 0)
        shift = np.clip(shift + step, -gap, gap)
    return shift


def _steep_places(
    values: NDArray[np.float64], least_jump: float, gap: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row, edge) of every place steeper than its surroundings; edge i lies between cells i and i + 1."""
    reach = gap + _FIT
    cells = values.shape[1]
    none = np.zeros(0, dtype=np.int64)
    if cells < 2 * reach + 1:
        return none, none
    steps = np.abs(np.diff(values, axis=1))
    around = sliding_window_view(np.pad(steps, ((0, 0), (gap, gap))), 2 * gap + 1, axis=1).max(axis=2)
    rise = np.abs(values[:, 2 * gap :] - values[:, : -2 * gap])
    change = np.zeros_like(steps)
    change[:, gap : gap + rise.shape[1] - 1] = np.maximum(rise[:, 1:], rise[:, :-1])
    wanted = (steps > 0) & (steps >= around) & (change >= 0.5 * least_jump)
    wanted[:, : reach - 1] = False
    wanted[:, cells - reach :] = False
    # Of equally steep neighbours the first stands for both.
    wanted[:, 1:] &= ~wanted[:, :-1]
    rows, edges = np.nonzero(wanted)
    return rows.astype(np.int64), edges.astype(np.int64)


def _crowded(
    steps: NDArray[np.float64], rows: NDArray[np.int64], edges: NDArray[np.int64], gap: int
) -> NDArray[np.bool_]:
    """Return which places have another steep one under their lines or in their zone, `[C]`.

    Another steep place is steeper than the two edges on either side of it, than a tenth of the place itself, and than
    four times the median around.

    Args:
        steps: `[R, X − 1]`, absolute differences of neighbouring cells.
        rows: `[C]`, profile of each place.
        edges: `[C]`, edge of each place.
        gap: Half width of the smeared zone, in cells.
    """
    # A front whose steepest edge lies a little outside reaches in by its smeared flank.
    reach = gap + _FIT + 1
    outside = np.pad(steps, ((0, 0), (2, 2)))
    around = outside[rows[:, None], edges[:, None] + 2 + np.arange(-reach, reach + 1)]
    padded = np.pad(around, ((0, 0), (2, 2)))
    highest = sliding_window_view(padded, 5, axis=1).max(axis=2)
    least = np.maximum(0.1 * around[:, reach], 4.0 * np.median(around, axis=1))
    steep = (around >= highest) & (around >= least[:, None])
    # Of equally steep neighbours the first stands for both.
    steep[:, 1:] &= ~steep[:, :-1]
    return np.asarray(steep.sum(axis=1) > 1, dtype=np.bool_)


def _table(count: int, rows: NDArray[np.int64], columns: tuple[NDArray[np.float64], ...], gap: int) -> Fronts:
    """Return flat lists of fronts as padded tables.

    Args:
        count: Number of profiles.
        rows: `[C]`, profile of each front, never falling.
        columns: Place, jump and thickness, `[C]` each; places rise within a profile.
        gap: Half width of the smeared zone, in cells.
    """
    number = np.bincount(rows, minlength=count)
    first = np.concatenate([[0], np.cumsum(number)[:-1]])
    slot = np.arange(len(rows)) - first[rows]
    widest = int(number.max(initial=0))
    tables = [np.full((count, widest), np.nan), np.zeros((count, widest)), np.full((count, widest), np.nan)]
    for table, column in zip(tables, columns, strict=True):
        table[rows, slot] = column
    return Fronts(tables[0], tables[1], tables[2], gap)
