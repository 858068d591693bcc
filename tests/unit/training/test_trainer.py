"""The loop in one process: it learns, stops early, stops on request, goes on bit by bit, and ends in sentences."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from surrogate.core.errors import TrainingError
from surrogate.models.mlp import FAMILY, MlpOptions
from surrogate.training.checkpoint import CheckpointFolder
from surrogate.training.config import TrainConfig
from surrogate.training.group import Single
from surrogate.training.progress import ProgressLog, read_progress
from surrogate.training.trainer import Drained, Trainer, member_seed
from tests.support.fields import table

pytestmark = pytest.mark.train

OPTIONS = MlpOptions(width=8, depth=1, output_transform="pod", modes=4)
TRAIN, TUNE = table(21), table(6, seed=1)
SHORT = {"epochs": 12, "batch_size": 8, "warmup_steps": 2, "steps_per_call": 6, "learning_rate": 1e-2, "xla": False}


def trainer(folder, *, rows=None, stop=lambda: False, **changes):
    """Return a trainer of a tiny network in one process."""
    from surrogate.training.steps import Evaluator, Stepper

    config = TrainConfig(**{**SHORT, **changes})
    transforms = FAMILY.fit(TRAIN, OPTIONS, 0)
    model = FAMILY.build(transforms, OPTIONS, 0)
    rows = FAMILY.rows(transforms, TRAIN) if rows is None else rows
    group = Single()
    stepper = Stepper(model, lambda network, batch: FAMILY.loss(transforms, network, batch), rows, config, group)
    return Trainer(
        stepper,
        Evaluator(stepper, FAMILY, transforms, FAMILY.rows(transforms, TUNE), group),
        lambda seed: [variable.numpy() for variable in FAMILY.build(transforms, OPTIONS, seed).variables],
        config,
        group,
        folder=CheckpointFolder(folder / "checkpoints"),
        key="key",
        log=ProgressLog(folder),
        stop_requested=stop,
    )


def assert_same(one, other):
    for first, second in zip(one.weights, other.weights, strict=True):
        np.testing.assert_array_equal(first, second)
    assert one.state.history == other.state.history


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return trainer(tmp_path_factory.mktemp("undisturbed")).train(2, seed=5)


def test_losses_fall_and_members_differ(undisturbed):
    for member in undisturbed:
        assert member.state.history.train[-1] < 0.5 * member.state.history.train[0]
        assert member.state.history.epoch == [2, 4, 6, 8, 10, 12]
        assert member.state.best == min(member.state.history.tune)
    assert not np.array_equal(undisturbed[0].weights[0], undisturbed[1].weights[0])
    assert member_seed(5, 0) != member_seed(5, 1) != member_seed(6, 1)


def test_the_same_seed_gives_the_same_weights(tmp_path, undisturbed):
    for one, other in zip(trainer(tmp_path).train(2, seed=5), undisturbed, strict=True):
        assert_same(one, other)


def test_a_stop_on_request_leaves_a_checkpoint_from_which_it_goes_on_bit_by_bit(tmp_path, undisturbed):
    asked = iter([False, False, True])
    with pytest.raises(Drained, match="after epoch 6 of member 0") as drained:
        trainer(tmp_path, stop=lambda: next(asked)).train(2, seed=5)
    assert drained.value.exit_code == 75
    for one, other in zip(trainer(tmp_path).train(2, seed=5), undisturbed, strict=True):
        assert_same(one, other)
    events = [event["event"] for event in read_progress(tmp_path)[0]]
    assert events.count("member_finished") == 2
    assert events.count("epoch") == 12


def test_a_finished_member_is_not_trained_again(tmp_path, undisturbed):
    first = trainer(tmp_path)
    first.train(1, seed=5)
    for one, other in zip(trainer(tmp_path).train(2, seed=5), undisturbed, strict=True):
        assert_same(one, other)
    begun = [event["member"] for event in read_progress(tmp_path)[0] if event["event"] == "member"]
    assert begun == [0, 1]


def test_a_damaged_checkpoint_is_told_and_the_one_before_is_used(tmp_path, undisturbed):
    calls = iter([False, False, True])
    with pytest.raises(Drained):
        trainer(tmp_path, stop=lambda: next(calls), checkpoint_every_s=1e-9).train(2, seed=5)
    newest = max((tmp_path / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:-1])
    for one, other in zip(trainer(tmp_path).train(2, seed=5), undisturbed, strict=True):
        assert_same(one, other)
    told = [event["sentence"] for event in read_progress(tmp_path)[0] if event["event"] == "checkpoint_refused"]
    assert any("is damaged" in sentence and "The one before it is used" in sentence for sentence in told)


def test_another_jobs_checkpoint_is_not_taken_up(tmp_path, undisturbed):
    asked = iter([False, True])
    with pytest.raises(Drained):
        trainer(tmp_path, stop=lambda: next(asked)).train(1, seed=6)
    other = trainer(tmp_path)
    other._key = "another"
    assert_same(other.train(1, seed=5)[0], undisturbed[0])


def test_patience_ends_a_member_and_the_best_weights_are_kept(tmp_path):
    member = trainer(tmp_path, epochs=400, patience=20, learning_rate=0.3, schedule="constant").train(1, seed=5)[0]
    assert member.state.epoch < 400
    assert member.state.epoch - member.state.best_epoch >= 20
    assert member.state.best == min(member.state.history.tune)


def test_a_time_limit_shortens_the_schedule_to_its_end(tmp_path, monkeypatch):
    # A clock by which every call takes a second.
    clock = SimpleNamespace(perf_counter=iter(range(10**9)).__next__, monotonic=lambda: 0.0)
    monkeypatch.setattr("surrogate.training.trainer.time", clock)
    member = trainer(tmp_path, epochs=100_000, max_seconds=20.0).train(1, seed=5)[0]
    assert member.state.epoch == 40
    assert member.state.history.rate[-1] < 0.2 * SHORT["learning_rate"]
    assert any("instead of 100000" in str(event.get("sentence")) for event in read_progress(tmp_path)[0])


def test_a_loss_that_is_not_finite_ends_in_a_sentence(tmp_path):
    with pytest.raises(TrainingError, match=r"no longer finite after epoch \d+.*smaller learning rate"):
        trainer(tmp_path, learning_rate=1e30, epochs=50).train(1, seed=5)


def test_ranks_that_end_with_different_weights_are_refused(tmp_path):
    alone = trainer(tmp_path)
    sums = alone._group.sums
    alone._group.sums = lambda numbers: (
        sums(numbers) if "weights" not in numbers else {"weights": numbers["weights"] + 1}
    )
    with pytest.raises(TrainingError, match="ended member 0 with different weights"):
        alone.train(1, seed=5)


def test_the_best_loss_of_an_untrained_member_survives_json():
    from surrogate.training.state import State, state_from_json

    assert math.isinf(state_from_json(State(3).to_json()).best)


def test_xla_changes_rounding_only(tmp_path, undisturbed):
    compiled = trainer(tmp_path, xla=True).train(1, seed=5)[0]
    np.testing.assert_allclose(compiled.state.history.tune, undisturbed[0].state.history.tune, rtol=1e-4)


def test_padding_changes_nothing(tmp_path):
    from surrogate.training.input_pipeline import Batches

    one, other = trainer(tmp_path)._stepper, trainer(tmp_path)._stepper
    other.set_state(one.weights(), one.optimizer_state())
    index = np.arange(8, dtype=np.int32)[None]
    weight = np.array([[0.2] * 5 + [0.0] * 3], np.float32)
    changed = index.copy()
    changed[0, 5:] = 17
    rates = np.array([0.1], np.float32)
    for stepper, rows in ((one, index[:, :7]), (other, changed[:, :7])):
        assert stepper.plan.share == 7
        stepper.run(Batches(rows, weight[:, :7]), rates)
    for first, second in zip(one.weights(), other.weights(), strict=True):
        np.testing.assert_array_equal(first, second)
