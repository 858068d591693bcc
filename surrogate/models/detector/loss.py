"""The loss: every row asks twice, once with its signal in fresh noise and once with noise, or a glitch, alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from surrogate.models.detector.draws import (
    NUMBERS,
    colour_waves,
    loudness,
    normal,
    recoloured,
    signals,
    uniform,
)
from surrogate.models.detector.glitches import glitches
from surrogate.models.detector.network import STRAIN
from surrogate.models.detector.transforms import DetectorTransforms
from surrogate.models.protocols import DRAW, PROGRESS, Network

if TYPE_CHECKING:
    import tensorflow as tf

TEMPLATES, LOG_MASSES, NOISE = "templates", "log_masses", "noise"


def noise_of(transforms: DetectorTransforms, batch: Mapping[str, tf.Tensor], numbers: tf.Tensor) -> tf.Tensor:
    """Return noise for both windows of each row, `[B, 2, T, D]`: simulated, or recorded where there is some."""
    import tensorflow as tf

    options = transforms.options
    made = normal(batch[DRAW], (2, transforms.samples, options.detectors))
    if NOISE not in batch:
        return made
    # One recorded window serves both questions of a row, turned round for the first, so that no answer is in it.
    real = batch[NOISE]
    real = tf.stack([real[:, ::-1], real], axis=1)
    chosen = numbers[:, 0, 4] < options.hardening.noise_share
    return tf.where(chosen[:, tf.newaxis, tf.newaxis, tf.newaxis], real, made)


def windows_of(transforms: DetectorTransforms, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
    """Return what the network is asked: B windows with signals, then B without, `[2B, T, D]`."""
    import tensorflow as tf

    options = transforms.options
    numbers = uniform(batch[DRAW], (options.detectors, NUMBERS))
    ratio = loudness(options, numbers[:, 0, 5], batch[PROGRESS])
    present = signals(transforms, batch[TEMPLATES], ratio, numbers)
    absent = glitches(transforms, numbers)
    noise = noise_of(transforms, batch, numbers)
    hardening = options.hardening
    if max(hardening.colour, hardening.signal_colour) > 0:
        waves = colour_waves(batch[DRAW], options.detectors)
        norm = tf.sqrt(tf.reduce_sum(tf.square(present), axis=[1, 2], keepdims=True))
        present = recoloured(present, waves[:, 0], hardening.signal_colour)
        present *= norm / tf.sqrt(tf.reduce_sum(tf.square(present), axis=[1, 2], keepdims=True))
        noise = tf.stack([recoloured(noise[:, side], waves[:, 1], hardening.colour) for side in (0, 1)], axis=1)
    return tf.concat([present + noise[:, 0], absent + noise[:, 1]], axis=0)


def detector_loss(transforms: DetectorTransforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
    """Return the cross-entropy of both questions and the error of the masses, `[B]`."""
    import tensorflow as tf

    windows = tf.stop_gradient(windows_of(transforms, batch))
    outputs = network({STRAIN: windows})
    logit = outputs["logit"][:, 0]
    count = tf.shape(batch[TEMPLATES])[0]
    present = tf.nn.softplus(-logit[:count])
    absent = tf.nn.softplus(logit[count:])
    masses = tf.reduce_mean(tf.square(outputs["log_masses"][:count] - batch[LOG_MASSES]), axis=1)
    return present + absent + transforms.options.mass_weight * masses
