"""Dense networks in Keras, initialised by explicit seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surrogate.core.errors import MissingExtraError
from surrogate.models.outputs.base import Head

if TYPE_CHECKING:
    import keras


def load_keras() -> Any:
    """Import Keras on TensorFlow, quietly, and return the module.

    Raises:
        MissingExtraError: If one of them is not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    try:
        import keras
        import tensorflow as tf  # noqa: F401 - Keras would say less clearly that it is missing
    except ImportError as error:
        raise MissingExtraError("Training a network", "train") from error
    return keras


class SeedLine:
    """A line of seeds for the layers of one network: the same seed gives the same line."""

    def __init__(self, seed: int) -> None:
        """Begin the line.

        Args:
            seed: Any non-negative integer.
        """
        self._random = np.random.default_rng(seed)

    def next(self) -> int:
        """Return the next seed, below 2³¹."""
        return int(self._random.integers(2**31 - 1))


def dense_network(
    inputs: int, heads: Sequence[Head], *, width: int, depth: int, activation: str, positions_width: int, seed: int
) -> keras.Model:
    """Return a network with one input `inputs` `[B, inputs]` and one output a head, named after it.

    Heads of one trunk stand on one stack of `depth` hidden layers. Weights start as Glorot & Bengio (AISTATS 2010)
    proposed, biases at zero.

    Args:
        inputs: Number of features D.
        heads: The outputs.
        width: Units of a hidden layer of the trunk `values`.
        depth: Hidden layers of each trunk.
        activation: Name of Keras's activation function.
        positions_width: Units of a hidden layer of the trunk `positions`.
        seed: Fixes all initial weights.
    """
    keras = load_keras()
    seeds = SeedLine(seed)

    def dense(units: int, name: str, function: str | None) -> Any:
        start = keras.initializers.GlorotUniform(seed=seeds.next())
        return keras.layers.Dense(units, activation=function, kernel_initializer=start, name=name)

    given = keras.Input((inputs,), name="inputs", dtype="float32")
    outputs: dict[str, Any] = {}
    for trunk in dict.fromkeys(head.trunk for head in heads):
        units = width if trunk == "values" else positions_width
        hidden = given
        for layer in range(depth):
            hidden = dense(units, f"{trunk}_{layer}", activation)(hidden)
        for number, head in enumerate(heads):
            if head.trunk == trunk:
                outputs[head.name] = dense(head.size, f"{trunk}_head_{number}", None)(hidden)
    return keras.Model({"inputs": given}, outputs)
