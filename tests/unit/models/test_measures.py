"""Measures: relative L2, root mean square error, coverage, and the names of their metrics."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.schema import Column, Ragged, SampleTable, Schema
from surrogate.models.measures import coverage, field_measures, relative_l2
from surrogate.models.protocols import Measure, Prediction


def prediction(mean, half=0.5) -> Prediction:
    lower = {name: values - half for name, values in mean.items()}
    upper = {name: values + half for name, values in mean.items()}
    std = {name: np.zeros_like(values) for name, values in mean.items()}
    return Prediction(mean, std, lower, upper, np.ones(len(next(iter(mean.values()))), bool))


def test_relative_l2_is_the_quotient_of_norms():
    truth = np.array([[3.0, 4.0], [6.0, 8.0]])
    np.testing.assert_allclose(relative_l2(truth, truth + np.array([[0.0, 5.0], [1.0, 0.0]])), [1.0, 0.1])


def test_relative_l2_of_a_sample_at_zero_stays_finite_and_counts_its_error():
    truth = np.array([[0.0, 0.0], [100.0, 0.0]])
    result = relative_l2(truth, truth + 1.0)
    assert np.isfinite(result).all()
    assert result[0] > result[1] > 0


def test_relative_l2_of_ragged_samples():
    truth = Ragged.from_list([np.array([3.0, 4.0]), np.array([10.0])])
    predicted = Ragged(truth.data + np.array([0.0, 1.0, 1.0]), truth.offsets)
    np.testing.assert_allclose(relative_l2(truth, predicted), [0.2, 0.1])


def test_coverage_is_a_share_of_each_samples_elements():
    truth = np.array([[0.0, 1.0, 2.0, 3.0]])
    np.testing.assert_allclose(coverage(truth, truth - 0.5, np.array([[1.0, 1.0, 1.0, 9.0]])), [0.75])


def test_one_column_has_bare_names_and_its_unit():
    column = Column("T", "output", unit="K", shape=(2,))
    measures = field_measures([column])
    assert [measure.name for measure in measures] == ["relative_l2", "rmse", "coverage_90"]
    assert measures[1].unit == "K"
    truth = np.array([[1.0, 1.0], [2.0, 2.0]])
    samples = SampleTable(Schema((column,)), ("a", "b"), ("", ""), {"T": truth})
    values = measures[1].per_sample(samples, prediction({"T": truth + 2.0}))
    np.testing.assert_allclose(values, [2.0, 2.0])
    assert measures[2].metrics(measures[2].per_sample(samples, prediction({"T": truth}))) == {"coverage_90": 1.0}


def test_several_columns_have_their_mean_first_and_their_own_names():
    columns = (Column("a", "output"), Column("b", "output", unit="m", shape=(2,)))
    names = [measure.name for measure in field_measures(columns)]
    assert names[:2] == ["relative_l2", "coverage_90"]
    assert {"a_relative_l2", "b_relative_l2", "a_rmse", "b_rmse", "a_coverage_90", "b_coverage_90"} == set(names[2:])
    truth = {"a": np.array([1.0]), "b": np.array([[1.0, 0.0]])}
    samples = SampleTable(Schema(columns), ("x",), ("",), dict(truth))
    off = prediction({"a": np.array([1.2]), "b": np.array([[1.0, 0.4]])})
    by_name = {measure.name: measure.per_sample(samples, off)[0] for measure in field_measures(columns)}
    assert by_name["relative_l2"] == pytest.approx((by_name["a_relative_l2"] + by_name["b_relative_l2"]) / 2)


def test_a_measure_names_its_metrics():
    measure = Measure("error", "m", "how", lambda truth, said: np.zeros(1))
    values = np.arange(101.0)
    assert measure.metrics(values) == {"error_median": 50.0, "error_p95": 95.0, "error_max": 100.0}
    assert Measure("covered", "1", "how", measure.per_sample, ("mean",)).metrics(values) == {"covered": 50.0}
