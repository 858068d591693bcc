"""A search of recorded strain: whitened by its own spectrum, looked through, made to coincide, and ranked by chance.

False-alarm rates come from time slides of one detector's triggers against the other's. Events of the search itself stay
in the background (the rates are upper bounds), and no rate is claimed that is below one in all of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.inference.detection.spectrum import Fitness, fitness
from surrogate.inference.detection.triggers import Trigger, clustered, pairs, window_of
from surrogate.inference.detection.windows import Scores, detector_of, score
from surrogate.inference.predictor import Predictor
from surrogate.models.detector.transforms import DetectorTransforms
from surrogate.signal.psd import Psd
from surrogate.signal.slides import Background, background, slides
from surrogate.signal.strain import Strain, resample, stretches
from surrogate.signal.welch import welch
from surrogate.signal.whiten import whiten_strain, whitener

FLOOR = -2.0
"""Logit from which on a window may become a trigger."""

FILTERS_S = (4.0, 2.0, 1.0)
"""Lengths of the whitening filter, and of the segments of the spectrum: the longest that the strain allows. Real
spectra have lines, which a filter shorter than the segments smears over their neighbours."""

_MOST_SLIDES = 2000
_SINGLE_FLOOR = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """One detector's strain and what the network said of it.

    Attributes:
        white: Whitened strain.
        scores: Of all windows.
        triggers: The loudest of each cluster.
        fitness: How well the network's templates fit this noise.
    """

    white: Strain
    scores: Scores
    triggers: Scores
    fitness: Fitness


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What a search found.

    Attributes:
        looked: One entry a detector.
        triggers: Coincident where there are two detectors, the loudest first.
        background: Chance coincidences; None for one detector.
        seconds: Time that was searched, s: in all detectors at once.
    """

    looked: tuple[Looked, ...]
    triggers: tuple[Trigger, ...]
    background: Background | None
    seconds: float

    def sentences(self, far: float | None) -> list[str]:
        """Return what has to be said about rates and spectra.

        Args:
            far: The rate that was asked for, 1/s, or None.
        """
        said = [entry.fitness.sentence for entry in self.looked if entry.fitness.sentence]
        if self.background is None:
            said.append(
                "One detector alone has no time slides: no false-alarm rate is given. Give a second detector's strain."
            )
            return said
        lowest = self.background.lowest_far
        said.append(
            f"{self.background.seconds:.4g} s of background by time slides support no false-alarm rate below "
            f"{per_day(lowest)}; none is claimed."
        )
        if far is not None and far < lowest:
            said.append(
                f"{per_day(far)} was asked for and cannot be told from these data: triggers are listed down to the "
                "lowest rate that can. Give more data."
            )
        return said

    def significant(self, far: float | None) -> list[Trigger]:
        """Return the triggers whose rate is at most `far`, or the lowest that can be told; all of one detector."""
        if self.background is None or far is None:
            return list(self.triggers)
        limit = max(far, self.background.lowest_far) * (1.0 + 1e-9)
        return [trigger for trigger in self.triggers if trigger.far is not None and trigger.far <= limit]


def per_day(far: float) -> str:
    """Return a rate as words.

    Args:
        far: 1/s.
    """
    return f"{far * 86400.0:.4g} per day"


def whitened(strain: Strain, transforms: DetectorTransforms) -> tuple[Strain, Psd]:
    """Return strain at the detector's rate, whitened, and its median spectrum, which it was whitened by.

    Args:
        strain: As recorded; NaN in gaps.
        transforms: Of the detector.

    Raises:
        DataError: If the rate does not fit or no stretch is long enough.
    """
    slower = resample(strain, transforms.rate)
    options = transforms.options
    longest = max((stop - first for first, stop in stretches(slower.data)), default=0) / slower.rate
    # Half of what there is at most goes to the filter.
    filter_s = next((length for length in FILTERS_S if longest >= 3.0 * length), FILTERS_S[-1])
    least = options.window_s + 2.0 * FILTERS_S[-1]
    if longest < least:
        raise DataError(
            f"The longest stretch of {strain.detector or 'the strain'} without a gap has {longest:.4g} s, and {least} "
            "s are needed: a window and what spectrum and whitening use up. Give a longer stretch."
        )
    psd = welch(slower.data, slower.rate, filter_s)
    return whiten_strain(slower, whitener(psd, slower.rate, filter_s, options.low_hz)), psd


def look(predictor: Predictor, strain: Strain, *, floor: float = FLOOR) -> Looked:
    """Let a detector look through one strain.

    Raises:
        ConfigError: If the surrogate is no detector of one strain.
        DataError: If the strain cannot be used; the sentence says why.
    """
    transforms = detector_of(predictor)
    white, psd = whitened(strain, transforms)
    scores = score(predictor, white)
    return Looked(white, scores, clustered(scores, floor), fitness(transforms, psd, strain.detector))


