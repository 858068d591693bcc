"""The one place that looks at the holdout."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from surrogate.core.errors import DataError, MissingExtraError
from surrogate.core.schema import SampleTable, Schema
from surrogate.data.split import Split, SplitConfig, SplitCount
from surrogate.inference.predictor import Predictor
from surrogate.models.calibration import Calibration
from surrogate.models.protocols import Measure, Prediction
from surrogate.validation.baselines import baseline
from surrogate.validation.gate import Gate
from surrogate.validation.holdout import KnownLooks, record_consultation
from surrogate.validation.metrics import (
    RESAMPLES,
    coverage_curves,
    extremes,
    known_metrics,
    measure_samples,
    primary_metric,
    reduce_measures,
)
from surrogate.validation.validation import BaselineResult, StratumResult, Validation

DESIGN = "design"
"""Stratum of the declared distribution."""


class Splits(Protocol):
    """What of a `surrogate.data.dataset.Dataset` is needed here."""

    @property
    def schema(self) -> Schema:
        """The columns."""
        ...

    @property
    def hash(self) -> str:
        """Hash of the dataset."""
        ...

    @property
    def strata(self) -> tuple[str, ...]:
        """Stratum of each sample."""
        ...

    def counts(self, split: SplitConfig, stratum: str | None = DESIGN) -> Mapping[Split, SplitCount]:
        """Count samples and groups of each split."""
        ...

    def load(self, split: SplitConfig, which: Split, stratum: str | None = DESIGN) -> SampleTable:
        """Load the samples of one split."""
        ...


def validate(
    predictor: Predictor,
    dataset: Splits,
    split: SplitConfig,
    *,
    version: str,
    holdout_record: Path,
    known_looks: KnownLooks | None = None,
    gate: Gate | None = None,
    onnx_check: Callable[[SampleTable], float] | None = None,
    worst: int = 8,
    seed: int = 0,
    resamples: int = RESAMPLES,
    progress: Callable[[str], None] = lambda _: None,
) -> Validation:
    """Judge a surrogate on holdout samples that neither training nor calibration has seen.

    Args:
        predictor: The surrogate.
        dataset: All admitted samples.
        split: How they are divided.
        version: Version of the surrogate.
        holdout_record: File that counts the looks at this holdout (see `surrogate.validation.holdout`).
        known_looks: What verdicts say of earlier looks, in case that file was lost.
        gate: The gate, if there is one: its names are checked before the holdout is opened.
        onnx_check: Returns the largest difference between ONNX and Keras outputs on the tune samples given; without it
            the number that training measured is taken.
        worst: How many of the worst samples to list.
        seed: Decides the bootstrap and the baselines' draws.
        resamples: Bootstrap resamples.
        progress: Called with a phrase before each step.

    Raises:
        ConfigError: If the gate names a metric or baseline that there is not.
        SplitError: If a split has fewer samples or groups than declared.
        DataError: If the surrogate was trained on other columns, or there is no holdout sample.
    """
    family, schema = predictor.family, predictor.schema
    _check_columns(predictor.artifact.learned_from, dataset.schema)
    measures = family.measures(schema)
    train = dataset.load(split, "train")
    reasons = {name: baseline(name).why_not(train, predictor.space) for name in family.baselines}
    if gate is not None:
        gate.check(known_metrics(measures), tuple(name for name, reason in reasons.items() if reason is None))
    counts = dataset.counts(split)
    split.check(counts)
    tune = predictor.exam(dataset.load(split, "tune"), seed)
    difference, onnx_how = _onnx(predictor, tune, onnx_check, progress)

    progress("opening the holdout")
    looks = record_consultation(
        holdout_record, salt=split.salt, version=version, dataset_hash=dataset.hash, known=known_looks
    )
    if looks.lost:
        progress(
            f"{holdout_record} had lost {looks.lost} earlier looks at the holdout; verdicts and journal know of them, "
            "and they are counted"
        )
    tables = _holdout(dataset, split, lambda table: predictor.exam(table, seed))
    progress("predicting the holdout")
    judge = _Judge(measures, worst, seed, resamples)
    results = [judge.stratum(name, table, predictor.predict(table.inputs)) for name, table in tables]
    curves = coverage_curves(
        predictor.artifact.calibration, results[0].truth, results[0].prediction, seed=seed, resamples=resamples
    )
    baselines = []
    for name, reason in reasons.items():
        progress(f"fitting the baseline {name}")
        baselines.append(judge.baseline(name, reason, predictor, (train, tune, results[0].truth)))
    return Validation(
        version,
        family.name,
        dataset.hash,
        predictor.artifact.dataset_hash,
        primary_metric(measures),
        measures[0].name,
        {name: count.samples for name, count in counts.items()},
        tuple(results),
        tuple(baselines),
        curves,
        looks,
        predictor.runtime,
        difference,
        onnx_how,
    )


def _holdout(
    dataset: Splits, split: SplitConfig, exam: Callable[[SampleTable], SampleTable]
) -> list[tuple[str, SampleTable]]:
    """Return what the holdout's samples ask by stratum, those of the declared distribution first.

    Raises:
        DataError: If there is none of the declared distribution.
    """
    strata = [DESIGN, *sorted(set(dataset.strata) - {DESIGN})]
    tables = [(stratum, dataset.load(split, "holdout", stratum)) for stratum in strata]
    if len(tables[0][1]) == 0:
        raise DataError("There is no holdout sample of the declared distribution to judge the surrogate on.")
    return [(stratum, exam(table)) for stratum, table in tables if len(table)]


def _check_columns(trained: Schema, found: Schema) -> None:
    """Refuse a dataset whose columns are others than the surrogate's."""

    def essence(schema: Schema) -> list[object]:
        columns = [(column.name, column.role, column.unit, column.dtype, column.shape) for column in schema.columns]
        return [*sorted(columns), *sorted((axis.name, axis.unit, axis.values) for axis in schema.coordinates)]

    if essence(trained) != essence(found):
        raise DataError(
            f"The surrogate was trained on {', '.join(column.name for column in trained.columns)}. The dataset holds "
            f"{', '.join(column.name for column in found.columns)}, or holds them with other shapes, units or axes. "
            "Train it again on this dataset."
        )


