"""The contract of output transforms.

An output transform sees rows: samples, or pairs of a sample and a place along an axis that the network is asked along.
Its arrays are named after their column, so that several columns share one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from surrogate.models.protocols import Rows

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True, slots=True)
class Head:
    """One named output of a network.

    Attributes:
        name: Name of the output.
        size: Numbers a row.
        trunk: Which stack of layers it stands on; heads of different trunks share no weights.
    """

    name: str
    size: int
    trunk: Literal["values", "positions"] = "values"


class OutputTransform(Protocol):
    """Turns one output column into targets of a network, and a network's outputs into the column."""

    @property
    def column(self) -> str:
        """Name of the output column."""
        ...

    @property
    def heads(self) -> tuple[Head, ...]:
        """What the network must predict."""
        ...

    def targets(self, features: NDArray[np.float64], values: NDArray[np.float64]) -> Rows:
        """Return what `loss` needs of rows with known outputs.

        Args:
            features: `[R, D]`, what the network is given.
            values: `[R, *shape]`, the column.
        """
        ...

    def loss(self, outputs: Mapping[str, tf.Tensor], batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the mean squared error of each row over the column's variance on the training rows, `[B]`."""
        ...

    def decode(self, outputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the column, `[R, *shape]` float64, from the network's outputs `[R, size]`."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest, with `kind` in it."""
        ...


def spread(values: NDArray[np.float64], mean: NDArray[np.float64]) -> float:
    """Return the root mean square of `values − mean` over everything, or 1.0 where nothing varies.

    Args:
        values: `[R, ...]`.
        mean: What is subtracted, `[...]`.
    """
    scale = float(np.sqrt(np.mean((values - mean) ** 2)))
    # Rounding leaves a constant column with a spread of a few units in the last place.
    tiny = 1e-12 * max(1e-300, float(np.max(np.abs(mean), initial=0.0)))
    return scale if scale > tiny else 1.0
