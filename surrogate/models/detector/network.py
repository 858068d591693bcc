"""The network: filters and templates as convolutions, evidence summed over them, and a look at what is no signal.

The first three convolutions start as a compressed bank of templates made of the training waveforms (see `bank`), and
stay so unless `train_filters` is set; they are a matched filter. exp(βₖ·|z|² + bₖ), z the output of template k at a
time t, is up to constants the likelihood ratio of a signal there, maximal over amplitude and phase. The logarithm of
its sum over all k and t replaces the loudest template: β, b and everything behind are learned, so that the prior of
masses counts, neighbours add up, and what fits no template as a signal does speaks against one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surrogate.models.detector.bank import low_pass
from surrogate.models.detector.options import DetectorOptions
from surrogate.models.detector.transforms import DetectorTransforms
from surrogate.models.networks import SeedLine, load_keras

if TYPE_CHECKING:
    import keras

STRAIN = "strain"
_LIGHT_S = 0.0105
"""Light travel time between Hanford and Livingston, s, rounded up."""

_KNEE = 20.0
"""Logarithm of the evidence above which it is compressed; the order of any two windows stays."""


def places(transforms: DetectorTransforms) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the time in the window, s, of a peak at each place that is looked at, `[P]` float32."""
    options = transforms.options
    taps, length = len(low_pass(options.decimate)), transforms.filters.shape[1]
    last = (transforms.samples - taps) // options.decimate + 1 - length
    found = transforms.edge(options.peak_from) + options.decimate * np.arange(0, last + 1, options.stride)
    return np.asarray(found / transforms.rate, dtype=np.float32)


def build_network(transforms: DetectorTransforms, options: DetectorOptions, seed: int) -> keras.Model:
    """Return a network: `strain` `[B, T, D]` → `logit` `[B, 1]`, `log_masses` `[B, 2]`, `arrival` `[B, 1]` (s).

    Args:
        transforms: Filters and templates.
        options: The family's options.
        seed: Fixes the initial weights of what is no filter.
    """
    keras = load_keras()
    parts = _Parts(keras, transforms, options, seed)
    given = keras.Input((transforms.samples, options.detectors), name=STRAIN, dtype="float32")
    slow = [parts.low_pass(given[:, :, number : number + 1]) for number in range(options.detectors)]
    filtered = [parts.filters(series) for series in slow]
    power = parts.power(filtered)
    evidence = parts.evidence(power)
    total = keras.ops.logsumexp(evidence, axis=(1, 2), keepdims=True)
    share = keras.ops.exp(evidence - total)
    arrival = parts.arrival(keras.ops.sum(share, axis=2))
    log_masses = parts.log_masses(keras.ops.sum(share, axis=1))
    # It grows as the square of a signal's ratio, and a loud glitch must not outweigh whatever speaks against it.
    loudness = _KNEE * keras.ops.arcsinh(keras.ops.reshape(total, (-1, 1)) / _KNEE)
    unlike = parts.unlike(filtered, power, share)
    logit = parts.logit(loudness, log_masses, unlike, slow)
    model = keras.Model({STRAIN: given}, {"logit": logit, "log_masses": log_masses, "arrival": arrival})
    parts.fill()
    return model


