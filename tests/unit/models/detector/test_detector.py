"""The family `detector` on toy chirps: rows, draws, network, exam, and a short training that makes it better."""

from __future__ import annotations

import json

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.schema import SampleTable, Schema
from surrogate.models.detector.bank import decimated
from surrogate.models.detector.exam import RATIO
from surrogate.models.detector.family import FAMILY
from surrogate.models.detector.measures import detector_measures
from surrogate.models.detector.network import STRAIN, places
from surrogate.models.detector.options import DetectorOptions
from surrogate.models.detector.waveforms import timing, whitened_rows, whiteners
from surrogate.models.protocols import DRAW, PROGRESS, Prediction
from surrogate.training.config import TrainConfig
from surrogate.training.group import Single
from tests.support.chirps import RATE, table

pytestmark = pytest.mark.train

OPTIONS = DetectorOptions(width=8, exam_noise=8)
TRAIN, UNSEEN = table(64), table(40, seed=1)


@pytest.fixture(scope="module")
def transforms():
    return FAMILY.fit(TRAIN, OPTIONS, 0)


@pytest.fixture(scope="module")
def untrained(transforms):
    return FAMILY.build(transforms, OPTIONS, 1)


def predicted(transforms, model, exam) -> Prediction:
    from surrogate.training.export import keras_forward

    mean = FAMILY.predict(transforms, [keras_forward(model)], exam.inputs)[0]
    return Prediction(mean, {}, {}, {}, np.ones(len(exam), dtype=bool))


def batch_of(transforms, count=6, step=3, progress=1.0):
    import tensorflow as tf

    rows = {name: tf.constant(array[:count]) for name, array in FAMILY.rows(transforms, TRAIN).items()}
    draw = tf.stack([tf.fill([count], step), tf.range(count)], axis=1)
    return {**rows, DRAW: draw, PROGRESS: tf.fill([count], progress)}


def test_filters_keep_the_power_and_templates_cover_the_waveforms(transforms):
    options = transforms.options
    np.testing.assert_allclose(transforms.filters @ transforms.filters.T, np.eye(len(transforms.filters)), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(transforms.templates, axis=2), 1.0, atol=1e-5)
    filters = whiteners(transforms.densities, transforms.df, RATE, filter_s=0.5, low_hz=20.0)
    reach = transforms.edge(options.peak_from), transforms.samples - transforms.edge(options.peak_to)
    rows = decimated(whitened_rows(UNSEEN.columns, timing(UNSEEN.schema), filters, reach), options.decimate)
    unseen = rows[:, 0] / np.linalg.norm(rows[:, 0], axis=1, keepdims=True)
    kept = np.sum((unseen @ transforms.filters.T) ** 2, axis=1)
    # With 64 waveforms a corner of the masses may be bare.
    assert np.quantile(kept, 0.1) > 0.98
    power = np.square(np.einsum("nr,kpr->nkp", unseen @ transforms.filters.T, transforms.templates)).sum(axis=2)
    assert np.quantile(np.sqrt(power.max(axis=1)), 0.1) > 0.9


def test_transforms_come_back_from_arrays_and_json(transforms):
    again = FAMILY.restore(TRAIN.schema, transforms.arrays(), json.loads(json.dumps(transforms.to_json())))
    assert again.options == transforms.options
    assert again.to_json() == transforms.to_json()
    for name, array in transforms.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


def test_signals_have_the_ratio_and_the_place_that_were_drawn(transforms):
    from surrogate.models.detector.draws import NUMBERS, signals, uniform

    batch = batch_of(transforms)
    numbers = uniform(batch[DRAW], (1, NUMBERS))
    windows = signals(transforms, batch["templates"], np.full(6, 9.0, np.float32), numbers).numpy()
    np.testing.assert_allclose(np.linalg.norm(windows[:, :, 0], axis=1), 9.0, rtol=1e-5)
    # Power ends within some ten milliseconds after the peak, which lies in the allowed part of the window.
    ends = [np.flatnonzero(np.cumsum(row**2) > 0.98 * 81.0)[0] / RATE for row in windows[:, :, 0]]
    assert all(0.74 < end < 0.98 for end in ends)


