"""Glitches for the windows without signal: sine-Gaussians, blips and scattered light, as TensorFlow operations.

Forms after the classes of M. Zevin et al., Class. Quantum Grav. 34, 064003 (2017): a sine-Gaussian is a short
oscillation of any frequency, a blip one of about a cycle, and scattered light arches whose frequency follows the speed
of a swinging mirror, f(t) = f_max·|cos(2πt/T)| (T. Accadia et al., Class. Quantum Grav. 27, 194011 (2010)).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from surrogate.models.detector.transforms import DetectorTransforms

if TYPE_CHECKING:
    import tensorflow as tf

LEAST = 5.0
"""Smallest signal-to-noise ratio of a glitch."""


def glitches(transforms: DetectorTransforms, numbers: tf.Tensor) -> tf.Tensor:
    """Return windows that hold a glitch or nothing, without noise, `[B, T, D]`; only one detector has it.

    Args:
        transforms: How windows are cut.
        numbers: `[B, D, NUMBERS]`, even in [0, 1); the last ten of each are used.
    """
    import tensorflow as tf

    options = transforms.options
    chance = numbers[:, 0, -10:]
    times = tf.range(transforms.samples, dtype=tf.float32) / float(transforms.rate)
    times = times[tf.newaxis] - (0.4 + 0.6 * chance[:, :1]) * options.window_s
    phase = 2.0 * math.pi * chance[:, 1:2]
    # Frequencies are even in their logarithm, from the band's edge on.
    frequency = options.low_hz * tf.pow(25.0, chance[:, 2:3])
    quality = 2.0 * tf.pow(10.0, chance[:, 3:4])
    width = quality / (2.0 * math.pi * frequency)
    sine = tf.exp(-tf.square(times / width) / 2.0) * tf.cos(2.0 * math.pi * frequency * times + phase)
    # A blip is shorter than its period says: whitening makes about a cycle of it.
    short = 0.0015 * tf.pow(6.0, chance[:, 3:4])
    blip = tf.exp(-tf.square(times / short) / 2.0) * tf.cos(0.35 / short * 2.0 * math.pi * times / 2.0 + phase)
    period = 0.15 + 0.6 * chance[:, 3:4]
    top = options.low_hz * (1.0 + 2.5 * chance[:, 2:3])
    swing = tf.sin(2.0 * math.pi * times / (2.0 * period)) * top * 2.0 * period
    arch = tf.exp(-tf.square(times / period)) * tf.cos(swing + phase)
    kind = chance[:, 4:5]
    wave = tf.where(kind < 0.45, sine, tf.where(kind < 0.75, blip, arch))
    norm = tf.sqrt(tf.reduce_sum(tf.square(wave), axis=1, keepdims=True))
    ratio = LEAST * tf.pow(options.hardening.glitch_high / LEAST, chance[:, 5:6])
    there = tf.cast(chance[:, 6:7] < options.hardening.glitches, tf.float32)
    loud = wave / tf.maximum(norm, 1e-3) * ratio * there
    if options.detectors == 1:
        return loud[:, :, tf.newaxis]
    second = tf.cast(chance[:, 7:8] < 0.5, tf.float32)
    return tf.stack([loud * (1.0 - second), loud * second], axis=2)