class _Parts:
    """The layers, and what they begin with."""

    def __init__(self, keras: Any, transforms: DetectorTransforms, options: DetectorOptions, seed: int) -> None:
        self._keras, self._options, self._seeds = keras, options, SeedLine(seed)
        self._transforms = transforms
        self._count, self._width = len(transforms.templates), transforms.filters.shape[0]
        self._places = places(transforms)
        taps, layers = low_pass(options.decimate), keras.layers
        free = options.train_filters
        self.low_pass = layers.Conv1D(
            1, len(taps), strides=options.decimate, use_bias=False, name="low_pass", trainable=False
        )
        self.filters = layers.Conv1D(
            self._width, transforms.filters.shape[1], strides=options.stride, use_bias=False, name="filters",
            trainable=free,
        )  # fmt: skip
        self._templates = layers.Conv1D(2 * self._count, 1, use_bias=False, name="templates", trainable=free)
        self.evidence = layers.DepthwiseConv1D(
            1, depthwise_initializer=keras.initializers.Constant(0.5), name="evidence"
        )
        self.arrival = layers.Dense(1, use_bias=False, name="arrival", trainable=False)
        self.log_masses = layers.Dense(2, use_bias=False, name="log_masses")
        # What is expected of noise alone: the logarithm of how many places and templates there are, and a little.
        offset = -float(np.log(len(self._places) * self._count)) - 4.0
        self._base = layers.Dense(
            1, name="base", kernel_initializer="ones", bias_initializer=keras.initializers.Constant(offset)
        )

    def fill(self) -> None:
        """Set filters, templates and masses, once the layers are built."""
        own = self._transforms
        self.low_pass.set_weights([low_pass(self._options.decimate).astype(np.float32)[:, None, None]])
        self.filters.set_weights([np.ascontiguousarray(own.filters.T[:, None, :])])
        both = np.concatenate([own.templates[:, 0], own.templates[:, 1]])
        self._templates.set_weights([np.ascontiguousarray(both.T[None])])
        self.arrival.set_weights([self._places[:, None]])
        self.log_masses.set_weights([np.log(own.masses).astype(np.float32)])

    def power(self, filtered: list[Any]) -> Any:
        """Return |z|² of each template at each place, `[B, P, K]`, of all detectors together."""
        ops, found = self._keras.ops, []
        for series in filtered:
            phases = self._templates(series)
            found.append(ops.square(phases[:, :, : self._count]) + ops.square(phases[:, :, self._count :]))
        if len(found) == 1:
            return found[0]
        step = self._options.stride * self._options.decimate / self._transforms.rate
        reach = 2 * int(np.ceil(_LIGHT_S / step)) + 1
        return found[0] + self._keras.layers.MaxPooling1D(reach, strides=1, padding="same")(found[1])

    def unlike(self, filtered: list[Any], power: Any, share: Any) -> Any:
        """Return how much power the filters see beside the likeliest template, `[B, 2]`.

        The logarithm of it over that of noise, and over the power that the template explains.

        In noise with a signal it is near that of as many squares of normal numbers as there are filters; a glitch,
        which excites filters that its best template does not use, leaves more (B. Allen, Phys. Rev. D 71, 062001
        (2005)).
        """
        ops = self._keras.ops
        weight = ops.sum(share, axis=2)
        seen = sum(ops.sum(ops.sum(ops.square(series), axis=2) * weight, axis=1, keepdims=True) for series in filtered)
        explained = ops.sum(ops.sum(power * share, axis=2), axis=1, keepdims=True)
        rest = ops.log(ops.maximum(seen - explained, 1.0))
        noise = float(np.log(self._width * len(filtered)))
        return ops.concatenate([rest - noise, rest - ops.log(1.0 + explained)], axis=1)

    def logit(self, loudness: Any, log_masses: Any, unlike: Any, slow: list[Any]) -> Any:
        """Return the raw logit, `[B, 1]`."""
        keras, layers, width = self._keras, self._keras.layers, self._options.width
        ops = keras.ops

        def start() -> Any:
            return keras.initializers.GlorotUniform(seed=self._seeds.next())

        def conv(units: int, size: int, strides: int) -> Any:
            return layers.Conv1D(units, size, strides=strides, activation="relu", kernel_initializer=start())

        series = ops.concatenate(slow, axis=2) if len(slow) > 1 else slow[0]
        hidden = conv(width, 16, 2)(conv(width, 16, 4)(conv(width // 2, 16, 4)(series)))
        loudest = ops.log(1.0 + layers.GlobalMaxPooling1D()(hidden))
        root = ops.sqrt(ops.maximum(loudness, 1.0))
        energy = ops.log(ops.mean(ops.square(series), axis=(1, 2)))
        facts = ops.concatenate(
            [loudness / 30.0, root / 5.0, log_masses / 4.0, unlike, ops.reshape(energy, (-1, 1)), loudest], axis=1
        )
        for _ in range(2):
            facts = layers.Dense(width, activation="relu", kernel_initializer=start())(facts)
        correction = layers.Dense(2, kernel_initializer="zeros", name="correction")(facts)
        return self._base(loudness) + correction[:, :1] + correction[:, 1:] * loudness / 10.0
