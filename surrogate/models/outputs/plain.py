"""The output itself: the training mean subtracted, one common scale for all elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.outputs.base import Head, spread
from surrogate.models.protocols import Rows

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True, slots=True, eq=False)
class PlainOutput:
    """Mean and scale of a column.

    Attributes:
        column: Name of the output column.
        mean: `[*shape]` float64.
        scale: Root mean square deviation from the mean over all elements of the training rows.
    """

    column: str
    mean: NDArray[np.float64]
    scale: float

    @classmethod
    def fit(cls, column: str, values: NDArray[np.float64]) -> PlainOutput:
        """Fit on training rows `[R, *shape]`."""
        mean = np.asarray(values.mean(axis=0), dtype=np.float64)
        return cls(column, mean, spread(values, mean))

    @property
    def heads(self) -> tuple[Head, ...]:
        """One head of all elements."""
        return (Head(self.column, int(self.mean.size)),)

    def targets(self, features: NDArray[np.float64], values: NDArray[np.float64]) -> Rows:  # noqa: ARG002 - protocol
        """Return the scaled column, `[R, size]` float32."""
        scaled = (values - self.mean) / self.scale
        return {f"{self.column}.target": scaled.reshape(len(values), -1).astype(np.float32)}

    def loss(self, outputs: Mapping[str, tf.Tensor], batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the mean squared error of each row, `[B]`."""
        import tensorflow as tf

        return tf.reduce_mean(tf.math.squared_difference(outputs[self.column], batch[f"{self.column}.target"]), axis=1)

    def decode(self, outputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the column, `[R, *shape]` float64."""
        scaled = np.asarray(outputs[self.column], dtype=np.float64)
        return scaled.reshape(len(scaled), *self.mean.shape) * self.scale + self.mean

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        return {"mean": self.mean}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {"kind": "none", "scale": self.scale}

    @classmethod
    def restore(cls, column: str, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> PlainOutput:
        """Rebuild from `arrays` and `to_json`."""
        return cls(column, np.asarray(arrays["mean"], dtype=np.float64), float(record["scale"]))
