"""The same surrogate on both runtimes, from real Keras and ONNX files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import DataError, IntegrityError
from surrogate.core.files import read_json, write_json
from surrogate.inference.artifact import open_artifact
from surrogate.inference.compare import runtime_difference
from surrogate.inference.predictor import Predictor, restore_transforms
from surrogate.models.agreement import TOLERANCE
from tests.support import toy_surrogate as toy

pytestmark = [pytest.mark.train, pytest.mark.slow]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy artifact whose networks are Keras models, exported to ONNX by Keras."""
    import keras

    from surrogate.training.export import write_onnx

    train = toy.table(80, seed=1)
    folder = toy.write_artifact(tmp_path_factory.mktemp("both") / "artifact", train, toy.table(30, seed=2), members=2)
    artifact = open_artifact(folder)
    transforms = restore_transforms(artifact, toy.FAMILY)
    rows = toy.FAMILY.rows(transforms, train)
    names = []
    for number, weights in enumerate(toy.fit_members(transforms, train, 2)):
        features = keras.Input((weights.shape[0],), name="features")
        layer = keras.layers.Dense(weights.shape[1], use_bias=False, name="values")
        model = keras.Model({"features": features}, {"values": layer(features)})
        layer.set_weights([weights])
        model.save(folder / f"member-{number:03d}.keras")
        write_onnx(model, folder / f"member-{number:03d}.onnx", {"features": rows["features"][:2]})
        names.append({"keras": f"member-{number:03d}.keras", "onnx": f"member-{number:03d}.onnx"})
    record = read_json(folder / "surrogate.json")
    write_json(folder / "surrogate.json", {**record, "members": names})
    toy.write_manifest(folder)
    return folder


def test_both_runtimes_give_the_same_answer(both: Path):
    inputs = toy.table(20, seed=5).inputs
    onnx = Predictor.load(both, family=toy.FAMILY).predict(inputs)
    keras = Predictor.load(both, runtime="tensorflow", family=toy.FAMILY).predict(inputs)
    for pick in ("mean", "std", "lower", "upper"):
        for name in ("height", "load"):
            assert np.allclose(getattr(onnx, pick)[name], getattr(keras, pick)[name], rtol=1e-5, atol=1e-5)
    assert np.array_equal(onnx.in_domain, keras.in_domain)


def test_the_difference_is_measured_over_network_outputs(both: Path):
    difference = runtime_difference(both, toy.table(50, seed=6).inputs, family=toy.FAMILY)
    assert difference <= TOLERANCE


def test_a_network_that_was_exchanged_is_noticed(both: Path, tmp_path: Path):
    other = Path(shutil.copytree(both, tmp_path / "artifact"))
    shutil.copyfile(other / "member-001.onnx", other / "member-000.onnx")
    toy.write_manifest(other)
    assert runtime_difference(other, toy.table(50, seed=6).inputs, family=toy.FAMILY) > 100 * TOLERANCE


def test_a_damaged_keras_file_is_named(both: Path, tmp_path: Path):
    other = Path(shutil.copytree(both, tmp_path / "artifact"))
    (other / "member-000.keras").write_bytes(b"no network")
    toy.write_manifest(other)
    with pytest.raises(IntegrityError, match=r"member-000\.keras cannot be loaded by tensorflow"):
        Predictor.load(other, runtime="tensorflow", family=toy.FAMILY)


def test_one_kind_of_network_cannot_be_compared(tmp_path: Path):
    folder = toy.write_artifact(tmp_path / "artifact", toy.table(40, seed=1), toy.table(20, seed=2), members=1)
    with pytest.raises(DataError, match="carries no keras network"):
        runtime_difference(folder, toy.table(3).inputs, family=toy.FAMILY)
