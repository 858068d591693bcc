"""Numbers that say how good a surrogate is: each with its unit, how it was computed, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import Ragged, SampleTable
from surrogate.models.calibration import LEVELS, Calibration
from surrogate.models.protocols import Measure, Prediction
from surrogate.models.values import flat, sample_means

CONFIDENCE = 0.95
"""Nominal coverage of the confidence intervals."""

RESAMPLES = 1000
"""Bootstrap resamples behind a confidence interval."""

PerSample = dict[str, NDArray[np.float64]]
"""Measure name → `[N]` numbers."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One named number over a set of samples.

    Attributes:
        name: For example `relative_l2_median`.
        value: The number, in `unit`; NaN when a sample's is.
        unit: Unit of it.
        how: How it was computed, as half a sentence.
        low: Lower end of its 95 % confidence interval (percentile bootstrap over samples, or over groups where samples
            have group keys; Efron & Tibshirani 1993, ch. 13), same unit.
        high: Upper end of it.
        samples: Number of samples behind it.
    """

    name: str
    value: float
    unit: str
    how: str
    low: float
    high: float
    samples: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping; a number that is not finite becomes None."""
        return {key: finite_or_none(value) for key, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Extreme:
    """One sample that is worth looking at.

    Attributes:
        row: Its row in the table that was judged.
        id: Identity of the sample.
        group: Its group key; may be empty.
        inputs: Input name → value, of the scalar inputs.
        value: Its number of the primary measure.
        in_domain: Whether the surrogate was sure to know the place.
    """

    row: int
    id: str
    group: str
    inputs: dict[str, Any]
    value: float
    in_domain: bool

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping; a number that is not finite becomes None."""
        return {key: finite_or_none(value) for key, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class CoverageCurve:
    """Nominal against observed coverage of one output's intervals.

    Attributes:
        output: Name of the output column.
        nominal: Nominal coverages.
        observed: Share of elements inside, averaged per sample, then over samples.
        low: Lower end of each one's 95 % confidence interval.
        high: Upper end of it.
    """

    output: str
    nominal: tuple[float, ...]
    observed: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def finite_or_none(value: Any) -> Any:
    """Return None for a float that is not finite, else the value."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def known_metrics(measures: Sequence[Measure]) -> tuple[str, ...]:
    """Return the names of all metrics that these measures give."""
    return tuple(name for measure in measures for name in measure.metric_names().values())


def primary_metric(measures: Sequence[Measure]) -> str:
    """Return the metric by which surrogates are compared: the first of the first measure.

    Raises:
        DataError: If there is no measure.
    """
    if not measures:
        raise DataError("A model family without measures cannot be judged.")
    return next(iter(measures[0].metric_names().values()))


def measure_samples(measures: Sequence[Measure], truth: SampleTable, prediction: Prediction) -> PerSample:
    """Return every measure of every sample.

    Args:
        measures: What to compute.
        truth: N samples with their simulated outputs.
        prediction: What the surrogate says about them.

    Raises:
        DataError: If a measure does not give one number a sample.
    """
    results: PerSample = {}
    for measure in measures:
        values = np.asarray(measure.per_sample(truth, prediction), dtype=np.float64)
        if values.shape != (len(truth),):
            raise DataError(
                f"Measure '{measure.name}' must give one number for each of {len(truth)} samples, "
                f"and gave an array of shape {values.shape}."
            )
        results[measure.name] = values
    return results


def resample_rows(groups: Sequence[str], resamples: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the rows of each bootstrap resample.

    Args:
        groups: `[N]` group keys; rows of one group are drawn together, an empty key is a group of its own.
        resamples: How many resamples.
        seed: Decides them.
    """
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group or f"\0{row}", []).append(row)
    blocks = [np.asarray(rows, dtype=np.int64) for rows in members.values()]
    if not blocks:
        return []
    random = np.random.default_rng(seed)
    if all(len(block) == 1 for block in blocks):
        table = random.integers(0, len(blocks), (resamples, len(blocks)))
        return list(table)
    return [
        np.concatenate([blocks[pick] for pick in random.integers(0, len(blocks), len(blocks))])
        for _ in range(resamples)
    ]


def reduce_measures(
    measures: Sequence[Measure], values: PerSample, groups: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Metric, ...]:
    """Reduce per-sample numbers to named metrics with confidence intervals.

    Args:
        measures: The measures, the primary one first.
        values: From `measure_samples`, N ≥ 1.
        groups: `[N]` group keys.
        seed: Decides the resamples.
        resamples: How many resamples.

    Raises:
        DataError: If there is no sample.
    """
    if not groups:
        raise DataError("There is no sample to judge the surrogate on.")
    picks = resample_rows(groups, resamples, seed)
    metrics: list[Metric] = []
    for measure in measures:
        numbers = values[measure.name]
        draws = [measure.metrics(numbers[pick]) for pick in picks]
        reductions = {name: reduction for reduction, name in measure.metric_names().items()}
        for name, value in measure.metrics(numbers).items():
            low, high = _interval(np.asarray([draw[name] for draw in draws]))
            how = f"{_REDUCTION_WORDS[reductions[name]]} over samples of the {measure.how}"
            metrics.append(Metric(name, value, measure.unit, how, low, high, len(numbers)))
    return tuple(metrics)


_REDUCTION_WORDS = {
    "median": "median",
    "p95": "95th percentile",
    "max": "largest",
    "mean": "mean",
    "rms": "root mean square",
}


def _interval(draws: NDArray[np.float64]) -> tuple[float, float]:
    """Return the percentile interval of bootstrap draws; NaN when one of them is not finite."""
    if len(draws) == 0 or not np.isfinite(draws).all():
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def scalar_inputs(table: SampleTable, row: int) -> dict[str, Any]:
    """Return the scalar inputs of one sample as Python values."""
    found: dict[str, Any] = {}
    for column in table.schema.inputs:
        values = table.columns[column.name]
        if not isinstance(values, Ragged) and not column.shape:
            found[column.name] = values[row].item()
    return found


def extremes(
    table: SampleTable, prediction: Prediction, values: NDArray[np.float64], count: int
) -> tuple[Extreme, ...]:
    """Return the samples with the largest numbers, worst first; NaN is worst of all.

    Args:
        table: N samples.
        prediction: Of the same samples.
        values: `[N]` numbers of the primary measure.
        count: How many at most.
    """
    order = np.argsort(-np.where(np.isnan(values), np.inf, values), kind="stable")[:count]
    return tuple(
        Extreme(
            int(row),
            table.ids[row],
            table.groups[row],
            scalar_inputs(table, int(row)),
            float(values[row]),
            bool(prediction.in_domain[row]),
        )
        for row in order
    )


def coverage_curves(
    calibration: Calibration,
    truth: SampleTable,
    prediction: Prediction,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[CoverageCurve, ...]:
    """Return nominal against observed coverage for every calibrated output.

    Args:
        calibration: The surrogate's calibration.
        truth: N samples that neither training nor calibration has seen.
        prediction: Of the same samples.
        seed: Decides the resamples of the confidence intervals.
        resamples: How many.
    """
    picks = resample_rows(truth.groups, resamples, seed)
    curves: list[CoverageCurve] = []
    for name in prediction.mean:
        if name not in calibration.columns or name not in truth.columns:
            continue
        like = truth.columns[name]
        real = flat(like)
        observed: list[float] = []
        ends: list[tuple[float, float]] = []
        for level in LEVELS:
            lower, upper = calibration.interval({name: prediction.mean[name]}, prediction.std, level)
            inside = sample_means(like, (real >= flat(lower[name])) & (real <= flat(upper[name])))
            observed.append(float(np.nanmean(inside)))
            ends.append(_interval(np.asarray([np.nanmean(inside[pick]) for pick in picks])))
        curves.append(
            CoverageCurve(name, LEVELS, tuple(observed), tuple(low for low, _ in ends), tuple(high for _, high in ends))
        )
    return tuple(curves)


def by_name(metrics: Sequence[Metric]) -> Mapping[str, Metric]:
    """Return metric name → metric."""
    return {metric.name: metric for metric in metrics}
