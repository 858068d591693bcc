"""Pictures of every shape that an output can have."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, SampleTable, Schema, Values
from surrogate.models.calibration import Calibration
from surrogate.models.protocols import Measure, Prediction
from surrogate.models.values import flat, rebuild, sample_means
from surrogate.validation.holdout import Consultations
from surrogate.validation.metrics import coverage_curves, extremes, measure_samples, reduce_measures
from surrogate.validation.report import ReportData
from surrogate.validation.report.axes import curves_of, input_axes
from surrogate.validation.report.fields import choose
from surrogate.validation.report.page import render_report
from surrogate.validation.validation import StratumResult, Validation

SAMPLES = 12
X = Coordinate("x", "m", (0.0, 0.5, 1.0))


def values_of(column: Column, random: np.random.Generator) -> Values:
    if column.ragged:
        lengths = random.integers(0, 6, SAMPLES)
        lengths[0] = 4
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Ragged(random.normal(size=(int(lengths.sum()), *column.shape[1:])), offsets)
    if column.dtype == "str":
        return np.array(["red", "green"])[random.integers(0, 2, SAMPLES)]
    return random.normal(size=(SAMPLES, *column.shape))


def validation_of(*columns: Column) -> Validation:
    """A surrogate that is a little wrong, with outputs of the given kinds."""
    random = np.random.default_rng(0)
    schema = Schema(columns, (X,))
    table = SampleTable(
        schema,
        tuple(f"{i:032x}" for i in range(SAMPLES)),
        ("g",) * 2 + ("",) * (SAMPLES - 2),
        {column.name: values_of(column, random) for column in columns},
    )
    numeric = [column.name for column in schema.outputs if column.dtype != "str"]
    mean = {
        name: rebuild(
            table.columns[name], flat(table.columns[name]) + 0.01 * random.normal(size=flat(table.columns[name]).shape)
        )
        for name in numeric
    }
    std = {name: rebuild(values, np.full(flat(values).shape, 0.01)) for name, values in mean.items()}
    calibration = Calibration.fit(mean, std, {name: table.columns[name] for name in numeric})
    lower, upper = calibration.interval(mean, std)
    prediction = Prediction(mean, std, lower, upper, np.ones(SAMPLES, bool))
    first = numeric[0]

    def error(truth: SampleTable, said: Prediction) -> np.ndarray:
        like = truth.columns[first]
        return np.nan_to_num(sample_means(like, np.abs(flat(said.mean[first]) - flat(like))))

    measures = (Measure("error", "1", "mean absolute error", error),)
    values = measure_samples(measures, table, prediction)
    result = StratumResult(
        "design",
        reduce_measures(measures, values, table.groups, resamples=20),
        extremes(table, prediction, values["error"], 5),
        1.0,
        table,
        prediction,
        values,
    )
    curves = coverage_curves(calibration, table, prediction, resamples=20)
    return Validation(
        "v", "any", "d" * 64, "d" * 64, "error_median", "error", {"holdout": SAMPLES}, (result,), (), curves,
        Consultations(1, 1), "none", None, "",
    )  # fmt: skip


SCALAR = Column("a", "input", "m")
KINDS = {
    "scalar": (SCALAR, Column("y", "output", "K")),
    "vector": (SCALAR, Column("y", "output", "K", shape=(3,), dims=("x",))),
    "vector without axis": (SCALAR, Column("y", "output", shape=(7,))),
    "field": (SCALAR, Column("y", "output", shape=(4, 3), dims=("t", "x"))),
    "volume": (SCALAR, Column("y", "output", shape=(5, 4, 3), dims=("z", "t", "x"))),
    "ragged": (SCALAR, Column("y", "output", shape=(RAGGED,))),
    "ragged vectors": (Column("p", "input", "angstrom", shape=(RAGGED, 3)), Column("y", "output", shape=(RAGGED, 3))),
    "words": (Column("c", "input", dtype="str"), Column("y", "output"), Column("w", "output", dtype="str")),
    "many": (SCALAR, Column("b", "input"), *(Column(f"y{i}", "output", shape=(3,)) for i in range(7))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_shape_has_a_report(kind: str):
    page = render_report(ReportData("any", validation_of(*KINDS[kind]), None, {}))
    assert "Best, median and worst samples" in page
    assert "<svg" in page


def test_curves_of_a_field_are_spread_evenly():
    column = Column("y", "output", shape=(9, 3), dims=("t", "x"))
    schema = Schema((column,), (X, Coordinate("t", "s", tuple(float(i) for i in range(9)))))
    sample = np.arange(27.0).reshape(9, 3)
    curves = curves_of(schema, column, sample)
    assert curves.names == ("t = 0 s", "t = 2 s", "t = 4 s", "t = 6 s", "t = 8 s")
    assert np.array_equal(curves.curves, sample[[0, 2, 4, 6, 8]])
    assert curves.x_label == "x [m]"
    assert curves.x.tolist() == [0.0, 0.5, 1.0]


def test_volumes_are_shown_in_their_middle_and_ragged_vectors_by_their_norm():
    column = Column("y", "output", shape=(5, 2, 3))
    sample = np.arange(30.0).reshape(5, 2, 3)
    assert np.array_equal(curves_of(Schema((column,)), column, sample).curves, sample[2])
    ragged = Column("f", "output", shape=(RAGGED, 3))
    curves = curves_of(Schema((ragged,)), ragged, np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]))
    assert curves.curves.tolist() == [[5.0, 2.0]]


def test_best_median_and_worst_are_what_they_say():
    chosen = choose(np.array([5.0, 1.0, np.nan, 3.0, 2.0]))
    assert [(entry.rank, entry.row) for entry in chosen] == [("best", 1), ("median", 3), ("worst", 2)]
    assert [entry.rank for entry in choose(np.array([1.0]))] == ["best"]


def test_inputs_are_axes_on_their_own_scale():
    from tests.support import toy_surrogate as toy

    speed, width = input_axes(toy.table(5), toy.SPACE)
    assert (speed.label, speed.logarithmic) == ("speed [m/s]", False)
    assert (width.label, width.logarithmic) == ("width [m]", True)
    assert not input_axes(toy.table(5), None)[1].logarithmic
