"""Scalers: columns to numbers that a network can learn, and back. They are fitted on training rows only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import Ragged, Values

Floats = NDArray[np.float64]
Per = Literal["element", "column"]
CONSTANT = 1e-12
"""Spread relative to the largest value below which numbers count as constant: they differ by rounding only."""


@dataclass(frozen=True, slots=True, eq=False)
class _Affine:
    """y = (g(x) − shift) / scale, where g is log10 or nothing. All arithmetic is float64.

    Attributes:
        shift: `[*shape]` float64, or `[]` when one number serves the whole column.
        scale: Same shape, never 0; 1 where the training rows are constant.
        log: Whether the logarithm to base 10 is taken first.
    """

    shift: Floats
    scale: Floats
    log: bool = False

    def transform(self, values: Values) -> Values:
        """Scale values.

        Args:
            values: `[N, *shape]`, or Ragged of N samples with that trailing shape.

        Returns:
            The same form, float64, without unit.

        Raises:
            DataError: If the logarithm of a number that is not positive would be needed.
        """
        data = (_numbers(values, self.log) - self.shift) / self.scale
        return Ragged(data, values.offsets) if isinstance(values, Ragged) else data

    def inverse(self, values: Values) -> Values:
        """Undo `transform`: values in the column's unit, float64."""
        data = np.asarray(values.data if isinstance(values, Ragged) else values, dtype=np.float64)
        data = data * self.scale + self.shift
        if self.log:
            data = np.power(10.0, data)
        return Ragged(data, values.offsets) if isinstance(values, Ragged) else data

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, `shift` and `scale`."""
        return {"shift": self.shift, "scale": self.scale}

    @classmethod
    def _checked(cls, arrays: Mapping[str, NDArray[Any]], log: bool) -> Self:
        shift, scale = (np.asarray(arrays[name], dtype=np.float64) for name in ("shift", "scale"))
        if shift.shape != scale.shape or not (np.isfinite(shift).all() and np.isfinite(scale).all() and scale.all()):
            raise DataError("The numbers of this scaler are damaged: they must be finite, and the scale never 0.")
        return cls(shift, scale, log)


class StandardScaler(_Affine):
    """Zero mean and unit standard deviation on the training rows."""

    __slots__ = ()

    @classmethod
    def fit(cls, values: Values, *, per: Per = "element", log: bool = False) -> StandardScaler:
        """Fit on training rows.

        Args:
            values: `[N, *shape]`, or Ragged, whose rows of all samples count alike.
            per: `element` gives each element of a sample its own numbers; `column` one pair to all of them, which
                coefficients of modes need: their relative sizes are information.
            log: Take log10 first.

        Raises:
            DataError: If there is no row, or with `log` a number is not positive.
        """
        data = _rows(values, per, log)
        mean, spread = data.mean(axis=0), data.std(axis=0)
        return cls(mean, _safe(spread, np.abs(data).max(axis=0)), log)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of everything that is not an array."""
        return {"scaler": "standard", "log": self.log}


class MinMaxScaler(_Affine):
    """The training rows' range becomes [0, 1]."""

    __slots__ = ()

    @classmethod
    def fit(cls, values: Values, *, per: Per = "element", log: bool = False) -> MinMaxScaler:
        """Fit on training rows; see `StandardScaler.fit` for arguments and errors."""
        data = _rows(values, per, log)
        low, high = data.min(axis=0), data.max(axis=0)
        return cls(low, _safe(high - low, np.abs(data).max(axis=0)), log)

    @classmethod
    def from_bounds(cls, low: float, high: float, *, log: bool = False) -> MinMaxScaler:
        """Use declared bounds instead of data.

        Raises:
            DataError: If low is not less than high, or with `log` not positive.
        """
        if not low < high:
            raise DataError(f"The bounds {low:g} and {high:g} span no range.")
        ends = _numbers(np.asarray([low, high]), log)
        return cls(ends[0], ends[1] - ends[0], log)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of everything that is not an array."""
        return {"scaler": "minmax", "log": self.log}


Scaler = StandardScaler | MinMaxScaler
_KINDS: dict[str, type[StandardScaler | MinMaxScaler]] = {"standard": StandardScaler, "minmax": MinMaxScaler}


def restore_scaler(arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> Scaler:
    """Rebuild a scaler from its `arrays` and `to_json`.

    Raises:
        DataError: If they are not a scaler's.
    """
    try:
        return _KINDS[record["scaler"]]._checked(arrays, bool(record["log"]))  # noqa: SLF001 - the same module
    except KeyError as error:
        raise DataError(f"This is no scaler: {error} is missing or unknown.") from error


def _numbers(values: Values, log: bool) -> Floats:
    data = np.asarray(values.data if isinstance(values, Ragged) else values, dtype=np.float64)
    if log:
        if data.size and not data.min() > 0.0:
            raise DataError(
                f"A logarithm was asked for, and the smallest value is {data.min():g}; it must be positive."
            )
        data = np.log10(data)
    return data


def _rows(values: Values, per: Per, log: bool) -> Floats:
    data = _numbers(values, log)
    if data.shape[0] == 0 or data.size == 0:
        raise DataError("A scaler cannot be fitted: there is no training row.")
    return data.reshape(-1) if per == "column" else data


def _safe(spread: NDArray[Any], largest: NDArray[Any]) -> Floats:
    spread, largest = np.asarray(spread, dtype=np.float64), np.asarray(largest, dtype=np.float64)
    return np.where(spread > CONSTANT * largest, spread, 1.0)
