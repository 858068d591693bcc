"""Metrics, their intervals and coverage against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from surrogate.core.errors import DataError
from surrogate.core.schema import Column, SampleTable, Schema
from surrogate.models.calibration import LEVELS, Calibration, ColumnCalibration
from surrogate.models.protocols import Measure, Prediction
from surrogate.validation.metrics import (
    by_name,
    coverage_curves,
    extremes,
    known_metrics,
    measure_samples,
    primary_metric,
    reduce_measures,
    resample_rows,
)

SCHEMA = Schema(
    (Column("x", "input", "m"), Column("word", "input", dtype="str"), Column("y", "output", "K", shape=(50,)))
)


def gap(truth: SampleTable, prediction: Prediction) -> np.ndarray:
    return np.abs(np.asarray(prediction.mean["y"]) - np.asarray(truth.columns["y"])).mean(axis=1)


GAP = Measure("gap", "K", "mean absolute error of a sample", gap, ("median", "p95", "max", "mean"))
SHARE = Measure("share", "1", "share of a sample", gap, ("mean",))


def case(samples: int, noise: float = 1.0, groups: tuple[str, ...] | None = None) -> tuple[SampleTable, Prediction]:
    random = np.random.default_rng(0)
    mean = random.normal(size=(samples, 50))
    std = random.uniform(0.5, 2, (samples, 50))
    columns = {
        "x": np.arange(samples, dtype=float),
        "word": np.array(["w"] * samples),
        "y": mean + noise * std * random.normal(size=std.shape),
    }
    table = SampleTable(SCHEMA, tuple(f"s{i}" for i in range(samples)), groups or ("",) * samples, columns)
    return table, Prediction({"y": mean}, {"y": std}, {"y": mean}, {"y": mean}, np.arange(samples) % 2 == 0)


def test_names_follow_the_measure():
    assert known_metrics((GAP, SHARE)) == ("gap_median", "gap_p95", "gap_max", "gap_mean", "share")
    assert primary_metric((GAP, SHARE)) == "gap_median"
    with pytest.raises(DataError, match="without measures"):
        primary_metric(())


def test_reductions_are_the_usual_ones():
    values = {"gap": np.arange(101.0)}
    metrics = by_name(reduce_measures((GAP,), values, ("",) * 101, resamples=10))
    assert [metrics[name].value for name in ("gap_median", "gap_p95", "gap_max", "gap_mean")] == [50, 95, 100, 50]
    assert metrics["gap_p95"].unit == "K"
    assert metrics["gap_p95"].how == "95th percentile over samples of the mean absolute error of a sample"
    assert metrics["gap_p95"].samples == 101


def test_the_interval_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).normal(5.0, 2.0, 400)
    metric = by_name(reduce_measures((GAP,), {"gap": values}, ("",) * 400, resamples=4000))["gap_mean"]
    half = norm.ppf(0.975) * values.std() / np.sqrt(400)
    assert metric.low == pytest.approx(values.mean() - half, abs=0.02)
    assert metric.high == pytest.approx(values.mean() + half, abs=0.02)


def test_samples_of_one_group_are_drawn_together():
    # 10 groups of 40 equal samples are 10 independent numbers, not 400.
    levels = np.random.default_rng(1).normal(5.0, 2.0, 10)
    values, groups = np.repeat(levels, 40), tuple(f"g{i}" for i in range(10) for _ in range(40))
    grouped = by_name(reduce_measures((GAP,), {"gap": values}, groups, resamples=2000))["gap_mean"]
    alone = by_name(reduce_measures((GAP,), {"gap": values}, ("",) * 400, resamples=2000))["gap_mean"]
    ratio = (grouped.high - grouped.low) / (alone.high - alone.low)
    assert ratio == pytest.approx(np.sqrt(40), rel=0.15)


def test_the_same_seed_gives_the_same_interval():
    values = {"gap": np.random.default_rng(1).normal(size=50)}
    one = reduce_measures((GAP,), values, ("",) * 50, seed=3, resamples=50)
    assert one == reduce_measures((GAP,), values, ("",) * 50, seed=3, resamples=50)
    assert one != reduce_measures((GAP,), values, ("",) * 50, seed=4, resamples=50)
    assert resample_rows((), 5, 0) == []


def test_a_sample_that_is_no_number_spoils_the_metric_and_says_so():
    metrics = by_name(reduce_measures((GAP,), {"gap": np.array([1.0, np.nan, 2.0])}, ("",) * 3, resamples=20))
    assert np.isnan(metrics["gap_median"].value)
    assert np.isnan(metrics["gap_max"].value)
    assert np.isnan(metrics["gap_max"].low)
    assert metrics["gap_max"].to_json()["value"] is None


def test_no_sample_is_no_evidence():
    with pytest.raises(DataError, match="no sample to judge"):
        reduce_measures((GAP,), {"gap": np.zeros(0)}, ())


def test_a_measure_must_give_a_number_a_sample():
    table, prediction = case(4)
    wrong = Measure("wrong", "1", "wrong", lambda truth, prediction: np.zeros(3))
    with pytest.raises(DataError, match=r"'wrong' must give one number for each of 4 samples.*\(3,\)"):
        measure_samples((wrong,), table, prediction)


def test_the_worst_come_first_with_their_inputs():
    table, prediction = case(5)
    worst = extremes(table, prediction, np.array([1.0, 5.0, np.nan, 4.0, 0.0]), 3)
    assert [sample.row for sample in worst] == [2, 1, 3]
    assert worst[1].inputs == {"x": 1.0, "word": "w"}
    assert worst[1].id == "s1"
    assert [sample.in_domain for sample in worst] == [True, False, False]
    assert worst[0].to_json()["value"] is None


def test_observed_coverage_of_normal_residuals_is_nominal():
    table, prediction = case(400)
    factors = tuple(float(norm.ppf(0.5 + level / 2)) for level in LEVELS)
    (curve,) = coverage_curves(
        Calibration({"y": ColumnCalibration(0.0, factors)}, 100), table, prediction, resamples=50
    )
    assert curve.output == "y"
    for nominal, observed, low, high in zip(curve.nominal, curve.observed, curve.low, curve.high, strict=True):
        assert observed == pytest.approx(nominal, abs=0.01)
        assert low <= observed <= high


def test_overconfident_intervals_are_seen():
    table, prediction = case(400, noise=2.0)
    factors = tuple(float(norm.ppf(0.5 + level / 2)) for level in LEVELS)
    (curve,) = coverage_curves(
        Calibration({"y": ColumnCalibration(0.0, factors)}, 100), table, prediction, resamples=10
    )
    at = curve.observed[curve.nominal.index(0.9)]
    assert at == pytest.approx(2 * norm.cdf(norm.ppf(0.95) / 2) - 1, abs=0.01)


def test_an_output_that_was_not_calibrated_has_no_curve():
    table, prediction = case(4)
    assert coverage_curves(Calibration({}, 100), table, prediction, resamples=10) == ()