def search(
    predictor: Predictor, strains: Sequence[Strain], *, progress: Callable[[str], None] = lambda _: None
) -> Search:
    """Search the strain of one or two detectors.

    Args:
        predictor: A detector of one strain.
        strains: One or two, of different detectors.
        progress: Called with a phrase before each step.

    Raises:
        ConfigError: If the surrogate is no detector of one strain.
        DataError: If a strain cannot be used, or two do not overlap.
    """
    strains = _common(strains)
    looked = []
    for strain in strains:
        progress(f"looking through {strain.seconds:.6g} s of {strain.detector or 'strain'}")
        looked.append(look(predictor, strain))
    if len(looked) == 1:
        seconds = float(np.isfinite(looked[0].white.data).sum()) / looked[0].white.rate
        return Search(tuple(looked), tuple(_single(looked[0])), None, seconds)
    progress("sliding one detector against the other")
    return _coincident(looked[0], looked[1], detector_of(predictor).options.window_s)


def _common(strains: Sequence[Strain]) -> list[Strain]:
    """Return strains cut to the time that they share.

    Raises:
        DataError: If there are not one or two, they are of one detector, or share no time.
    """
    if len(strains) not in (1, 2):
        raise DataError(f"A search takes the strain of one or two detectors; {len(strains)} were given.")
    if len(strains) == 1:
        return list(strains)
    first, second = strains
    if not first.detector or not second.detector or first.detector == second.detector:
        raise DataError(
            f"Two strains must be of two different detectors, and these are of '{first.detector}' and "
            f"'{second.detector}'."
        )
    begin, end = max(first.start, second.start), min(first.end, second.end)
    if end <= begin:
        raise DataError(
            f"{first.detector} has strain from GPS {first.start} to {first.end}, and {second.detector} from "
            f"{second.start} to {second.end}: they share no time, so that nothing can coincide."
        )
    return [strain.between(begin, end) for strain in strains]


def _single(looked: Looked) -> list[Trigger]:
    loud = looked.triggers
    found = [
        Trigger(
            float(loud.gps[row]), float(loud.logit[row]), float(loud.mass_1[row]), float(loud.mass_2[row]),
            looked.white.detector, logits=(float(loud.logit[row]),),
        )
        for row in np.flatnonzero(loud.logit >= _SINGLE_FLOOR).tolist()
    ]  # fmt: skip
    return sorted(found, key=lambda trigger: -trigger.statistic)


def _coincident(first: Looked, second: Looked, window_s: float) -> Search:
    """Pair the triggers of two detectors and rank the pairs by time slides."""
    names = first.white.detector, second.white.detector
    reach = window_of(*names)
    both = np.isfinite(first.white.data[: len(second.white.data)])
    both = both & np.isfinite(second.white.data[: len(both)])
    begin, span = first.white.start, len(both) / first.white.rate
    # A step as long as a window, so that no two slides see one event in the same company.
    step = max(window_s, span / _MOST_SLIDES)
    chance = background(
        (first.triggers.gps, first.triggers.logit), (second.triggers.gps, second.triggers.logit),
        slides(span, step, window_s), begin=begin, span_s=span, window_s=reach,
    )  # fmt: skip
    # Where a detector has a gap there is nothing to coincide with, so that less time was looked through.
    live = float(both.sum()) / first.white.rate
    chance = Background(chance.statistics, chance.seconds * live / span)
    found = [
        _pair(first.triggers, second.triggers, row, "".join(names), chance)
        for row in pairs(first.triggers, second.triggers, reach)
    ]
    return Search((first, second), tuple(sorted(found, key=lambda trigger: -trigger.statistic)), chance, live)


def _pair(first: Scores, second: Scores, row: NDArray[np.int64], names: str, chance: Background) -> Trigger:
    one, other = (int(number) for number in row)
    logits = float(first.logit[one]), float(second.logit[other])
    louder = first if logits[0] >= logits[1] else second
    place = one if louder is first else other
    statistic = sum(logits)
    return Trigger(
        float(first.gps[one]), statistic, float(louder.mass_1[place]), float(louder.mass_2[place]), names,
        chance.far(statistic), float(second.gps[other] - first.gps[one]), logits,
    )  # fmt: skip


def summary(found: Search, far: float | None) -> dict[str, Any]:
    """Return a JSON-ready record of a search."""
    chance = found.background
    return {
        "detectors": [entry.white.detector for entry in found.looked],
        "seconds_searched": found.seconds,
        "background_seconds": None if chance is None else chance.seconds,
        "lowest_far_per_day": None if chance is None else chance.lowest_far * 86400.0,
        "asked_far_per_day": None if far is None else far * 86400.0,
        "template_match": {entry.white.detector: entry.fitness.match for entry in found.looked},
        "sentences": found.sentences(far),
        "triggers": [trigger.to_json() for trigger in found.significant(far)],
    }
