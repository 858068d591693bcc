"""Batches: equal steps on every rank, every row exactly once, nothing else decided by the number of ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surrogate.core.errors import TrainingError
from surrogate.training.input_pipeline import BatchPlan, check_finite, count_rows

counts = st.integers(1, 400)


def epoch(plan, seed=(1, 2), first=0, count=1):
    """Return index and weight of all ranks, each `[ranks, steps, b]`."""
    parts = [plan.epochs(seed, first, count, rank) for rank in range(plan.ranks)]
    return np.stack([part.index for part in parts]), np.stack([part.weight for part in parts])


@settings(max_examples=150, deadline=None)
@given(rows=counts, batch=counts, ranks=st.integers(1, 9))
def test_every_row_comes_once_and_every_rank_takes_the_same_steps(rows, batch, ranks):
    plan = BatchPlan.of(rows, batch, ranks)
    index, weight = epoch(plan)
    assert index.shape == (ranks, plan.steps, plan.share) == weight.shape
    assert sorted(index[weight > 0].tolist()) == list(range(rows))
    assert plan.batch <= batch
    np.testing.assert_allclose(weight.sum(axis=(0, 2)), 1.0, rtol=1e-5)


@settings(max_examples=60, deadline=None)
@given(rows=counts, batch=counts, ranks=st.integers(2, 9))
def test_the_ranks_together_see_the_batches_that_one_rank_sees(rows, batch, ranks):
    many, one = BatchPlan.of(rows, batch, ranks), BatchPlan.of(rows, batch, 1)
    assert many.steps == one.steps
    index, weight = epoch(many)
    alone, own = epoch(one)
    for step in range(one.steps):
        assert sorted(index[:, step][weight[:, step] > 0]) == sorted(alone[0, step][own[0, step] > 0])
        assert set(weight[:, step][weight[:, step] > 0]) == set(own[0, step][own[0, step] > 0])


def test_an_epochs_order_depends_on_seed_and_number_only():
    plan = BatchPlan.of(100, 16, 2)
    together = epoch(plan, count=3)[0]
    alone = np.concatenate([epoch(plan, first=number)[0] for number in range(3)], axis=1)
    np.testing.assert_array_equal(together, alone)
    assert not np.array_equal(epoch(plan, first=0)[0], epoch(plan, first=1)[0])
    assert not np.array_equal(epoch(plan)[0], epoch(plan, seed=(1, 3))[0])


def test_batches_are_as_equal_as_they_can_be():
    assert BatchPlan.of(257, 256, 1).batch == 129
    assert BatchPlan.of(10, 256, 4).batch == 10


def test_once_keeps_the_order():
    plan = BatchPlan.of(7, 4, 1)
    batches = plan.once(0)
    assert batches.index[batches.weight > 0].tolist() == list(range(7))


def test_no_rows_are_refused():
    with pytest.raises(TrainingError, match="training split is empty"):
        BatchPlan.of(0, 4, 1)


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(TrainingError, match="different numbers of rows"):
        count_rows({"a": np.zeros(3), "b": np.zeros(4)})


def test_rows_that_are_not_finite_are_refused_by_name():
    with pytest.raises(TrainingError, match="The tune rows hold numbers in 'b'"):
        check_finite({"a": np.zeros(3), "b": np.array([0.0, np.nan]), "c": np.zeros(3, np.int32)}, "tune")


def test_keys_of_draws_belong_to_member_and_step():
    from surrogate.training.input_pipeline import step_keys

    keys = step_keys(5, np.arange(1000))
    assert keys.dtype == np.int32
    assert keys.min() >= 0
    assert len(set(keys.tolist())) == 1000
    np.testing.assert_array_equal(step_keys(5, np.arange(400, 500)), keys[400:500])
    assert not set(step_keys(6, np.arange(1000)).tolist()) & set(keys[:10].tolist())
