"""The solved kernel as a network: a sum over centres, in double precision inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray


@keras.saving.register_keras_serializable(package="surrogate.kernel")
class KernelSum(keras.layers.Layer):
    """Energies of one element's atoms, and their change with the features.

    Called with features `[B, n, K]` and a mask `[B, n]`; returns the summed energy `[B, 1]` and its change with the
    features, `[B, n, K]`, float32. Large terms cancel, so that everything between is float64.
    """

    def __init__(self, centres: int, **settings: Any) -> None:
        """Remember the number of centres.

        Args:
            centres: C.
            settings: What every layer takes, such as its name.
        """
        super().__init__(**{**settings, "dtype": "float64", "autocast": False})
        self.count = centres

    def build(self, features_shape: Sequence[int | None], mask_shape: Sequence[int | None] | None = None) -> None:  # noqa: ARG002 - the names tell Keras which argument is meant
        """Make the weights: centres and coefficients, `[C, K]` each."""
        shape = (self.count, features_shape[-1])
        self.centres = self.add_weight(shape=shape, initializer="zeros", name="centres", trainable=False)
        self.coefficients = self.add_weight(shape=shape, initializer="zeros", name="coefficients", trainable=False)
        self.built = True

    def call(self, features: Any, mask: Any) -> tuple[Any, Any]:
        """Return energy and gradient; see `surrogate.models.kernel.solve` for the formula."""
        ops = keras.ops
        x = ops.cast(features, "float64")
        present = ops.expand_dims(ops.cast(mask, "float64"), -1)
        turned = ops.transpose(self.centres), ops.transpose(self.coefficients)
        own = ops.sum(ops.square(x), axis=-1, keepdims=True)
        theirs = ops.sum(ops.square(self.centres), axis=-1)
        squares = own + theirs - 2.0 * ops.matmul(x, turned[0])
        kernel = ops.exp(-0.5 * ops.maximum(squares, 0.0))
        along = ops.matmul(x, turned[1]) - ops.sum(self.centres * self.coefficients, axis=-1)
        terms = kernel * along
        total = ops.sum(terms, axis=-1, keepdims=True)
        gradient = ops.matmul(kernel, self.coefficients) + ops.matmul(terms, self.centres) - total * x
        energy = ops.sum(total * present, axis=1)
        return ops.cast(energy, "float32"), ops.cast(gradient * present, "float32")

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        config = super().get_config()
        return {"name": config["name"], "trainable": config["trainable"], "centres": self.count}


def network(centres: Mapping[str, NDArray[np.float64]], coefficients: Mapping[str, NDArray[np.float64]]) -> keras.Model:
    """Return the network of a solved kernel; inputs and outputs are those of `surrogate.models.ani.layers.network`.

    Args:
        centres: Symbol of each element → `[C, K]`.
        coefficients: Symbol → `[C, K]`.
    """
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    energies = []
    for symbol, places in centres.items():
        features = keras.Input((None, places.shape[1]), name=f"features_{symbol}", dtype="float32")
        mask = keras.Input((None,), name=f"mask_{symbol}", dtype="float32")
        layer = KernelSum(len(places), name=f"kernel_{symbol}")
        energy, gradient = layer(features, mask)
        layer.centres.assign(places)
        layer.coefficients.assign(coefficients[symbol])
        inputs |= {f"features_{symbol}": features, f"mask_{symbol}": mask}
        outputs[f"gradient_{symbol}"] = gradient
        energies.append(energy)
    total = energies[0] if len(energies) == 1 else keras.layers.add(energies)
    return keras.Model(inputs, {"energy": total, **outputs})
