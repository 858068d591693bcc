"""The networks in Keras: one layer an element, which gives the energy and its change with the features at once.

The gradient is written out, and not left to automatic differentiation, so that it is an output of the network: it can
be exported to ONNX, and a loss of forces needs first derivatives only.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import keras

from surrogate.models.ani.committee import CELU_ALPHA
from surrogate.models.networks import SeedLine


@keras.saving.register_keras_serializable(package="surrogate.ani")
class ElementNetwork(keras.layers.Layer):
    """The network of one element.

    Called with features `[B, n, K]` of n atoms of each structure and a mask `[B, n]` that is 0 where there is no atom;
    returns the summed energy `[B, 1]` and its change with the features, `[B, n, K]`.
    """

    def __init__(self, hidden: Sequence[int], activation: str = "celu", seed: int = 0, **settings: Any) -> None:
        """Remember what is built later.

        Args:
            hidden: Units of each hidden layer.
            activation: `celu` or `silu`.
            seed: Fixes the initial weights (He et al., arXiv:1502.01852, 2015).
            settings: What every layer takes, such as its name.
        """
        super().__init__(**settings)
        self.hidden, self.activation, self.seed = list(hidden), activation, seed
        self.kernels: list[Any] = []
        self.biases: list[Any] = []

    def build(self, features_shape: Sequence[int | None], mask_shape: Sequence[int | None] | None = None) -> None:  # noqa: ARG002 - the names tell Keras which argument is meant
        """Make the weights: kernel and bias of each layer, in turn."""
        sizes = [features_shape[-1], *self.hidden, 1]
        seeds = SeedLine(self.seed)
        for place, (given, made) in enumerate(itertools.pairwise(sizes)):
            start = keras.initializers.HeNormal(seed=seeds.next())
            self.kernels.append(self.add_weight(shape=(given, made), initializer=start, name=f"kernel_{place}"))
            self.biases.append(self.add_weight(shape=(made,), initializer="zeros", name=f"bias_{place}"))
        self.built = True

    def call(self, features: Any, mask: Any) -> tuple[Any, Any]:
        """Return energy and gradient."""
        ops = keras.ops
        values, slopes = features, []
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1], strict=True):
            values, slope = _activated(ops.matmul(values, kernel) + bias, self.activation)
            slopes.append(slope)
        present = ops.expand_dims(mask, -1)
        energies = (ops.matmul(values, self.kernels[-1]) + self.biases[-1]) * present
        back = slopes[-1] * self.kernels[-1][:, 0] * present
        for kernel, slope in zip(self.kernels[-2:0:-1], slopes[-2::-1], strict=True):
            back = ops.matmul(back, ops.transpose(kernel)) * slope
        return ops.sum(energies, axis=1), ops.matmul(back, ops.transpose(self.kernels[0]))

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        return {
            **super().get_config(), "hidden": self.hidden, "activation": self.activation, "seed": self.seed,
        }  # fmt: skip


def _activated(values: Any, activation: str) -> tuple[Any, Any]:
    """Return the activation's value and derivative."""
    ops = keras.ops
    if activation == "celu":
        slope = ops.exp(ops.minimum(values, 0.0) / CELU_ALPHA)
        return ops.maximum(values, 0.0) + CELU_ALPHA * (slope - 1.0), slope
    gate = ops.sigmoid(values)
    return values * gate, gate * (1.0 + values * (1.0 - gate))


def network(widths: Mapping[str, int], hidden: Mapping[str, Sequence[int]], activation: str, seed: int) -> keras.Model:
    """Return the network of one member.

    Its inputs are `features_X` `[B, n, K]` and `mask_X` `[B, n]` for each element X, its outputs `energy` `[B, 1]` and
    `gradient_X` `[B, n, K]`.

    Args:
        widths: Symbol of each element → number of its features K.
        hidden: Symbol → units of each hidden layer.
        activation: Function of the hidden layers.
        seed: Fixes all initial weights.
    """
    seeds = SeedLine(seed)
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    energies = []
    for symbol, width in widths.items():
        features = keras.Input((None, width), name=f"features_{symbol}", dtype="float32")
        mask = keras.Input((None,), name=f"mask_{symbol}", dtype="float32")
        layer = ElementNetwork(hidden[symbol], activation, seeds.next(), name=f"network_{symbol}")
        energy, gradient = layer(features, mask)
        inputs |= {f"features_{symbol}": features, f"mask_{symbol}": mask}
        outputs[f"gradient_{symbol}"] = gradient
        energies.append(energy)
    total = energies[0] if len(energies) == 1 else keras.layers.add(energies)
    return keras.Model(inputs, {"energy": total, **outputs})
