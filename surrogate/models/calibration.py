"""Intervals that hold what they promise: fitted on the tune split, used everywhere else.

The half width of the interval for one element is

    h(p) = k(p) · √(s² + f²)

with s the standard deviation between members, f a floor and k(p) a factor for the nominal coverage p; f and k belong
to an output column. k(p) is the quantile of the normalised residuals |y − m| / √(s² + f²) on the tune split, every
sample weighing the same, at the level p (n + 1) / n of split conformal prediction (Lei et al., J. Am. Stat. Assoc. 113,
2018). The floor keeps the interval open where all members agree and are wrong; of a fixed ladder of fractions of the
residuals' root mean square the one with the smallest mean interval score of the 90 % interval is taken (Gneiting &
Raftery, J. Am. Stat. Assoc. 102, 2007, eq. 43).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError, TrainingError
from surrogate.core.schema import Values
from surrogate.models.values import element_weights, flat, rebuild, same_layout

NOMINAL = 0.9
"""Nominal coverage of the interval that a Prediction carries."""

LEVELS: tuple[float, ...] = (*(round(0.05 * step, 2) for step in range(1, 20)), 0.99)
"""Nominal coverages whose factors are kept, rising."""

_LADDER = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class ColumnCalibration:
    """Floor and factors of one output column.

    Attributes:
        floor: f, in the column's unit; not negative.
        factors: k at each of `LEVELS`, without unit; they never fall.
    """

    floor: float
    factors: tuple[float, ...]

    def factor(self, level: float) -> float:
        """Return k at a nominal coverage between the first and the last of `LEVELS`, linearly between them.

        Raises:
            ValueError: If the level lies outside.
        """
        if not LEVELS[0] <= level <= LEVELS[-1]:
            raise ValueError(f"Intervals are known from {LEVELS[0]} to {LEVELS[-1]}, and {level} was asked for.")
        return float(np.interp(level, LEVELS, self.factors))

    def half_width(self, std: NDArray[np.float64], level: float = NOMINAL) -> NDArray[np.float64]:
        """Return h for standard deviations of any shape, same shape and unit."""
        return self.factor(level) * np.hypot(std, self.floor)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of every numeric output column.

    Attributes:
        columns: Output name → its floor and factors.
        samples: Number of tune samples behind it.
    """

    columns: dict[str, ColumnCalibration]
    samples: int

    @classmethod
    def fit(cls, mean: Mapping[str, Values], std: Mapping[str, Values], truth: Mapping[str, Values]) -> Calibration:
        """Fit floors and factors on the tune split.

        Args:
            mean: Predicted outputs of the tune samples, name → `[N, *shape]` or Ragged.
            std: Standard deviation between members, same layout.
            truth: Simulated outputs, same names and layout.

        Raises:
            TrainingError: If a column is missing, of another shape, not finite, or there is no tune sample.
        """
        fitted: dict[str, ColumnCalibration] = {}
        samples = 0
        for name, predicted in mean.items():
            if name not in truth or not same_layout(predicted, truth[name]):
                raise TrainingError(
                    f"Output '{name}' cannot be calibrated: prediction and tune samples differ in shape."
                )
            samples = len(predicted)
            if samples == 0:
                raise TrainingError("Intervals cannot be calibrated without tune samples.")
            residual = np.abs(flat(predicted).astype(np.float64) - flat(truth[name])).ravel()
            spread = np.asarray(flat(std[name]), dtype=np.float64).ravel()
            if not (np.isfinite(residual).all() and np.isfinite(spread).all()):
                raise TrainingError(
                    f"Output '{name}' cannot be calibrated: the trained ensemble predicts numbers that are not finite. "
                    "Train with a smaller learning rate."
                )
            fitted[name] = _fit_column(residual, spread, element_weights(predicted), samples)
        return cls(fitted, samples)

    def interval(
        self, mean: Mapping[str, Values], std: Mapping[str, Values], level: float = NOMINAL
    ) -> tuple[dict[str, Values], dict[str, Values]]:
        """Return lower and upper end of the interval of every column, in the layout of `mean`.

        A column that was never calibrated has no interval: both of its ends are NaN.

        Args:
            mean: Output name → `[N, *shape]` or Ragged.
            std: Standard deviation between members, same layout.
            level: Nominal coverage.
        """
        lower: dict[str, Values] = {}
        upper: dict[str, Values] = {}
        for name, values in mean.items():
            centre = flat(values)
            if name in self.columns:
                half = self.columns[name].half_width(flat(std[name]), level)
            else:
                half = np.full(centre.shape, np.nan)
            lower[name], upper[name] = rebuild(values, centre - half), rebuild(values, centre + half)
        return lower, upper

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "samples": self.samples,
            "levels": list(LEVELS),
            "columns": {
                name: {"floor": column.floor, "factors": list(column.factors)} for name, column in self.columns.items()
            },
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Calibration:
        """Rebuild from `to_json`.

        Raises:
            IntegrityError: If the mapping is not one of `to_json`'s.
        """
        try:
            levels = [round(float(level), 6) for level in record["levels"]]
            columns = {
                str(name): ColumnCalibration(float(entry["floor"]), tuple(float(k) for k in entry["factors"]))
                for name, entry in record["columns"].items()
            }
            samples = int(record["samples"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise IntegrityError(f"This is no calibration record: {error}.") from error
        if levels != list(LEVELS) or any(len(column.factors) != len(LEVELS) for column in columns.values()):
            raise IntegrityError(f"This is no calibration record: its levels are not {LEVELS}, or a factor is missing.")
        return cls(columns, samples)


def _fit_column(
    residual: NDArray[np.float64], spread: NDArray[np.float64], weights: NDArray[np.float64], samples: int
) -> ColumnCalibration:
    """Return the floor with the smallest interval score, and its factors.

    Args:
        residual: `[E]` absolute residuals.
        spread: `[E]` standard deviations.
        weights: `[E]` weights of the elements.
        samples: Number of samples behind them.
    """
    rms = float(np.sqrt(np.average(residual**2, weights=weights)))
    if rms == 0.0:
        return ColumnCalibration(0.0, (0.0,) * len(LEVELS))
    levels = np.minimum(1.0, np.asarray(LEVELS) * (samples + 1) / samples)
    best: tuple[float, ColumnCalibration] | None = None
    for fraction in _LADDER:
        scale = np.hypot(spread, fraction * rms)
        factors = weighted_quantiles(residual / scale, weights, levels)
        column = ColumnCalibration(fraction * rms, tuple(float(k) for k in factors))
        half = column.factor(NOMINAL) * scale
        score = np.average(2 * half + 2 / (1 - NOMINAL) * np.maximum(residual - half, 0.0), weights=weights)
        if best is None or score < best[0]:
            best = (float(score), column)
    if best is None:  # pragma: no cover - the ladder is not empty
        raise TrainingError("No floor could be fitted.")
    return best[1]


def weighted_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], levels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smallest value at which the summed weight reaches each level.

    Args:
        values: `[E]` numbers.
        weights: `[E]` positive weights; they need not sum to 1.
        levels: `[L]` numbers in [0, 1].

    Returns:
        `[L]` float64.
    """
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    # A rounding of the running sum must not push a level past the last element.
    places = np.searchsorted(cumulative, levels * cumulative[-1] * (1 - 1e-12), side="left")
    picked: NDArray[np.float64] = values[order][np.minimum(places, len(values) - 1)]
    return picked
