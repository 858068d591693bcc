"""Validations of made-up surrogates with outputs of every shape."""

from __future__ import annotations

import numpy as np

from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, SampleTable, Schema, Values
from surrogate.models.calibration import Calibration
from surrogate.models.protocols import Measure, Prediction
from surrogate.models.values import flat, rebuild, sample_means
from surrogate.validation.holdout import Consultations
from surrogate.validation.metrics import coverage_curves, extremes, measure_samples, reduce_measures
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
