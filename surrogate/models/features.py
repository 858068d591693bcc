"""Input columns as numbers for a network: logarithms where values are spread so, then mean 0 and scale 1.

A quantity is taken in its logarithm when it is positive, spans more than a factor of eight on the training rows, and
its logarithms are spread more evenly (smaller skewness) than its values. Categories become one column a choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.schema import Ragged, Schema, Values

_LOG_SPAN = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class InputEncoder:
    """Fitted scaling of the input columns.

    Attributes:
        names: The input columns, in order.
        choices: Column → its categories on the training rows, sorted; numeric columns are absent.
        logarithmic: `[D]` bool, whether a feature is the logarithm.
        least: `[D]` float64, smallest number that is put into a logarithm.
        mean: `[D]` float64.
        scale: `[D]` float64, positive.
    """

    names: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]
    logarithmic: NDArray[np.bool_]
    least: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, schema: Schema, inputs: Mapping[str, Values]) -> InputEncoder:
        """Fit on training rows.

        Args:
            schema: Names the input columns.
            inputs: Name → `[N, *shape]`, N ≥ 1.

        Raises:
            DataError: If an input is ragged, or there is no input.
        """
        names = tuple(column.name for column in schema.inputs)
        ragged = [name for name in names if isinstance(inputs[name], Ragged)]
        if ragged or not names:
            found = f"the inputs {ragged} differ in length" if ragged else "there is no input column"
            raise DataError(
                f"A network of this family needs inputs of fixed shape, and {found}. Choose another family."
            )
        choices = {
            name: tuple(sorted({str(item) for item in np.asarray(inputs[name]).ravel()}))
            for name in names
            if np.asarray(inputs[name]).dtype.kind in "USO"
        }
        raw = _raw(names, choices, inputs)
        logarithmic = _spread_logarithmically(raw)
        least = np.where(logarithmic, np.min(raw, axis=0) * 1e-3, 1.0)
        shaped = _shape(raw, logarithmic, least)
        scale = shaped.std(axis=0)
        return cls(names, choices, logarithmic, least, shaped.mean(axis=0), np.where(scale > 0, scale, 1.0))

    @property
    def width(self) -> int:
        """Number of features D."""
        return len(self.mean)

    def encode(self, inputs: Mapping[str, Values]) -> NDArray[np.float64]:
        """Return `[N, D]` float64 features; a category that training has not seen is a row of zeros in its columns.

        Args:
            inputs: Name → `[N, *shape]`, with every input present.
        """
        raw = _raw(self.names, self.choices, inputs)
        if raw.shape[1] != self.width:
            raise DataError(
                f"The inputs {list(self.names)} give {raw.shape[1]} numbers a point, and training saw {self.width}."
            )
        return (_shape(raw, self.logarithmic, self.least) - self.mean) / self.scale

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        return {
            "logarithmic": self.logarithmic, "least": self.least, "mean": self.mean, "scale": self.scale,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {"names": list(self.names), "choices": {name: list(items) for name, items in self.choices.items()}}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> InputEncoder:
        """Rebuild from `arrays` and `to_json`."""
        return cls(
            tuple(record["names"]),
            {name: tuple(items) for name, items in record["choices"].items()},
            np.asarray(arrays["logarithmic"], dtype=np.bool_),
            *(np.asarray(arrays[key], dtype=np.float64) for key in ("least", "mean", "scale")),
        )


def coordinate_features(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the features of a fixed axis that the network is asked along, `[T, F]` float64.

    The axis enters as it is and, where it is positive and spans at least a factor of four, by its logarithm beside:
    such axes are laid out by people, so that their spacing does not tell which of the two the physics follows.

    Args:
        values: `[T]` float64.
    """
    forms = [values]
    if values.min() > 0 and values.max() >= 4 * values.min():
        forms.append(np.log(values))
    stack = np.stack(forms, axis=1)
    scale = stack.std(axis=0)
    return np.asarray((stack - stack.mean(axis=0)) / np.where(scale > 0, scale, 1.0), dtype=np.float64)


def _raw(
    names: tuple[str, ...], choices: Mapping[str, tuple[str, ...]], inputs: Mapping[str, Values]
) -> NDArray[np.float64]:
    """Return all inputs side by side, `[N, D]` float64, categories as zeros and ones."""
    parts = []
    for name in names:
        values = np.asarray(inputs[name])
        count, width = len(values), int(np.prod(values.shape[1:]))
        values = values.reshape(count, width)
        if name in choices:
            values = (values[:, :, None] == np.asarray(choices[name])).reshape(count, width * len(choices[name]))
        parts.append(values.astype(np.float64))
    return np.concatenate(parts, axis=1)


def _shape(raw: NDArray[np.float64], logarithmic: NDArray[np.bool_], least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `[N, D]` with the logarithm taken where it is wanted."""
    result = raw.copy()
    result[:, logarithmic] = np.log(np.maximum(raw[:, logarithmic], least[logarithmic]))
    return result


def _spread_logarithmically(raw: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which columns of `[N, D]` are spread evenly in their logarithm rather than in their value."""
    low, high = raw.min(axis=0), raw.max(axis=0)
    candidate = (low > 0) & (high > _LOG_SPAN * np.where(low > 0, low, 1.0))
    result = np.zeros(raw.shape[1], dtype=np.bool_)
    for index in np.flatnonzero(candidate):
        result[index] = abs(_skewness(np.log(raw[:, index]))) < abs(_skewness(raw[:, index]))
    return result


def _skewness(values: NDArray[np.float64]) -> float:
    """Return the skewness of `[N]` numbers."""
    centred = values - values.mean()
    deviation = centred.std()
    return float(np.mean((centred / deviation) ** 3)) if deviation > 0 else 0.0
