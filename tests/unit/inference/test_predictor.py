"""One call to load, one to predict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import ConfigError, DataError, IntegrityError
from surrogate.core.files import read_json
from surrogate.inference.predictor import Predictor, join_predictions
from surrogate.inference.runtime import runtime
from tests.support import toy_surrogate as toy


def test_a_prediction_is_close_to_the_simulation(predictor: Predictor):
    exact = toy.table(50, seed=9)
    answer = predictor.predict(exact.inputs)
    assert answer.mean["height"].shape == (50, 4, 24)
    assert answer.mean["load"].shape == (50,)
    assert answer.mean["height"].dtype == np.float64
    error = toy.relative_l2(exact, answer)
    assert np.median(error) < 0.02
    inside = (exact.columns["height"] >= answer.lower["height"]) & (exact.columns["height"] <= answer.upper["height"])
    assert 0.8 < inside.mean() < 0.99
    assert (answer.std["load"] >= 0).all()
    assert answer.members == {}


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
def test_batches_change_nothing(predictor: Predictor, rows: int):
    inputs = toy.table(50, seed=9).inputs
    whole, parts = predictor.predict(inputs, batch_rows=4096), predictor.predict(inputs, batch_rows=rows)
    for pick in ("mean", "std", "lower", "upper"):
        for name in ("height", "load"):
            assert np.allclose(getattr(whole, pick)[name], getattr(parts, pick)[name], rtol=1e-5, atol=1e-6)
    assert np.array_equal(whole.in_domain, parts.in_domain)


def test_wide_outputs_go_in_smaller_batches(predictor: Predictor, monkeypatch: pytest.MonkeyPatch):
    from surrogate.inference import predictor as module

    assert predictor.batch_rows == 4096
    monkeypatch.setattr(module, "BATCH_ELEMENTS", 970)
    assert predictor.batch_rows == 10
    monkeypatch.setattr(module, "BATCH_ELEMENTS", 1)
    assert predictor.batch_rows == 1


def test_one_point_may_be_given_as_numbers(predictor: Predictor):
    answer = predictor.predict({"speed": 1.0, "width": 1.0})
    assert answer.mean["height"].shape == (1, 4, 24)
    assert answer.in_domain.tolist() == [True]


def test_points_outside_are_answered_and_flagged(predictor: Predictor):
    answer = predictor.predict({"speed": [1.0, 2.5, 1.0, 1.0], "width": [1.0, 1.0, 20.0, -1.0]})
    assert answer.in_domain.tolist() == [True, False, False, False]
    assert np.isfinite(answer.mean["height"][:3]).all()


def test_members_are_kept_when_asked(predictor: Predictor):
    inputs = toy.table(5, seed=3).inputs
    answer = predictor.predict(inputs, keep_members=True, batch_rows=2)
    assert len(answer.members["height"]) == predictor.members == 3
    stacked = np.stack(answer.members["height"])
    assert np.allclose(stacked.mean(axis=0), answer.mean["height"])
    assert np.allclose(stacked.std(axis=0, ddof=1), answer.std["height"])


def test_no_rows_give_no_rows(predictor: Predictor):
    answer = predictor.predict({"speed": np.zeros(0), "width": np.zeros(0)})
    assert answer.mean["height"].shape == (0, 4, 24)
    assert answer.in_domain.shape == (0,)


def test_a_stream_is_answered_batch_by_batch(predictor: Predictor):
    tables = [toy.table(3, seed=seed) for seed in range(4)]
    answers = list(predictor.stream(table.inputs for table in tables))
    joined = join_predictions(answers)
    assert joined.mean["load"].shape == (12,)
    assert np.allclose(joined.mean["load"][3:6], predictor.predict(tables[1].inputs).mean["load"])


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"speed": [1.0]}, "inputs width are missing"),
        ({"speed": [1.0], "width": [1.0], "widht": [1.0]}, "no input 'widht'. Did you mean 'width'"),
        ({"speed": [1.0, 2.0], "width": [1.0]}, "equally many rows"),
        ({"speed": [1.0, float("nan")], "width": [1.0, 1.0]}, r"'speed' is nan in row 1"),
        ({"speed": ["fast"], "width": [1.0]}, "is a number in m/s, and text was given"),
        ({"speed": [[1.0]], "width": [1.0]}, "has shape \\(\\) for a point"),
    ],
)
def test_what_cannot_be_asked_is_said(predictor: Predictor, inputs: dict, sentence: str):
    with pytest.raises(DataError, match=sentence):
        predictor.predict(inputs)


def test_numbers_that_are_not_finite_never_leave(trained: Path):
    predictor = Predictor.load(trained, family=toy.FAMILY)
    broken = lambda rows: {"values": np.full((len(rows["features"]), 97), np.nan, np.float32)}  # noqa: E731
    bad = Predictor(predictor.artifact, toy.FAMILY, toy.FAMILY.restore(
        toy.SCHEMA, predictor.artifact.arrays("transforms.npz"), read_json(trained / "transforms.json")
    ), [broken], "broken")  # fmt: skip
    with pytest.raises(IntegrityError, match=r"'height' with numbers that are not finite.*roll back"):
        bad.predict({"speed": 1.0, "width": 1.0})


def test_runtimes_are_named():
    with pytest.raises(ConfigError, match=r"no runtime 'onx'\. Did you mean 'onnx'"):
        runtime("onx")
    with pytest.raises(ConfigError, match="-1 threads"):
        runtime("onnx", -1)
    assert runtime("onnx", 2).version.startswith("onnxruntime ")


def test_predicting_loads_no_tensorflow(trained: Path):
    program = (
        "import sys; from surrogate.inference.predictor import Predictor\n"
        "from tests.support import toy_surrogate as toy\n"
        f"p = Predictor.load({str(trained)!r}, family=toy.FAMILY); p.predict({{'speed': 1.0, 'width': 1.0}});"
        "print([m for m in ('tensorflow', 'keras', 'pandas', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_library_is_said(trained: Path, monkeypatch: pytest.MonkeyPatch):
    from surrogate.core.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"runtime 'onnx' needs packages.*surrogate-hpc\[train\]"):
        Predictor.load(trained, family=toy.FAMILY)
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(MissingExtraError, match=r"runtime 'tensorflow' needs packages"):
        Predictor.load(trained, runtime="tensorflow", family=toy.FAMILY)
