"""What the loss draws afresh for every row, as TensorFlow operations keyed by the row: signals, noise, glitches.

All generators are stateless and keyed by a row's own seed, so that any number of ranks draws the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from surrogate.models.detector.options import DetectorOptions
from surrogate.models.detector.transforms import DetectorTransforms

if TYPE_CHECKING:
    import tensorflow as tf

NUMBERS = 32
"""Uniform numbers that are drawn for each row and detector."""

_NORMAL, _UNIFORM, _WAVES = 0, 1, 2
_LINES = 12
"""Cosines in the logarithm of a random spectrum."""


def keyed(draw: tf.Tensor, purpose: int) -> tf.Tensor:
    """Return seeds `[B, 2]` for one purpose of the seeds of the rows."""
    import tensorflow as tf

    # Steps are not negative and the tune split is −1, so that no two purposes meet.
    return tf.stack([draw[:, 0], draw[:, 1] * 8 + purpose], axis=1)


def normal(draw: tf.Tensor, shape: tuple[int, ...], purpose: int = _NORMAL) -> tf.Tensor:
    """Return standard normal numbers, `[B, *shape]` float32, from the seeds of the rows."""
    import tensorflow as tf

    def one(seed: Any) -> Any:
        return tf.random.stateless_normal(shape, seed, alg="philox")

    return tf.map_fn(one, keyed(draw, purpose), fn_output_signature=tf.TensorSpec(shape, tf.float32))


def uniform(draw: tf.Tensor, shape: tuple[int, ...]) -> tf.Tensor:
    """Return numbers even in [0, 1), `[B, *shape]` float32, from the seeds of the rows."""
    import tensorflow as tf

    def one(seed: Any) -> Any:
        return tf.random.stateless_uniform(shape, seed, alg="philox")

    return tf.map_fn(one, keyed(draw, _UNIFORM), fn_output_signature=tf.TensorSpec(shape, tf.float32))


def loudness(options: DetectorOptions, number: tf.Tensor, progress: tf.Tensor) -> tf.Tensor:
    """Return signal-to-noise ratios of the curriculum, `[B]`.

    Args:
        options: The family's options.
        number: `[B]`, even in [0, 1).
        progress: `[B]`, share of the training that is done.
    """
    import tensorflow as tf

    plan = options.curriculum
    done = tf.minimum(progress / plan.over, 1.0)
    low = plan.first_low + done * (plan.last_low - plan.first_low)
    high = plan.first_high + done * (plan.last_high - plan.first_high)
    # Most signals are faint, and so are most that are learned from.
    return low * tf.pow(high / low, tf.square(number))


def signals(transforms: DetectorTransforms, rows: tf.Tensor, ratio: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
    """Return windows with a signal of a given ratio and no noise, `[B, T, D]`.

    Phase, place of the peak, delay between detectors and their shares of the ratio are drawn.

    Args:
        transforms: How windows are cut.
        rows: `[B, 2, before + after]`, whitened polarisations around the peak.
        ratio: `[B]`, signal-to-noise ratio of all detectors together.
        numbers: `[B, D, NUMBERS]`, even in [0, 1).
    """
    import tensorflow as tf

    options, samples = transforms.options, transforms.samples
    first, last = transforms.edge(options.peak_from), transforms.edge(options.peak_to)
    reach = round(0.01 * transforms.rate) if options.detectors == 2 else 0
    place = first + reach + tf.cast(numbers[:, 0, 0] * float(last - first - 2 * reach), tf.int32)
    angle = 2.0 * math.pi * numbers[:, 0, 1]
    shares = [tf.ones_like(ratio)] if options.detectors == 1 else [tf.cos(angle / 4.0), tf.sin(angle / 4.0)]
    windows = []
    for number, share in enumerate(shares):
        delay = tf.cast(tf.round((2.0 * numbers[:, 0, 2] - 1.0) * float(reach)), tf.int32) * number
        index = (last - place - delay)[:, tf.newaxis] + tf.range(samples)[tf.newaxis]
        phase = 2.0 * math.pi * numbers[:, number, 3]
        wave = tf.cos(phase)[:, tf.newaxis] * rows[:, 0] + tf.sin(phase)[:, tf.newaxis] * rows[:, 1]
        seen = tf.gather(wave, index, batch_dims=1)
        norm = tf.sqrt(tf.reduce_sum(tf.square(seen), axis=1, keepdims=True))
        windows.append(seen / norm * (ratio * share)[:, tf.newaxis])
    return tf.stack(windows, axis=2)


def recoloured(windows: tf.Tensor, waves: tf.Tensor, spread: float) -> tf.Tensor:
    """Return windows whose spectrum is not quite what whitening took it for, `[B, T, D]`.

    The logarithm of the amplitude is a sum of slow cosines over frequency.

    Args:
        windows: `[B, T, D]`.
        waves: `[B, D, _LINES]`, normal numbers.
        spread: Standard deviation of the logarithm.
    """
    import tensorflow as tf

    series = tf.transpose(windows, [0, 2, 1])
    samples = int(series.shape[2])
    places = tf.linspace(0.0, 1.0, samples // 2 + 1)
    # Where binaries are, the lowest fifth of the band, the spectrum may vary as well as over all of it.
    places = tf.sqrt(places)
    waves = waves * (spread * math.sqrt(2.0 / _LINES))
    table = tf.cos(math.pi * tf.range(1.0, _LINES + 1.0)[:, tf.newaxis] * places[tf.newaxis])
    gain = tf.exp(tf.tensordot(waves, table, axes=1))
    changed = tf.signal.irfft(tf.signal.rfft(series) * tf.cast(gain, tf.complex64), [samples])
    return tf.transpose(changed, [0, 2, 1])


def colour_waves(draw: tf.Tensor, detectors: int) -> tf.Tensor:
    """Return the normal numbers of two random spectra of each row, `[B, 2, D, _LINES]`."""
    return normal(draw, (2, detectors, _LINES), _WAVES)
