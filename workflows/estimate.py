"""How long runs will take, from what is known of one."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long the runs will take.

    Attributes:
        seconds: Wall-clock seconds of all runs together.
        upper_bound: Whether that is a bound, made of the walltime, because nothing better is known.
        sentence: The same in words, and where it comes from.
    """

    seconds: float
    upper_bound: bool
    sentence: str


def estimated(runs: int, slots: int, *, measured: float | None, expected: float | None, walltime: float) -> Estimate:
    """Say how long all runs will take.

    Args:
        runs: How many there are.
        slots: Runs that the site executes at once, at least 1.
        measured: Measured wall-clock seconds of a run, or None when none has finished.
        expected: Seconds that the campaign expects of a run, or None.
        walltime: Seconds after which a run is ended.
    """
    each, source = (measured, "measured") if measured is not None else (expected, "expected")
    if each is None:
        each, source = walltime, "walltime"
    total = math.ceil(runs / max(slots, 1)) * float(each)
    how = f"{runs} runs, {slots} at once, {each:g} s each ({source})"
    bound = source == "walltime"
    return Estimate(total, bound, f"{'at most' if bound else 'about'} {duration(total)}: {how}")


def duration(seconds: float) -> str:
    """Return a time in words, two units at most."""
    whole = math.ceil(seconds)
    for size, unit, next_size, next_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // next_size
            return f"{whole // size} {unit}" + (f" {rest} {next_unit}" if rest else "")
    return f"{whole} s"