def test_draws_belong_to_rows_and_steps_and_not_to_batches(transforms):
    from surrogate.models.detector.draws import normal

    batch = batch_of(transforms)
    noise = normal(batch[DRAW], (2, 2048, 1)).numpy()
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - 1.0) < 0.02
    # The second half of the batch, as another rank has it, draws what it draws in the whole batch.
    np.testing.assert_array_equal(normal(batch[DRAW][3:], (2, 2048, 1)).numpy(), noise[3:])
    later = normal(batch_of(transforms, step=4)[DRAW], (2, 2048, 1)).numpy()
    flat = np.concatenate([noise, later]).reshape(-1, 2048)
    correlation = flat @ flat.T / 2048
    assert np.abs(correlation - np.diag(np.diag(correlation))).max() < 0.12


def test_the_loss_of_a_row_is_the_same_whatever_its_batch(transforms, untrained):
    batch = batch_of(transforms)
    whole = FAMILY.loss(transforms, untrained, batch).numpy()
    part = FAMILY.loss(transforms, untrained, {name: values[4:] for name, values in batch.items()}).numpy()
    np.testing.assert_allclose(part, whole[4:], rtol=1e-3)


def test_glitches_are_in_the_share_that_was_asked_for_and_no_louder(transforms):
    import tensorflow as tf

    from surrogate.models.detector.draws import NUMBERS
    from surrogate.models.detector.glitches import LEAST, glitches

    numbers = tf.random.stateless_uniform((400, 1, NUMBERS), (1, 2))
    norms = np.linalg.norm(glitches(transforms, numbers).numpy()[:, :, 0], axis=1)
    share = (norms > 0).mean()
    assert 0.15 < share < 0.35
    assert norms.max() <= transforms.options.hardening.glitch_high * 1.001
    assert norms[norms > 0].min() >= LEAST * 0.999


def test_a_spectrum_that_varies_keeps_noise_near_its_variance(transforms):
    import tensorflow as tf

    from surrogate.models.detector.draws import colour_waves, recoloured

    noise = tf.random.stateless_normal((50, 2048, 1), (3, 4))
    draw = tf.stack([tf.fill([50], 1), tf.range(50)], axis=1)
    changed = recoloured(noise, colour_waves(draw, 1)[:, 0], 0.1).numpy()
    assert np.all(np.abs(changed.std(axis=1) - 1.0) < 0.5)
    assert np.abs(changed - noise.numpy()).max() > 0.1
    np.testing.assert_allclose(recoloured(noise, colour_waves(draw, 1)[:, 0], 0.0).numpy(), noise.numpy(), atol=1e-4)


def test_ratios_fall_while_training_goes_on():
    import tensorflow as tf

    from surrogate.models.detector.draws import loudness

    numbers = tf.constant([0.0, 0.999999])
    plan = OPTIONS.curriculum
    begin, end = loudness(OPTIONS, numbers, tf.zeros(2)).numpy(), loudness(OPTIONS, numbers, tf.ones(2)).numpy()
    np.testing.assert_allclose(begin, [plan.first_low, plan.first_high], rtol=1e-4)
    np.testing.assert_allclose(end, [plan.last_low, plan.last_high], rtol=1e-4)


def test_places_cover_the_allowed_part_of_the_window(transforms):
    found = places(transforms)
    assert found[0] == pytest.approx(0.75, abs=1e-3)
    assert found[-1] == pytest.approx(0.95, abs=3e-3)


def test_an_exam_is_the_same_for_the_same_samples_and_grouped_by_them(transforms):
    exam = FAMILY.exam(transforms, UNSEEN, 5)
    again = FAMILY.exam(transforms, UNSEEN.take(np.array([7])), 5)
    each = len(OPTIONS.exam_snr) + OPTIONS.exam_noise
    assert len(exam) == len(UNSEEN) * each
    np.testing.assert_array_equal(again.columns[STRAIN], exam.columns[STRAIN][7 * each : 8 * each])
    assert set(exam.groups[:each]) == {UNSEEN.ids[0]}
    noise = exam.columns[STRAIN][exam.columns[RATIO] == 0]
    assert abs(noise.std() - 1.0) < 0.01


