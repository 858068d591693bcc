"""The family `mlp` without TensorFlow: rows, weights, axes that are asked along, refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from surrogate.core.errors import ConfigError, DataError
from surrogate.core.schema import Column, Ragged, SampleTable, Schema
from surrogate.models import catalog
from surrogate.models.mlp import FAMILY, MlpOptions
from tests.support.fields import CELLS, TIMES, table

TRAIN = table(40)
KINDS = [("none", ""), ("none", "t"), ("none", "x"), ("pod", ""), ("pod", "t"), ("registered", ""), ("registered", "t")]


def oracle(transforms, samples):
    """Return a network that knows the targets of `samples`."""
    rows = FAMILY.rows(transforms, samples)

    def forward(given):
        np.testing.assert_array_equal(given["inputs"], rows["inputs"])
        sizes = {head.name: head.size for output in transforms.outputs for head in output.heads}
        return {name: np.zeros((len(given["inputs"]), size), np.float32) for name, size in sizes.items()} | {
            "u": rows["u.target"].reshape(len(given["inputs"]), -1)
        }

    return forward


@pytest.mark.parametrize(("kind", "along"), KINDS)
def test_rows_have_what_the_network_and_the_loss_need(kind, along):
    transforms = FAMILY.fit(TRAIN, MlpOptions(output_transform=kind, ask_along=along), 0)
    rows = FAMILY.rows(transforms, TRAIN)
    steps = {"": 1, "t": len(TIMES), "x": CELLS}[along]
    assert {len(array) for array in rows.values()} == {40 * steps}
    assert all(array.dtype in (np.float32, np.int32) for array in rows.values())
    assert rows["inputs"].shape[1] == 2 + {"": 0, "t": 2, "x": 2}[along]
    heads = [head.name for output in transforms.outputs for head in output.heads]
    assert heads == (["u", "u.positions"] if kind == "registered" else ["u"])


@pytest.mark.parametrize("along", ["", "t", "x"])
def test_predictions_come_back_in_the_columns_shape(along):
    transforms = FAMILY.fit(TRAIN, MlpOptions(ask_along=along), 0)
    predicted = FAMILY.predict(transforms, [oracle(transforms, TRAIN)], TRAIN.inputs)
    np.testing.assert_allclose(predicted[0]["u"], TRAIN.columns["u"], atol=1e-5)


@pytest.mark.parametrize(("kind", "along"), KINDS)
def test_restored_transforms_give_the_same_rows(kind, along):
    transforms = FAMILY.fit(TRAIN, MlpOptions(output_transform=kind, ask_along=along), 0)
    again = FAMILY.restore(TRAIN.schema, transforms.arrays(), transforms.to_json())
    test = table(7, seed=1)
    for name, array in FAMILY.rows(transforms, test).items():
        np.testing.assert_array_equal(array, FAMILY.rows(again, test)[name])


def test_relative_weights_make_every_sample_as_important():
    transforms = FAMILY.fit(TRAIN, MlpOptions(), 0)
    weights = FAMILY.rows(transforms, TRAIN)["u.weight"]
    norms = np.sqrt(np.mean(np.square(TRAIN.columns["u"]), axis=(1, 2)))
    assert np.ptp(weights * norms**2) < 1e-5
    absolute = FAMILY.fit(TRAIN, MlpOptions(loss="absolute"), 0)
    assert set(FAMILY.rows(absolute, TRAIN)["u.weight"].tolist()) == {1.0}


def test_many_rows_are_answered_in_pieces(monkeypatch):
    monkeypatch.setattr("surrogate.models.mlp._ROWS_AT_ONCE", 11)
    transforms = FAMILY.fit(TRAIN, MlpOptions(ask_along="t"), 0)
    sizes = []

    def forward(given):
        sizes.append(len(given["inputs"]))
        return {"u": given["inputs"][:, :1] * np.ones((1, CELLS), np.float32)}

    predicted = FAMILY.predict(transforms, [forward], TRAIN.inputs)[0]["u"]
    assert predicted.shape == (40, len(TIMES), CELLS)
    assert max(sizes) == 10
    assert sum(sizes) == 200


@pytest.mark.parametrize(("kind", "along"), KINDS)
def test_no_points_give_no_predictions(kind, along):
    transforms = FAMILY.fit(TRAIN, MlpOptions(output_transform=kind, ask_along=along), 0)
    sizes = {head.name: head.size for output in transforms.outputs for head in output.heads}

    def forward(given):
        return {name: np.zeros((len(given["inputs"]), size), np.float32) for name, size in sizes.items()}

    assert FAMILY.predict(transforms, [forward], table(0).inputs)[0]["u"].shape == (0, len(TIMES), CELLS)


def test_several_outputs_each_have_their_own_transform():
    schema = Schema((*TRAIN.schema.columns, Column("load", "output", unit="N")), TRAIN.schema.coordinates)
    samples = SampleTable(schema, TRAIN.ids, TRAIN.groups, {**TRAIN.columns, "load": np.linspace(1.0, 2.0, 40)})
    transforms = FAMILY.fit(samples, MlpOptions(output_transform="pod"), 0)
    assert [output.to_json()["kind"] for output in transforms.outputs] == ["pod", "none"]
    assert {"u.weight", "load.weight"} <= set(FAMILY.rows(transforms, samples))
    with pytest.raises(ConfigError, match=r"asked along 't'.*'load' has the axes \[\]"):
        FAMILY.fit(samples, MlpOptions(ask_along="t"), 0)


def test_ragged_and_text_outputs_are_refused_in_a_sentence():
    ragged = Schema((Column("a", "input"), Column("path", "output", shape=(-1,))))
    columns = {"a": np.arange(3.0), "path": Ragged.from_list([np.zeros(1), np.zeros(2), np.zeros(3)])}
    with pytest.raises(DataError, match=r"\['path'\] are ragged or text. Choose another family"):
        FAMILY.fit(SampleTable(ragged, ("0", "1", "2"), ("",) * 3, columns), MlpOptions(), 0)


def test_one_sample_is_too_few():
    with pytest.raises(DataError, match="at least 2 training samples, and there are 1"):
        FAMILY.fit(TRAIN.take(np.array([0])), MlpOptions(), 0)


def test_the_family_is_in_the_catalogue_and_others_are_named_nearest():
    assert catalog.family("mlp") is FAMILY
    assert "mlp" in catalog.families()
    with pytest.raises(ConfigError, match=r"no model family 'mlpp'\. Did you mean 'mlp'"):
        catalog.family("mlpp")


def test_a_family_of_another_distribution_is_found(tmp_path, monkeypatch):
    (tmp_path / "spline.py").write_text("FAMILY = 'a family'\n")
    info = tmp_path / "spline-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: spline\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[surrogate.families]\nspline = spline:FAMILY\nbroken = spline:NOTHING\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "spline" in catalog.families()
    assert catalog.family("spline") == "a family"
    with pytest.raises(ConfigError, match=r"'broken'.*cannot be loaded"):
        catalog.family("broken")


def test_using_a_family_for_prediction_loads_no_tensorflow():
    code = (
        "import sys, surrogate.models.mlp, surrogate.models.catalog as c; c.family('mlp');"
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'keras')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
