"""Networks as files: ONNX says what Keras says, and what cannot be exported is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import TrainingError
from surrogate.models.networks import dense_network, load_keras
from surrogate.models.outputs.base import Head
from surrogate.training.export import keras_forward, onnx_difference, write_keras, write_onnx

pytestmark = pytest.mark.train

HEADS = [Head("S", 5), Head("S.positions", 2, "positions")]
ROWS = {"inputs": np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)}


def network(activation="silu", seed=1):
    return dense_network(3, HEADS, width=8, depth=2, activation=activation, positions_width=4, seed=seed)


@pytest.mark.parametrize("activation", ["silu", "relu", "tanh", "elu", "softplus"])
def test_every_activation_of_the_dense_family_is_exported_faithfully(tmp_path, activation):
    model = network(activation)
    write_onnx(model, tmp_path / "m.onnx", ROWS)
    assert onnx_difference(tmp_path / "m.onnx", keras_forward(model), ROWS) < 1e-5


def test_the_exports_have_the_names_of_the_heads_and_any_number_of_rows(tmp_path):
    from surrogate.inference.runtime import runtime

    model = network()
    write_onnx(model, tmp_path / "m.onnx", ROWS)
    write_keras(model, tmp_path / "m.keras")
    expected = keras_forward(model)(ROWS)
    for name, file in (("onnx", "m.onnx"), ("tensorflow", "m.keras")):
        forward = runtime(name).open(tmp_path / file)
        for count in (300, 1, 17):
            found = forward({"inputs": ROWS["inputs"][:count]})
            assert set(found) == {"S", "S.positions"}
            np.testing.assert_allclose(found["S"], expected["S"][:count], atol=1e-5)


def test_seeds_fix_the_initial_weights():
    one, same, other = (network(seed=seed).get_weights() for seed in (1, 1, 2))
    for first, second in zip(one, same, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(one[0], other[0])


def test_heads_of_different_trunks_share_no_weights():
    shapes = [tuple(variable.shape) for variable in network().trainable_variables]
    assert shapes.count((3, 8)) == 1
    assert shapes.count((3, 4)) == 1


def test_an_export_that_differs_is_refused(tmp_path):
    write_onnx(network(seed=1), tmp_path / "m.onnx", ROWS)
    with pytest.raises(TrainingError, match="gives other numbers than Keras"):
        onnx_difference(tmp_path / "m.onnx", keras_forward(network(seed=2)), ROWS)


def test_the_difference_is_the_one_that_validation_measures(tmp_path):
    model = network()
    for variable in model.trainable_variables:
        variable.assign(10.0 * variable)
    write_onnx(model, tmp_path / "m.onnx", ROWS)
    exact = keras_forward(model)
    assert np.abs(exact(ROWS)["S"]).max() > 100.0

    def off(rows):
        return {name: values + 8e-6 * np.abs(values).max(initial=1.0) for name, values in exact(rows).items()}

    assert onnx_difference(tmp_path / "m.onnx", off, ROWS) == pytest.approx(8e-6, rel=0.15)


def test_an_operation_that_onnx_lacks_is_refused_with_the_way_out(tmp_path):
    keras = load_keras()
    given = keras.Input((3,), name="inputs")
    model = keras.Model({"inputs": given}, {"S": keras.layers.Dense(2, activation="gelu")(given)})
    with pytest.raises(TrainingError, match=r"cannot be written as ONNX.*Choose another activation"):
        write_onnx(model, tmp_path / "m.onnx", ROWS)
    assert list(tmp_path.iterdir()) == []
