"""Triggers: of the windows that see one event the loudest is kept, and what coincides in two detectors is paired."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.inference.detection.windows import Scores
from surrogate.signal.detectors import light_travel_time
from surrogate.signal.slides import coincident

CLUSTER_S = 0.35
"""Seconds within which only the loudest window makes a trigger: a signal echoes in its neighbours' windows."""

TIMING_S = 0.005
"""Error of the two times of a pair together, s."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Something that may be a binary.

    Attributes:
        gps: Time of its peak, s; of the first detector where there are two.
        statistic: Logit; the sum of both where there are two.
        mass_1: Solar masses, the heavier one.
        mass_2: Solar masses.
        detectors: Prefixes, such as `H1L1`.
        far: False-alarm rate, 1/s; None where it cannot be told.
        delay: Seconds by which it reached the second detector later; None where there is one.
        logits: Of each detector.
    """

    gps: float
    statistic: float
    mass_1: float
    mass_2: float
    detectors: str
    far: float | None = None
    delay: float | None = None
    logits: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {**asdict(self), "far_per_day": None if self.far is None else self.far * 86400.0}


def clustered(scores: Scores, floor: float, within_s: float = CLUSTER_S) -> Scores:
    """Return the windows that are the loudest within some time of them, in the order of time.

    Args:
        scores: Of all windows.
        floor: Smallest logit that is kept.
        within_s: Seconds on each side in which a kept window has no louder one.
    """
    order = np.argsort(scores.gps, kind="stable")
    gps, logit = scores.gps[order], scores.logit[order]
    taken = np.zeros(len(gps), dtype=np.bool_)
    chosen: list[int] = []
    for place in np.argsort(-logit, kind="stable").tolist():
        if logit[place] < floor:
            break
        if not taken[place]:
            chosen.append(place)
            low, high = np.searchsorted(gps, (gps[place] - within_s, gps[place] + within_s))
            taken[low:high] = True
    return scores.take(order[np.asarray(sorted(chosen), dtype=np.int64)])


def window_of(first: str, second: str) -> float:
    """Return how far apart the times of one event may be in two detectors, s.

    Raises:
        DataError: If one of them is not known.
    """
    return light_travel_time(first, second) + TIMING_S


def pairs(first: Scores, second: Scores, window_s: float) -> NDArray[np.int64]:
    """Return which triggers coincide, `[P, 2]`; of several partners the loudest."""
    found = coincident(first.gps, second.gps, window_s)
    total = first.logit[found[:, 0]] + second.logit[found[:, 1]]
    best: dict[int, int] = {}
    used: set[int] = set()
    for place in np.argsort(-total, kind="stable").tolist():
        one, other = (int(number) for number in found[place])
        if one not in best and other not in used:
            best[one] = other
            used.add(other)
    return np.asarray(sorted(best.items()), dtype=np.int64).reshape(-1, 2)
