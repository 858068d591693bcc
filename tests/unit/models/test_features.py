"""Input columns as numbers: logarithms, categories, scales, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.schema import Column, Ragged, Schema
from surrogate.models.features import InputEncoder, coordinate_features

SCHEMA = Schema((Column("m", "input"), Column("s", "input"), Column("kind", "input", dtype="str")))


def inputs(count=200, seed=0):
    random = np.random.default_rng(seed)
    return {
        "m": 10 ** random.uniform(-1, 2, count),
        "s": random.uniform(0.001, 0.3, count),
        "kind": np.asarray(["oak", "fir"])[random.integers(0, 2, count)],
    }


def test_what_is_spread_over_decades_enters_by_its_logarithm_and_nothing_else():
    encoder = InputEncoder.fit(SCHEMA, inputs())
    assert encoder.logarithmic.tolist() == [True, False, False, False]
    assert encoder.choices == {"kind": ("fir", "oak")}


def test_features_have_mean_zero_and_deviation_one():
    features = InputEncoder.fit(SCHEMA, inputs()).encode(inputs())
    assert features.shape == (200, 4)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_restored_encoder_gives_the_same_bits():
    encoder = InputEncoder.fit(SCHEMA, inputs())
    again = InputEncoder.restore(encoder.arrays(), encoder.to_json())
    np.testing.assert_array_equal(encoder.encode(inputs(seed=1)), again.encode(inputs(seed=1)))


def test_a_constant_input_and_a_point_beyond_a_logarithm_stay_finite():
    given = {**inputs(), "s": np.full(200, 0.2)}
    encoder = InputEncoder.fit(SCHEMA, given)
    outside = {"m": np.array([-1.0]), "s": np.array([0.5]), "kind": np.array(["elm"])}
    assert np.isfinite(encoder.encode(outside)).all()


def test_vectors_are_flattened():
    schema = Schema((Column("v", "input", shape=(2, 3)),))
    assert InputEncoder.fit(schema, {"v": np.random.default_rng(0).random((5, 2, 3))}).width == 6


def test_ragged_inputs_are_refused_in_a_sentence():
    schema = Schema((Column("path", "input", shape=(-1,)),))
    with pytest.raises(DataError, match=r"\['path'\] differ in length.*Choose another family"):
        InputEncoder.fit(schema, {"path": Ragged.from_list([np.zeros(2), np.zeros(3)])})


def test_an_axis_over_a_decade_enters_twice_and_a_signed_one_once():
    assert coordinate_features(np.linspace(0.1, 1.0, 10)).shape == (10, 2)
    assert coordinate_features(np.linspace(-1.0, 1.0, 10)).shape == (10, 1)
    assert coordinate_features(np.array([3.0])).tolist() == [[0.0]]
