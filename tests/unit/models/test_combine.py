"""Mean and deviation between members."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import TrainingError
from surrogate.core.schema import Ragged
from surrogate.models.combine import combine
from surrogate.models.values import cut, element_weights, flat, join, sample_means


def test_mean_and_unbiased_deviation():
    random = np.random.default_rng(0)
    members = [{"y": 1e8 + random.normal(size=(7, 3))} for _ in range(5)]
    mean, std = combine(members)
    stacked = np.stack([member["y"] for member in members])
    assert np.allclose(mean["y"], stacked.mean(axis=0), rtol=1e-15)
    assert np.allclose(std["y"], stacked.std(axis=0, ddof=1), rtol=1e-6)


def test_one_member_deviates_from_nobody():
    mean, std = combine([{"y": np.array([1.0, 2.0])}])
    assert mean["y"].tolist() == [1.0, 2.0]
    assert std["y"].tolist() == [0.0, 0.0]


def test_ragged_members_stay_ragged():
    offsets = np.array([0, 2, 3])
    mean, _ = combine(
        [{"y": Ragged(np.array([1.0, 2.0, 3.0]), offsets)}, {"y": Ragged(np.array([3.0, 2.0, 1.0]), offsets)}]
    )
    assert isinstance(mean["y"], Ragged)
    assert flat(mean["y"]).tolist() == [2.0, 2.0, 2.0]


def test_members_that_disagree_are_refused():
    with pytest.raises(TrainingError, match="disagree about the shape of output 'y'"):
        combine([{"y": np.zeros(3)}, {"y": np.zeros(4)}])
    with pytest.raises(TrainingError, match="without members"):
        combine([])


def test_sample_means_and_weights_of_both_layouts():
    ragged = Ragged(np.array([[1.0, 3.0], [5.0, 7.0], [9.0, 9.0]]), np.array([0, 2, 2, 3]))
    means = sample_means(ragged, ragged.data)
    assert means[0] == 4.0
    assert np.isnan(means[1])
    assert means[2] == 9.0
    assert element_weights(ragged).tolist() == [0.25, 0.25, 0.25, 0.25, 0.5, 0.5]
    fixed = np.arange(6.0).reshape(2, 3)
    assert sample_means(fixed, fixed).tolist() == [1.0, 4.0]
    assert element_weights(fixed).sum() == pytest.approx(2.0)


def test_cut_and_join_undo_each_other():
    columns = {"a": np.arange(5), "b": Ragged(np.arange(6.0), np.array([0, 1, 1, 3, 5, 6]))}
    parts = [cut(columns, 0, 2), cut(columns, 2, 5)]
    again = {name: join([part[name] for part in parts]) for name in columns}
    assert again["a"].tolist() == [0, 1, 2, 3, 4]
    assert again["b"].offsets.tolist() == columns["b"].offsets.tolist()
    assert again["b"].data.tolist() == columns["b"].data.tolist()