def test_a_short_training_separates_signals_from_noise_and_glitches(transforms):
    from surrogate.training.steps import Stepper

    model = FAMILY.build(transforms, OPTIONS, 1)
    config = TrainConfig(epochs=40, batch_size=32, xla=False)
    rows = FAMILY.rows(transforms, TRAIN)
    stepper = Stepper(model, lambda net, batch: FAMILY.loss(transforms, net, batch), rows, config, Single())
    batches = stepper.plan.epochs((1,), 0, 40, 0)
    steps = len(batches.index)
    keys, progress = np.arange(steps, dtype=np.int32), np.linspace(0, 1, steps, dtype=np.float32)
    first = slice(0, 8)
    before = stepper.run(type(batches)(batches.index[first], batches.weight[first]), np.zeros(8, np.float32))
    stepper.run(batches, np.full(steps, 3e-3, dtype=np.float32), keys, progress)
    after = stepper.run(type(batches)(batches.index[first], batches.weight[first]), np.zeros(8, np.float32))
    assert after < 0.5 * before
    exam = FAMILY.exam(transforms, UNSEEN, 5)
    prediction = predicted(transforms, model, exam)
    ratios, logit = exam.columns[RATIO], prediction.mean["logit"]
    # Every signal of ratio 12 is louder than all of 320 windows of noise.
    assert logit[ratios == 12].min() > logit[ratios == 0].max()
    found = {m.name: float(np.mean(m.per_sample(exam, prediction))) for m in detector_measures()}
    assert found["found_snr12"] == 1.0
    assert found["found_snr8"] > 0.85
    assert found["roc_area"] > 0.85
    assert found["chirp_mass_error"] < 0.1
    # Ten milliseconds are a twentieth of where a peak may be.
    assert np.all(np.abs(prediction.mean["arrival"] - 0.85) < 0.11)


def test_two_detectors_are_one_network(transforms):
    options = OPTIONS.model_copy(update={"detectors": 2})
    both = FAMILY.fit(TRAIN, options, 0)
    model = FAMILY.build(both, options, 1)
    exam = FAMILY.exam(both, UNSEEN, 5)
    assert exam.columns[STRAIN].shape[1:] == (2, 2048)
    prediction = predicted(both, model, exam)
    ratios, logit = exam.columns[RATIO], prediction.mean["logit"]
    assert np.median(logit[ratios == 12]) > logit[ratios == 0].max()
    loss = FAMILY.loss(both, model, batch_of(both)).numpy()
    assert loss.shape == (6,)
    assert np.isfinite(loss).all()


def test_columns_that_are_no_waveforms_are_refused():
    bare = SampleTable(Schema(TRAIN.schema.columns), TRAIN.ids, TRAIN.groups, TRAIN.columns)
    with pytest.raises(DataError, match="zero is the peak"):
        FAMILY.fit(bare, OPTIONS, 0)
    masses = Schema(TRAIN.schema.columns[:2])
    with pytest.raises(DataError, match="h_plus"):
        FAMILY.fit(SampleTable(masses, TRAIN.ids, TRAIN.groups, TRAIN.columns), OPTIONS, 0)


def test_a_silent_waveform_is_refused():
    columns = {**TRAIN.columns, "h_plus": np.zeros_like(TRAIN.columns["h_plus"])}
    with pytest.raises(DataError, match="silent"):
        FAMILY.fit(SampleTable(TRAIN.schema, TRAIN.ids, TRAIN.groups, columns), OPTIONS, 0)


def test_two_ranks_with_half_a_batch_do_what_one_rank_does_with_all_of_it(transforms, untrained):
    import tensorflow as tf

    from surrogate.training.input_pipeline import BatchPlan
    from surrogate.training.steps import Stepper

    rows = FAMILY.rows(transforms, TRAIN.take(np.arange(12)))
    config = TrainConfig(batch_size=12, xla=False)
    stepper = Stepper(untrained, lambda net, batch: FAMILY.loss(transforms, net, batch), rows, config, Single())

    def part(ranks, rank):
        batches = BatchPlan.of(12, 12, ranks).cut(np.arange(12), rank)
        moment = tf.constant(7), tf.constant(0.5, tf.float32)
        loss, found = stepper._gradients(tf.constant(batches.index[0]), tf.constant(batches.weight[0]), *moment)
        return [loss.numpy(), *(gradient.numpy() for gradient in found)]

    together = [one + other for one, other in zip(part(2, 0), part(2, 1), strict=True)]
    for whole, summed in zip(part(1, 0), together, strict=True):
        np.testing.assert_allclose(summed, whole, rtol=2e-3, atol=2e-4 * max(1.0, np.abs(whole).max()))
