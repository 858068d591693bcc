"""How good a detector is: what it finds at a false-alarm probability, how it ranks, and how well it weighs.

A number of one sample is scaled so that its mean over all samples is the mean over those that it is about.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import SampleTable
from surrogate.models.detector.exam import RATIO, SIGNAL
from surrogate.models.protocols import Measure, Prediction

Array = NDArray[np.float64]
FALSE_ALARMS = 0.01
"""False-alarm probability of the exam's threshold; an exam has too little noise for rarer ones."""


def threshold(logits: Array, false_alarms: float) -> float:
    """Return the value that a share of noise exceeds at most, so that a logit above it is a detection.

    Args:
        logits: `[M]`, of windows without signal.
        false_alarms: Share in (0, 1).
    """
    ordered = np.sort(logits)[::-1]
    return float(ordered[min(len(ordered) - 1, int(np.floor(false_alarms * len(ordered))))])


def _about(truth: SampleTable, rows: NDArray[np.bool_], values: Array) -> Array:
    """Return numbers whose mean over all samples is that of `values` over `rows`; NaN when there is none."""
    del truth
    count = int(rows.sum())
    if not count:
        return np.full(len(rows), np.nan)
    return np.asarray(np.where(rows, values, 0.0) * (len(rows) / count))


def _logits(prediction: Prediction) -> Array:
    return np.asarray(prediction.mean["logit"], dtype=np.float64)


def _ratios(truth: SampleTable) -> Array:
    return np.asarray(truth.columns[RATIO], dtype=np.float64)


def surprise(truth: SampleTable, prediction: Prediction) -> Array:
    """Return −log₂ of the probability of what is true, `[N]`, bits."""
    sign = np.where(np.asarray(truth.columns[SIGNAL]) > 0.5, -1.0, 1.0)
    return np.asarray(np.logaddexp(0.0, sign * _logits(prediction)) / np.log(2.0))


def found_at(ratio: float) -> Callable[[SampleTable, Prediction], Array]:
    """Return the measure of how many signals of a ratio are found."""

    def per_sample(truth: SampleTable, prediction: Prediction) -> Array:
        ratios, logits = _ratios(truth), _logits(prediction)
        if not (ratios == 0).any():
            return np.full(len(ratios), np.nan)
        limit = threshold(logits[ratios == 0], FALSE_ALARMS)
        return _about(truth, ratios == ratio, (logits > limit).astype(np.float64))

    return per_sample


def ranked(truth: SampleTable, prediction: Prediction) -> Array:
    """Return for each of the faintest signals the share of noise that it outranks; the mean is the ROC's area."""
    ratios, logits = _ratios(truth), _logits(prediction)
    noise = np.sort(logits[ratios == 0])
    if not len(noise) or not (ratios > 0).any():
        return np.full(len(ratios), np.nan)
    share = np.searchsorted(noise, logits) / len(noise)
    return _about(truth, ratios == ratios[ratios > 0].min(), share)


def chirp_mass(first: Array, second: Array) -> Array:
    """Return (m₁m₂)^{3/5} / (m₁ + m₂)^{1/5}, in the unit of the masses."""
    return np.asarray((first * second) ** 0.6 / (first + second) ** 0.2)


def mass_error(truth: SampleTable, prediction: Prediction) -> Array:
    """Return the relative error of the chirp mass of the loudest signals."""
    ratios = _ratios(truth)
    real, said = (
        chirp_mass(np.asarray(source["mass_1"]), np.asarray(source["mass_2"]))
        for source in (truth.columns, prediction.mean)
    )
    return _about(truth, ratios == ratios.max(), np.abs(said / real - 1.0))


def detector_measures() -> tuple[Measure, ...]:
    """Return the measures; the first is the primary one."""
    share = f"share of signals of ratio {{}} above what {FALSE_ALARMS:.0%} of the windows without signal exceed"
    return (
        Measure("surprise", "bit", "−log₂ of the probability of what is true", surprise, ("mean",), sort="error"),
        Measure("found_snr6", "1", share.format(6), found_at(6.0), ("mean",), sort="share"),
        Measure("found_snr8", "1", share.format(8), found_at(8.0), ("mean",), sort="share"),
        Measure("found_snr12", "1", share.format(12), found_at(12.0), ("mean",), sort="share"),
        Measure("roc_area", "1", "share of noise that the faintest signals outrank", ranked, ("mean",), sort="share"),
        Measure(
            "chirp_mass_error",
            "1",
            "relative error of the chirp mass of the loudest signals",
            mass_error,
            ("mean",),
            sort="error",
        ),
    )
