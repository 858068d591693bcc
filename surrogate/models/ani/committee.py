"""The networks of all members in NumPy: energies of atoms, and how they change with the features.

All members see the same features, so that their first layers are one matrix product, and the sum of their gradients
another. For CELU (α = 0.1; Barron, arXiv:1704.07483, 2017) all hidden values are held in units of α and shifted by one:
with e = exp(min(u, 0)) the value is u − min(u, 0) + e and its derivative e; scale and shift go into the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[Any]
Activation = Literal["celu", "silu"]

CELU_ALPHA = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class ElementNetworks:
    """The networks of one element, one a member.

    Attributes:
        kernels: One `[members, in, out]` a layer.
        biases: One `[members, out]` a layer.
    """

    kernels: tuple[Array, ...]
    biases: tuple[Array, ...]

    @property
    def members(self) -> int:
        """Number of members."""
        return int(self.kernels[0].shape[0])

    @classmethod
    def stack(cls, members: Sequence[Sequence[Array]]) -> ElementNetworks:
        """Join the networks of members.

        Args:
            members: For each member kernel `[in, out]` and bias `[out]` of each layer, in turn.
        """
        layers = [np.stack(arrays) for arrays in zip(*members, strict=True)]
        return cls(tuple(layers[0::2]), tuple(layers[1::2]))


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A first layer that takes some features only.

    Attributes:
        places: Where among the L computed features those are that the networks take; None for all of them.
        first: `[K, members · out]`, the first layer.
    """

    places: NDArray[np.int64] | None
    first: Array

    def of(self, features: Array) -> Array:
        """Return the features that the networks take, `[n, K]`."""
        return features if self.places is None else np.take(features, self.places, axis=1)


class Committee:
    """The networks of one element, ready to be evaluated."""

    def __init__(
        self,
        networks: ElementNetworks,
        columns: NDArray[np.int64],
        scale: NDArray[np.float64],
        activation: Activation = "celu",
        dtype: Any = np.float64,
    ) -> None:
        """Fold scales and shifts into the weights.

        Args:
            networks: Of all members.
            columns: `[K]`, which features they are given.
            scale: `[K]`, what those are multiplied by.
            activation: Function of the hidden layers.
            dtype: float64, or float32 for speed.
        """
        self.columns, self.members, self._celu = columns, networks.members, activation == "celu"
        kernels = [kernel.astype(np.float64) for kernel in networks.kernels]
        biases = [bias.astype(np.float64) for bias in networks.biases]
        kernels[0] = kernels[0] * scale[:, None]
        if self._celu:
            kernels[0], biases[0] = kernels[0] / CELU_ALPHA, biases[0] / CELU_ALPHA
            for layer in range(1, len(kernels)):
                last = layer == len(kernels) - 1
                unit = CELU_ALPHA if last else 1.0
                biases[layer] = biases[layer] / (1.0 if last else CELU_ALPHA) - unit * kernels[layer].sum(axis=1)
                kernels[layer] = unit * kernels[layer]
        width = kernels[0].shape[2]
        # Members side by side: [in, members · out].
        self._first = np.ascontiguousarray(kernels[0].transpose(1, 0, 2).reshape(-1, self.members * width), dtype)
        self._first_bias = biases[0].reshape(-1).astype(dtype)
        self._kernels = [kernel.astype(dtype) for kernel in kernels[1:]]
        self._biases = [bias[:, None, :].astype(dtype) for bias in biases[1:]]

    def _activate(self, values: Array) -> tuple[Array, Array]:
        """Return the activation's value and derivative; the argument is overwritten."""
        if self._celu:
            slope = np.minimum(values, 0)
            values -= slope
            np.exp(slope, out=slope)
            values += slope
            return values, slope
        gate = expit(values)
        slope = gate * (1 + values * (1 - gate))
        values *= gate
        return values, slope

    def _hidden(self, features: Array, first: Array) -> tuple[Array, list[Array]]:
        """Return the atoms' energies `[members, n]`, and the derivatives of the activations, layer by layer."""
        count = len(features)
        hidden = features @ first
        hidden += self._first_bias
        values, slope = self._activate(hidden)
        slopes = [slope]
        values = values.reshape(count, self.members, -1).transpose(1, 0, 2)
        for kernel, bias in zip(self._kernels[:-1], self._biases[:-1], strict=True):
            hidden = values @ kernel
            hidden += bias
            values, slope = self._activate(hidden)
            slopes.append(slope)
        energies = values @ self._kernels[-1]
        energies += self._biases[-1]
        return energies[:, :, 0], slopes

    def choose(self, present: NDArray[np.int64]) -> Chosen:
        """Return the first layer for structures in which only some features can differ from zero.

        Args:
            present: `[L]`, rising: which of the F features are computed.
        """
        known = np.isin(self.columns, present)
        places = np.searchsorted(present, self.columns[known])
        first = self._first if known.all() else np.ascontiguousarray(self._first[known])
        every = len(places) == len(present)
        return Chosen(None if every else places, first)

    def energies(self, features: Array, chosen: Chosen) -> Array:
        """Return the atoms' energies, `[members, n]`, of features `[n, L]`."""
        return self._hidden(chosen.of(features), chosen.first)[0]

    def energies_and_gradient(self, features: Array, chosen: Chosen) -> tuple[Array, Array]:
        """Return the atoms' energies `[members, n]`, and the change of their mean with the features, `[n, L]`."""
        count = len(features)
        energies, slopes = self._hidden(chosen.of(features), chosen.first)
        back = slopes[-1]
        back *= self._last_flat() if len(slopes) == 1 else self._kernels[-1].transpose(0, 2, 1)
        for layer in range(len(slopes) - 2, -1, -1):
            passed = back @ self._kernels[layer].transpose(0, 2, 1)
            if layer == 0:
                passed = passed.transpose(1, 0, 2).reshape(count, -1)
            passed *= slopes[layer]
            back = passed
        gradient = back @ chosen.first.T
        gradient *= gradient.dtype.type(1 / self.members)
        if chosen.places is None:
            return energies, gradient
        spread = np.zeros_like(features)
        spread[:, chosen.places] = gradient
        return energies, spread

    def _last_flat(self) -> Array:
        """Return the weights of the last layer beside each other, for a network of one hidden layer."""
        return np.asarray(self._kernels[-1][:, :, 0].reshape(-1))
