"""Thresholds, baselines and the verdict."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.files import read_json, write_json
from surrogate.validation.gate import Gate, Threshold
from surrogate.validation.metrics import Metric
from surrogate.validation.verdict import Verdict, pronounce


def metric(name: str, value: float, *, low: float | None = None, high: float | None = None, unit: str = "1") -> Metric:
    return Metric(name, value, unit, "made up", value if low is None else low, value if high is None else high, 40)


FOUND = (
    metric("error_median", 0.005, low=0.004, high=0.007),
    metric("error_max", 3.0, unit="K"),
    metric("coverage", 0.9),
)
BASELINES = {
    "pod_gp": (metric("error_median", 0.05),),
    "nearest_neighbour": (metric("error_median", 0.004, low=0.0035),),
}


def verdict_of(gate: Gate, found: tuple[Metric, ...] = FOUND) -> Verdict:
    evidence = gate.judge(found, BASELINES, "error_median")
    values = {entry.name: None if math.isnan(entry.value) else entry.value for entry in found}
    return pronounce(
        gate,
        evidence,
        version="v1",
        dataset_hash="d" * 64,
        metrics=values,
        samples=40,
        details={"samples": {"train": 3}},
    )


@pytest.mark.parametrize(
    ("bounds", "value", "passes"),
    [
        ({"max": 1.0}, 1.0, True),
        ({"max": 1.0}, 1.0000001, False),
        ({"min": 0.8, "max": 0.99}, 0.8, True),
        ({"min": 0.8, "max": 0.99}, 0.995, False),
        ({"min": 0.8}, 0.79, False),
        ({"max": 1.0}, float("nan"), False),
        ({"min": 1.0}, float("inf"), False),
        ({"max": 1.0}, float("-inf"), False),
    ],
)
def test_thresholds(bounds: dict, value: float, passes: bool):
    assert Threshold(**bounds).passes(value) is passes


def test_a_passing_gate():
    verdict = verdict_of(Gate.of({"error_median": {"max": 0.006}, "coverage": {"min": 0.8, "max": 0.99}}, ("pod_gp",)))
    assert verdict.passed
    assert verdict.sentence == "The surrogate passes its gate: all 3 conditions hold on 40 holdout samples."
    first, second, third = verdict.evidence
    assert first["demand"] == "at most 0.006"
    assert first["sure"] is False, "the interval reaches beyond the bound"
    assert second["demand"] == "from 0.8 to 0.99"
    assert third["baseline"] == "pod_gp"
    assert third["sure"] is True


def test_a_failing_gate_says_every_reason():
    verdict = verdict_of(Gate.of({"error_max": {"max": 2.5}, "coverage": {"max": 0.99}}, ("nearest_neighbour",)))
    assert not verdict.passed
    assert "fails its gate in 2 of 3 conditions on 40 holdout samples" in verdict.sentence
    assert "error_max is 3 K, and at most 2.5 K was demanded." in verdict.sentence
    assert "does not beat the baseline nearest_neighbour: error_median is 0.005 against 0.004" in verdict.sentence


def test_a_tie_beats_nobody():
    gate = Gate.of({}, ("pod_gp",))
    evidence = gate.judge((metric("error_median", 0.05),), BASELINES, "error_median")
    assert not evidence[0].passed


def test_nan_never_passes():
    found = (metric("error_median", float("nan")), *FOUND[1:])
    for gate in (
        Gate.of({"error_median": {"max": 1e9}}),
        Gate.of({"error_median": {"min": -1e9}}),
        Gate.of({}, ("pod_gp",)),
    ):
        verdict = verdict_of(gate, found)
        assert not verdict.passed
        assert "not a number" in verdict.sentence
        json.loads(json.dumps(verdict.to_json(), allow_nan=False))


def test_a_baseline_without_a_number_is_not_beaten():
    evidence = Gate.of({}, ("broken",)).judge(
        FOUND, {"broken": (metric("error_median", float("nan")),)}, "error_median"
    )
    assert not evidence[0].passed


@pytest.mark.parametrize(
    ("thresholds", "beats", "sentence"),
    [
        ({"error_medain": {"max": 1}}, (), "metric 'error_medain'.*Did you mean 'error_median'"),
        ({"error_max": {"max": 1}}, ("pod-gp",), "baseline 'pod-gp'.*Did you mean 'pod_gp'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(thresholds: dict, beats: tuple, sentence: str):
    with pytest.raises(ConfigError, match=sentence):
        Gate.of(thresholds, beats).judge(FOUND, BASELINES, "error_median")


@pytest.mark.parametrize(
    ("thresholds", "sentence"),
    [
        ({}, "lets everything pass"),
        ({"a": {}}, "needs 'min', 'max' or both"),
        ({"a": {"max": float("nan")}}, "must be finite"),
        ({"a": {"min": 2, "max": 1}}, "lets nothing pass"),
        ({"a": {"maximum": 1}}, "no 'maximum'"),
        ({"a": {"max": "1"}}, "must be a number"),
        ({"a": {"max": True}}, "must be a number"),
    ],
)
def test_gates_that_mean_nothing_are_refused(thresholds: dict, sentence: str):
    with pytest.raises(ConfigError, match=sentence):
        Gate.of(thresholds)


def test_verdicts_go_through_json(tmp_path: Path):
    verdict = verdict_of(Gate.of({"error_median": {"max": 0.006}}, ("pod_gp",)))
    verdict.write(tmp_path / "verdict.json")
    record = read_json(tmp_path / "verdict.json")
    assert record["passed"] is True
    assert record["metrics"]["error_median"] == 0.005
    assert record["gate"] == {"error_median": {"max": 0.006}}
    assert record["dataset_hash"] == "d" * 64
    assert record["version"] == "v1"
    assert record["samples"] == {"train": 3}
    assert Verdict.read(tmp_path / "verdict.json") == verdict


def test_a_verdict_that_contradicts_its_evidence_is_refused(tmp_path: Path):
    verdict = verdict_of(Gate.of({"error_max": {"max": 2.5}}))
    write_json(tmp_path / "verdict.json", {**verdict.to_json(), "passed": True})
    with pytest.raises(IntegrityError, match="contradicts its own evidence"):
        Verdict.read(tmp_path / "verdict.json")
    write_json(tmp_path / "verdict.json", {**verdict.to_json(), "passed": True, "evidence": []})
    with pytest.raises(IntegrityError, match="contradicts its own evidence"):
        Verdict.read(tmp_path / "verdict.json")


@pytest.mark.parametrize("record", [[], {}, {"format": 1}, {"format": "one"}, {"format": 99}, 5, "text"])
def test_what_is_no_verdict_is_refused(tmp_path: Path, record: object):
    write_json(tmp_path / "verdict.json", record)
    with pytest.raises(IntegrityError, match="verdict"):
        Verdict.read(tmp_path / "verdict.json")
