"""Proper orthogonal decomposition of an output: the network predicts coefficients of the leading modes.

The modes are the right singular vectors of the training rows after their mean was subtracted (Sirovich, Q. Appl. Math.
45, 1987). All coefficients share one scale: standardising each by itself would make noise of the last modes as
important as the first mode.
"""

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
class PodOutput:
    """Mean, modes and the common scale of their coefficients.

    Attributes:
        column: Name of the output column.
        mean: `[*shape]` float64.
        modes: `[K, size]` float64, orthonormal rows.
        scale: Root mean square deviation from the mean, summed over the elements of a row.
    """

    column: str
    mean: NDArray[np.float64]
    modes: NDArray[np.float64]
    scale: float

    @classmethod
    def fit(cls, column: str, values: NDArray[np.float64], modes: int) -> PodOutput:
        """Fit on training rows.

        Args:
            column: Name of the output column.
            values: `[R, *shape]`.
            modes: Number of modes; no more than rows and elements allow are kept.
        """
        mean = np.asarray(values.mean(axis=0), dtype=np.float64)
        deviation = (values - mean).reshape(len(values), -1)
        if deviation.shape[0] > 4 * deviation.shape[1]:
            # Many rows: the modes from the smaller Gram matrix, at a fraction of the work.
            _, vectors = np.linalg.eigh(deviation.T @ deviation)
            right = vectors[:, ::-1].T
        else:
            right = np.linalg.svd(deviation, full_matrices=False)[2]
        scale = spread(values, mean) * np.sqrt(deviation.shape[1])
        return cls(column, mean, np.ascontiguousarray(right[:modes]), float(scale))

    @property
    def heads(self) -> tuple[Head, ...]:
        """One head of all coefficients."""
        return (Head(self.column, len(self.modes)),)

    def targets(self, features: NDArray[np.float64], values: NDArray[np.float64]) -> Rows:  # noqa: ARG002 - protocol
        """Return the scaled coefficients `[R, K]`, and what the modes cannot express of each row `[R]`, float32."""
        deviation = (values - self.mean).reshape(len(values), -1) / self.scale
        coefficients = deviation @ self.modes.T
        rest = np.sum(deviation**2, axis=1) - np.sum(coefficients**2, axis=1)
        return {
            f"{self.column}.target": coefficients.astype(np.float32),
            f"{self.column}.rest": np.maximum(rest, 0.0).astype(np.float32),
        }

    def loss(self, outputs: Mapping[str, tf.Tensor], batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the mean squared error of each row's field, the part outside the modes included, `[B]`."""
        import tensorflow as tf

        difference = tf.math.squared_difference(outputs[self.column], batch[f"{self.column}.target"])
        return tf.reduce_sum(difference, axis=1) + batch[f"{self.column}.rest"]

    def decode(self, outputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the column, `[R, *shape]` float64."""
        coefficients = np.asarray(outputs[self.column], dtype=np.float64) * self.scale
        return (coefficients @ self.modes).reshape(len(coefficients), *self.mean.shape) + self.mean

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        return {"mean": self.mean, "modes": self.modes}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {"kind": "pod", "scale": self.scale}

    @classmethod
    def restore(cls, column: str, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> PodOutput:
        """Rebuild from `arrays` and `to_json`."""
        mean, modes = (np.asarray(arrays[key], dtype=np.float64) for key in ("mean", "modes"))
        return cls(column, mean, modes, float(record["scale"]))
