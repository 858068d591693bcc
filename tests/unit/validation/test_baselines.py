"""Baselines are fair, deterministic and say what they are."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import ConfigError
from surrogate.core.schema import RAGGED, Column, Ragged, SampleTable, Schema
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.validation.baselines import BASELINES, baseline
from surrogate.validation.baselines.features import InputFeatures, OutputTable
from tests.support import toy_surrogate as toy


def test_the_nearest_neighbour_repeats_its_neighbour():
    train = toy.table(30, seed=1)
    answer = baseline("nearest_neighbour").fit(train, toy.SPACE, 0)
    found = answer(train.inputs)
    assert np.array_equal(found.mean["height"], train.columns["height"])
    assert np.all(np.asarray(found.std["load"]) == 0)
    near = {"speed": np.array([train.columns["speed"][4] + 1e-6]), "width": train.columns["width"][4:5]}
    assert np.array_equal(answer(near).mean["height"][0], train.columns["height"][4])
    assert found.how == "outputs of the nearest of 30 training samples in the unit cube of the inputs"


def test_distances_are_taken_in_the_unit_cube():
    # On the log scale 0.2 is as near to 0.1 as 10 is to 5; on the linear scale it would be 50 times nearer.
    schema = Schema((*toy.SPACE.columns, Column("y", "output")))
    width = np.array([0.1, 10.0])
    train = SampleTable(schema, ("a", "b"), ("", ""), {"speed": np.ones(2), "width": width, "y": np.array([1.0, 2.0])})
    answer = baseline("nearest_neighbour").fit(train, toy.SPACE, 0)(
        {"speed": np.ones(2), "width": np.array([0.9, 1.1])}
    )
    assert answer.mean["y"].tolist() == [1.0, 2.0]


def test_pod_and_gaussian_process_learn_a_smooth_field():
    train, test = toy.table(60, seed=1), toy.table(30, seed=5)
    method = baseline("pod_gp")
    found = method.fit(train, toy.SPACE, 0)(test.inputs)
    exact = np.asarray(test.columns["height"])
    error = np.linalg.norm((found.mean["height"] - exact).reshape(30, -1), axis=1) / np.linalg.norm(
        exact.reshape(30, -1), axis=1
    )
    assert np.median(error) < 0.005
    assert np.abs(np.asarray(found.mean["load"]) - test.columns["load"]).max() < 0.1
    assert (np.asarray(found.std["height"]) > 0).all()
    assert "POD modes" in found.how
    again = method.fit(train, toy.SPACE, 0)(test.inputs)
    assert np.array_equal(found.mean["height"], again.mean["height"])
    assert np.array_equal(found.std["load"], again.std["load"])


def test_constant_outputs_are_no_trouble():
    train = toy.table(12, seed=1)
    flat = {**train.columns, "height": np.full((12, 4, 24), 2.0), "load": np.full(12, 3.0)}
    table = SampleTable(train.schema, train.ids, train.groups, flat)
    found = baseline("pod_gp").fit(table, toy.SPACE, 0)(train.inputs)
    assert np.allclose(found.mean["height"], 2.0)
    assert np.allclose(found.mean["load"], 3.0)


def test_too_many_rows_are_thinned_and_said(monkeypatch: pytest.MonkeyPatch):
    from surrogate.validation.baselines import pod_gaussian_process

    monkeypatch.setattr(pod_gaussian_process, "ROWS", 20)
    found = baseline("pod_gp").fit(toy.table(50, seed=1), toy.SPACE, 0)(toy.table(3, seed=2).inputs)
    assert "of 20 training samples" in found.how


def test_the_mean_knows_nothing_of_inputs():
    train = toy.table(40, seed=1)
    found = baseline("training_mean").fit(train, None, 0)(toy.table(3, seed=2).inputs)
    assert np.allclose(found.mean["load"], np.mean(train.columns["load"]))
    assert found.mean["height"].shape == (3, 4, 24)


def test_words_are_a_distance_of_one_apart():
    space = ParameterSpace((Parameter("kind", scale="categorical", choices=("a", "b", "c")), Parameter("x", 0.0, 2.0)))
    schema = Schema((*space.columns, Column("y", "output")))
    columns = {"kind": np.array(["a", "b", "c"]), "x": np.ones(3), "y": np.zeros(3)}
    features = InputFeatures.fit(SampleTable(schema, ("1", "2", "3"), ("",) * 3, columns), space)
    rows = features(columns)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(rows[one] - rows[other]) == pytest.approx(1.0)
    assert rows[0, -1] == 0.5


def test_without_a_space_inputs_are_standardised():
    features = InputFeatures.fit(toy.table(100, seed=1), None)
    rows = features(toy.table(100, seed=1).inputs)
    assert np.allclose(rows.mean(axis=0), 0)
    assert np.allclose(rows.std(axis=0), 1)


def test_outputs_are_joined_and_cut_again():
    train = toy.table(9, seed=1)
    table = OutputTable.fit(train)
    again = table.cut(table.join(train.outputs))
    assert np.allclose(again["height"], train.columns["height"])
    assert np.allclose(again["load"], train.columns["load"])


def test_what_cannot_be_fitted_says_why():
    ragged = Schema((Column("x", "input", shape=(RAGGED,)), Column("y", "output")))
    table = SampleTable(ragged, ("a", "b"), ("", ""), {"x": Ragged(np.zeros(3), np.array([0, 1, 3])), "y": np.zeros(2)})
    assert "differs in length" in str(baseline("nearest_neighbour").why_not(table, None))
    assert "differs in length" in str(baseline("pod_gp").why_not(table, None))
    assert baseline("training_mean").why_not(table, None) is None
    words = Schema((Column("x", "input"), Column("y", "output", dtype="str")))
    table = SampleTable(words, ("a", "b"), ("", ""), {"x": np.zeros(2), "y": np.array(["u", "v"])})
    assert "a word" in str(baseline("pod_gp").why_not(table, None))
    assert "fewer than two" in str(baseline("pod_gp").why_not(toy.table(1), None))


def test_an_unknown_baseline_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no baseline 'pod_pg'\. Did you mean 'pod_gp'"):
        baseline("pod_pg")
    for name, make in BASELINES.items():
        assert make().name == name
        assert make().title