def _onnx(
    predictor: Predictor,
    tune: SampleTable,
    check: Callable[[SampleTable], float] | None,
    progress: Callable[[str], None],
) -> tuple[float | None, str]:
    """Return the largest difference between ONNX and Keras, and who measured it."""
    if check is not None:
        progress("comparing ONNX with Keras")
        try:
            return check(tune), f"measured at validation on {len(tune)} tune samples, over all members' network outputs"
        except MissingExtraError:
            progress("TensorFlow is not installed here, so that the number measured by training stands")
    return predictor.artifact.onnx_difference, "measured by training when the networks were exported"


class _Judge:
    """Reduces predictions to results, always in the same way."""

    def __init__(self, measures: Sequence[Measure], worst: int, seed: int, resamples: int) -> None:
        self._measures = measures
        self._worst = worst
        self._seed = seed
        self._resamples = resamples

    def stratum(self, name: str, truth: SampleTable, prediction: Prediction) -> StratumResult:
        """Judge the surrogate on one stratum."""
        values = measure_samples(self._measures, truth, prediction)
        metrics = reduce_measures(self._measures, values, truth.groups, seed=self._seed, resamples=self._resamples)
        listed = extremes(truth, prediction, values[self._measures[0].name], self._worst)
        return StratumResult(name, metrics, listed, float(prediction.in_domain.mean()), truth, prediction, values)

    def baseline(
        self, name: str, reason: str | None, predictor: Predictor, tables: tuple[SampleTable, SampleTable, SampleTable]
    ) -> BaselineResult:
        """Fit a baseline on train, calibrate its intervals on tune as the surrogate's were, judge it on the holdout."""
        method = baseline(name)
        if reason is not None:
            return BaselineResult(name, method.title, f"not fitted: {reason}", (), 0.0)
        train, tune, truth = tables
        began = time.perf_counter()
        answer = method.fit(train, predictor.space, self._seed)
        guess = answer(truth.inputs)
        lower, upper = dict(guess.mean), dict(guess.mean)
        if len(tune):
            rehearsal = answer(tune.inputs)
            calibration = Calibration.fit(rehearsal.mean, rehearsal.std, tune.outputs)
            lower, upper = calibration.interval(guess.mean, guess.std)
        flags = np.ones(len(truth), dtype=np.bool_)
        values = measure_samples(self._measures, truth, Prediction(guess.mean, guess.std, lower, upper, flags))
        seconds = time.perf_counter() - began
        metrics = reduce_measures(self._measures, values, truth.groups, seed=self._seed, resamples=self._resamples)
        how = f"{guess.how}; intervals calibrated on the same {len(tune)} tune samples" if len(tune) else guess.how
        return BaselineResult(name, method.title, how, metrics, seconds, values[self._measures[0].name])
