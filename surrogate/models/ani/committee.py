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


class Committee:
    """The networks of one element, ready to be evaluated."""

    def __init__(
        self,
        networks: ElementNetworks,
        columns: NDArray[np.int64],
        scale: float,
        activation: Activation = "celu",
        dtype: Any = np.float64,
    ) -> None:
        """Fold scales and shifts into the weights.

        Args:
            networks: Of all members.
            columns: `[K]`, which features they are given.
            scale: What those are multiplied by.
            activation: Function of the hidden layers.
            dtype: float64, or float32 for speed.
        """
        self.columns, self.members, self._celu = columns, networks.members, activation == "celu"
        kernels = [kernel.astype(np.float64) for kernel in networks.kernels]
        biases = [bias.astype(np.float64) for bias in networks.biases]
        kernels[0] = kernels[0] * scale
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
        self._selected: dict[bytes, Array] = {}

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

    def energies(self, features: Array) -> Array:
        """Return the atoms' energies, `[members, n]`, of features `[n, F]`."""
        return self._hidden(features[:, self.columns], self._first)[0]

    def energies_and_gradient(self, features: Array, used: NDArray[np.bool_], *, each: bool) -> tuple[Array, Array]:
        """Return the atoms' energies and their change with the features.

        Args:
            features: `[n, F]`.
            used: `[F]`, which features can differ from zero here; the others are not looked at, and the energy's
                change with them is left zero.
            each: Whether the change of every member is wanted, or that of their mean.

        Returns:
            Energies `[members, n]`, and gradients `[n, F]` of the mean or `[members, n, F]`.
        """
        part = used[self.columns]
        places = self.columns[part]
        first = self._part(part)
        count = len(features)
        energies, slopes = self._hidden(features[:, places], first)
        share = 1.0 if each else 1.0 / self.members
        back = slopes[-1]
        back *= (share * self._kernels[-1]).transpose(0, 2, 1) if len(slopes) > 1 else self._last_flat(share)
        for layer in range(len(slopes) - 2, -1, -1):
            passed = back @ self._kernels[layer].transpose(0, 2, 1)
            if layer == 0:
                passed = passed.transpose(1, 0, 2).reshape(count, -1)
            passed *= slopes[layer]
            back = passed
        shape = (self.members, count, features.shape[1]) if each else (count, features.shape[1])
        gradient = np.zeros(shape, dtype=features.dtype)
        if each:
            split = first.reshape(len(places), self.members, -1).transpose(1, 2, 0)
            gradient[:, :, places] = back.reshape(count, self.members, -1).transpose(1, 0, 2) @ split
        else:
            gradient[:, places] = back @ first.T
        return energies, gradient

    def _last_flat(self, share: float) -> Array:
        """Return the weights of the last layer beside each other, for a network of one hidden layer."""
        return np.asarray((share * self._kernels[-1][:, :, 0]).reshape(-1))

    def _part(self, part: NDArray[np.bool_]) -> Array:
        """Return the rows of the first layer that belong to some features."""
        if part.all():
            return self._first
        key = part.tobytes()
        if key not in self._selected:
            # One batch after the other asks for the same few; a stranger list is not worth keeping.
            if len(self._selected) > 16:
                self._selected.clear()
            self._selected[key] = np.ascontiguousarray(self._first[part])
        return self._selected[key]
