"""A potential compiled by XLA for one topology: conformers of one molecule, all pairs and triples laid out beforehand.

Shapes are fixed, so that one compilation serves every call, on a GPU, too; forces come from automatic differentiation.
On a CPU, `surrogate.models.ani.potential` is the faster one, and needs no compilation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.ani.angular import DAMPING
from surrogate.models.ani.committee import CELU_ALPHA, ElementNetworks
from surrogate.models.ani.symmetry import SymmetryFunctions
from surrogate.models.networks import load_keras

if TYPE_CHECKING:
    import tensorflow as tf

Call = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


def compile_potential(
    functions: SymmetryFunctions,
    networks: dict[int, ElementNetworks],
    self_energies: NDArray[np.float64],
    species: NDArray[Any],
    *,
    dtype: str = "float32",
) -> Call:
    """Return a compiled function of places `[B, n, 3]` Å: energies `[B]` Ha and forces `[B, n, 3]` Ha/Å, members' mean.

    Args:
        functions: The symmetry functions.
        networks: Atomic number → networks of all members with CELU, whose outputs are in Ha and that take all features.
        self_energies: `[E]` Ha.
        species: `[n]` atomic numbers; the molecule is in free space and has at least two atoms.
        dtype: `float32` or `float64`.

    Raises:
        DataError: If an element is unknown.
        MissingExtraError: If TensorFlow is not installed.
    """
    load_keras()
    import tensorflow as tf

    kinds = functions.kinds(species)
    features = _features(functions, kinds, dtype)
    weights = {
        kind: [tf.constant(array, dtype) for pair in zip(entry.kernels, entry.biases, strict=True) for array in pair]
        for kind, entry in enumerate(networks[number] for number in functions.elements)
    }
    lone = float(np.asarray(self_energies, dtype=np.float64)[kinds].sum())

    @tf.function(jit_compile=True)
    def both(places: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(places)
            found = features(places)
            energies = tf.zeros([tf.shape(places)[0]], places.dtype)
            for kind in np.unique(kinds).tolist():
                atoms = np.flatnonzero(kinds == kind)
                energies += tf.reduce_sum(_energies(tf.gather(found, atoms, axis=1), weights[kind]), axis=1)
        return energies, -tape.gradient(energies, places)

    def call(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        energies, forces = both(tf.constant(places, dtype))
        return energies.numpy().astype(np.float64) + lone, forces.numpy().astype(np.float64)

    return call


def _features(functions: SymmetryFunctions, kinds: NDArray[np.int64], dtype: str) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return the function places `[B, n, 3]` → features `[B, n, F]`."""
    import tensorflow as tf

    count, elements = len(kinds), len(functions.elements)
    ends = np.asarray(list(itertools.permutations(range(count), 2)))
    triples = np.asarray(
        [
            (centre, *pair)
            for centre in range(count)
            for pair in itertools.combinations([other for other in range(count) if other != centre], 2)
        ],
        dtype=np.int64,
    ).reshape(-1, 3)
    radial_rows = ends[:, 0] * elements + kinds[ends[:, 1]]
    blocks = functions.pair_index[kinds[triples[:, 1]], kinds[triples[:, 2]]]
    angular_rows = triples[:, 0] * functions.pair_count + blocks
    radial_shifts, angular_shifts, angles = (
        tf.constant(values, dtype)
        for values in (functions.radial_shifts, functions.angular_shifts, functions.angle_shifts)
    )

    def cut(distance: tf.Tensor, cutoff: float) -> tf.Tensor:
        inside = 0.5 * tf.cos(np.pi / cutoff * distance) + 0.5
        return tf.where(distance < cutoff, inside, tf.zeros_like(inside))

    def summed(terms: tf.Tensor, rows: NDArray[np.int64], number: int) -> tf.Tensor:
        by_row = tf.math.unsorted_segment_sum(tf.transpose(terms, [1, 0, 2]), rows, count * number)
        return tf.reshape(tf.transpose(by_row, [1, 0, 2]), [tf.shape(terms)[0], count, -1])

    def features(places: tf.Tensor) -> tf.Tensor:
        distance = tf.norm(tf.gather(places, ends[:, 1], axis=1) - tf.gather(places, ends[:, 0], axis=1), axis=2)
        gauss = tf.exp(-functions.radial_eta * tf.square(distance[..., None] - radial_shifts))
        radial = summed(0.25 * cut(distance, functions.radial_cutoff)[..., None] * gauss, radial_rows, elements)
        if not len(triples):
            empty = tf.zeros([tf.shape(places)[0], count, functions.length - functions.radial_length], places.dtype)
            return tf.concat([radial, empty], axis=2)
        centre, first, second = (tf.gather(places, triples[:, column], axis=1) for column in range(3))
        near, far = first - centre, second - centre
        a, b = tf.norm(near, axis=2), tf.norm(far, axis=2)
        theta = tf.acos(DAMPING * tf.reduce_sum(near * far, axis=2) / (a * b))
        turned = tf.pow((1 + tf.cos(theta[..., None] - angles)) / 2, functions.zeta)
        gauss = tf.exp(-functions.angular_eta * tf.square((a + b)[..., None] / 2 - angular_shifts))
        weight = 2 * cut(a, functions.angular_cutoff) * cut(b, functions.angular_cutoff)
        terms = (weight[..., None] * gauss)[..., :, None] * turned[..., None, :]
        flat = tf.reshape(terms, [tf.shape(places)[0], len(triples), functions.angular_block])
        return tf.concat([radial, summed(flat, angular_rows, functions.pair_count)], axis=2)

    return features


def _energies(features: tf.Tensor, weights: list[tf.Tensor]) -> tf.Tensor:
    """Return the atoms' energies `[B, k]`, members' mean, of features `[B, k, F]`."""
    import tensorflow as tf

    values = features[None]
    for place in range(0, len(weights), 2):
        kernel, bias = weights[place], weights[place + 1]
        values = tf.linalg.matmul(values, kernel[:, None]) + bias[:, None, None]
        if place < len(weights) - 2:
            values = tf.maximum(values, 0) + CELU_ALPHA * (tf.exp(tf.minimum(values, 0) / CELU_ALPHA) - 1)
    return tf.reduce_mean(values[..., 0], axis=0)
