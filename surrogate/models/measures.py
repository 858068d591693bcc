"""Measures of fields, vectors and scalars: how far a prediction is from the simulation, sample by sample.

With one output column the names are `relative_l2`, `rmse` and `coverage_90`. With several, `relative_l2` and
`coverage_90` are means over the columns, and each column `c` has `c_relative_l2`, `c_rmse` and `c_coverage_90` beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, SampleTable, Values
from surrogate.models.protocols import Measure, Prediction
from surrogate.models.values import flat, rebuild, sample_means

_LEAST_NORM = 0.01
"""A sample's norm counts as no smaller than this share of the typical norm, so that a sample near zero stays finite."""

PerSample = Callable[[SampleTable, Prediction], NDArray[np.float64]]


def root_mean_square(values: Values) -> NDArray[np.float64]:
    """Return the root mean square over each sample's elements, `[N]`, in the column's unit."""
    return np.sqrt(sample_means(values, flat(values).astype(np.float64) ** 2))


def relative_l2(truth: Values, predicted: Values) -> NDArray[np.float64]:
    """Return ‖predicted − truth‖₂ / ‖truth‖₂ of each sample, `[N]`, without unit.

    A norm below a hundredth of the root mean square of all norms counts as that hundredth.

    Args:
        truth: `[N, *shape]` or Ragged.
        predicted: Same layout and unit.
    """
    error = root_mean_square(rebuild(truth, flat(predicted).astype(np.float64) - flat(truth)))
    norm = root_mean_square(truth)
    typical = float(np.sqrt(np.nanmean(norm**2))) if len(norm) else 0.0
    norm = np.maximum(norm, _LEAST_NORM * typical)
    return np.divide(error, norm, out=np.where(error > 0, np.inf, 0.0), where=norm > 0)


def coverage(truth: Values, lower: Values, upper: Values) -> NDArray[np.float64]:
    """Return the share of each sample's elements that lie within [lower, upper], `[N]`."""
    real = flat(truth)
    return sample_means(truth, ((real >= flat(lower)) & (real <= flat(upper))).astype(np.float64))


def field_measures(columns: Sequence[Column]) -> tuple[Measure, ...]:
    """Return relative L2, root mean square error and coverage of numeric output columns; relative L2 first.

    Args:
        columns: The output columns, at least one.
    """
    names = [column.name for column in columns]
    if len(names) == 1:
        return _of_column(columns[0], "")
    parts = [_of_column(column, f"{column.name}_") for column in columns]
    relative = Measure(
        "relative_l2",
        "1",
        f"mean over {', '.join(names)} of {parts[0][0].how}",
        _mean_of([part[0].per_sample for part in parts]),
        sort="error",
    )
    covered = Measure(
        "coverage_90",
        "1",
        f"mean over {', '.join(names)} of the {parts[0][2].how}",
        _mean_of([part[2].per_sample for part in parts]),
        ("mean",),
        sort="share",
    )
    return (relative, covered, *(measure for part in parts for measure in part))


def _mean_of(functions: Sequence[PerSample]) -> PerSample:
    """Return the mean of several per-sample numbers."""

    def per_sample(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
        values = [function(truth, prediction) for function in functions]
        return np.asarray(np.mean(values, axis=0), dtype=np.float64)

    return per_sample


def _of_column(column: Column, prefix: str) -> tuple[Measure, Measure, Measure]:
    """Return the three measures of one column, their names beginning with `prefix`."""
    name = column.name

    def relative(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
        return relative_l2(truth.columns[name], prediction.mean[name])

    def rmse(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
        real = truth.columns[name]
        return root_mean_square(rebuild(real, flat(prediction.mean[name]).astype(np.float64) - flat(real)))

    def covered(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
        return coverage(truth.columns[name], prediction.lower[name], prediction.upper[name])

    return (
        Measure(
            f"{prefix}relative_l2",
            "1",
            f"‖prediction − simulation‖₂ / ‖simulation‖₂ over a sample's {name}",
            relative,
            sort="error",
        ),
        Measure(f"{prefix}rmse", column.unit, f"root mean square error over a sample's {name}", rmse, sort="error"),
        Measure(
            f"{prefix}coverage_90",
            "1",
            f"share of a sample's elements of {name} that lie in the 90 % interval calibrated on tune",
            covered,
            ("mean",),
            sort="share",
        ),
    )
