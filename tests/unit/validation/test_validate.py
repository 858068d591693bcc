"""One call judges a surrogate; nothing else looks at the holdout."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import ConfigError, DataError, IntegrityError, MissingExtraError, SplitError
from surrogate.core.schema import SampleTable, Schema
from surrogate.data.split import SplitConfig
from surrogate.inference.predictor import Predictor
from surrogate.validation.gate import Gate
from surrogate.validation.holdout import record_consultation
from surrogate.validation.validate import validate
from surrogate.validation.validation import Validation
from tests.support import toy_surrogate as toy

ROOT = Path(__file__).parents[3]


def test_a_validation_holds_everything_a_verdict_needs(validation: Validation):
    assert validation.version == "v1"
    assert validation.family == "toy"
    assert validation.primary == "relative_l2_median"
    assert validation.counts == {"train": 80, "tune": 30, "holdout": 40}
    design, acquired = validation.strata
    assert (design.stratum, acquired.stratum) == ("design", "acquired")
    assert len(design.truth) == 40
    assert len(acquired.truth) == 12
    metric = validation.metric("relative_l2_median")
    assert metric.low <= metric.value <= metric.high
    assert metric.value == np.median(toy.relative_l2(design.truth, design.prediction))
    assert len(design.worst) == 8
    assert design.worst[0].value == design.per_sample["relative_l2"].max()
    assert [entry.name for entry in validation.baselines] == ["nearest_neighbour", "pod_gp"]
    assert {curve.output for curve in validation.curves} == {"height", "load"}
    at = validation.curves[0].nominal.index(0.9)
    assert 0.8 < validation.curves[0].observed[at] < 0.99
    assert validation.onnx_difference == pytest.approx(2e-7)
    assert "by training" in validation.onnx_how


def test_the_verdict_carries_the_evidence(validation: Validation):
    gate = Gate.of({"relative_l2_median": {"max": 0.05}, "load_error_max": {"max": 5.0}}, ("nearest_neighbour",))
    verdict = validation.judge(gate)
    assert verdict.passed
    record = json.loads(json.dumps(verdict.to_json(), allow_nan=False))
    assert record["units"]["load_error_max"] == "newton"
    assert record["confidence_95"]["relative_l2_median"][0] < record["metrics"]["relative_l2_median"]
    assert record["baselines"]["pod_gp"]["relative_l2_median"] > 0
    assert record["samples"] == {"train": 80, "tune": 30, "holdout": 40}
    assert record["strata"]["acquired"]["samples"] == 12
    assert record["holdout"]["consultations"] == 1
    assert record["worst"][0]["inputs"].keys() == {"speed", "width"}
    assert record["how"]["relative_l2_median"].startswith("median over samples")


def test_the_verdict_is_on_the_declared_distribution_only(validation: Validation):
    verdict = validation.judge(Gate.of({"relative_l2_max": {"max": 1.0}}))
    assert verdict.metrics["relative_l2_max"] == validation.design.per_sample["relative_l2"].max()
    assert verdict.details["strata"]["acquired"]["metrics"]["relative_l2_max"] != verdict.metrics["relative_l2_max"]


def test_the_same_call_gives_the_same_numbers(
    predictor: Predictor, split: SplitConfig, validation: Validation, tmp_path: Path
):
    again = validate(
        predictor,
        toy.ToyDataset.of(acquired=12),
        split,
        version="v1",
        holdout_record=tmp_path / "h.json",
        resamples=100,
    )
    assert again.design.metrics == validation.design.metrics
    assert again.curves == validation.curves
    for one, other in zip(again.baselines, validation.baselines, strict=True):
        assert one.metrics == other.metrics


def test_a_wrong_gate_is_refused_before_the_holdout_is_opened(predictor: Predictor, split: SplitConfig, tmp_path: Path):
    dataset = toy.ToyDataset.of()
    with pytest.raises(ConfigError, match="Did you mean 'relative_l2_median'"):
        validate(
            predictor,
            dataset,
            split,
            version="v",
            holdout_record=tmp_path / "h.json",
            gate=Gate.of({"relative_l2_medium": {"max": 1}}),
        )
    assert ("holdout", "design") not in dataset.loaded
    assert not (tmp_path / "h.json").exists()


def test_too_small_a_split_is_refused_before_the_holdout_is_opened(predictor: Predictor, tmp_path: Path):
    dataset = toy.ToyDataset.of(holdout=5)
    with pytest.raises(SplitError):
        validate(
            predictor,
            dataset,
            SplitConfig("s", 0.2, 0.2, {"holdout": 40}),
            version="v",
            holdout_record=tmp_path / "h.json",
        )
    assert ("holdout", "design") not in dataset.loaded


def test_an_empty_holdout_is_no_evidence(predictor: Predictor, tmp_path: Path):
    with pytest.raises(DataError, match="no holdout sample"):
        validate(
            predictor,
            toy.ToyDataset.of(holdout=0),
            SplitConfig("s", 0.2, 0.2),
            version="v",
            holdout_record=tmp_path / "h.json",
        )


def test_other_columns_are_refused(predictor: Predictor, split: SplitConfig, tmp_path: Path):
    class Other(toy.ToyDataset):
        @property
        def schema(self) -> Schema:
            return Schema(toy.SCHEMA.columns[:3], toy.SCHEMA.coordinates)

    other = Other(toy.ToyDataset.of().tables, [])
    with pytest.raises(DataError, match="Train it again on this dataset"):
        validate(predictor, other, split, version="v", holdout_record=tmp_path / "h.json")


def test_the_onnx_check_is_measured_when_it_can_be(quick: Predictor, split: SplitConfig, tmp_path: Path):
    def check(tune: SampleTable) -> float:
        assert len(tune) == 30
        return 4e-6

    def cannot(tune: SampleTable) -> float:
        raise MissingExtraError("The runtime 'tensorflow'", "train")

    options = {"version": "v", "holdout_record": tmp_path / "h.json", "resamples": 10}
    measured = validate(quick, toy.ToyDataset.of(), split, onnx_check=check, **options)
    assert measured.onnx_difference == 4e-6
    assert "measured at validation on 30 tune samples" in measured.onnx_how
    said: list[str] = []
    known = validate(quick, toy.ToyDataset.of(), split, onnx_check=cannot, progress=said.append, **options)
    assert known.onnx_difference == pytest.approx(2e-7)
    assert any("TensorFlow is not installed" in phrase for phrase in said)


def test_looks_at_the_holdout_are_counted(quick: Predictor, split: SplitConfig, tmp_path: Path):
    record = tmp_path / "looks" / "holdout.json"
    options = {"holdout_record": record, "resamples": 10}
    first = validate(quick, toy.ToyDataset.of(), split, version="a", **options)
    second = validate(quick, toy.ToyDataset.of(), split, version="a", **options)
    third = validate(quick, toy.ToyDataset.of(), split, version="b", **options)
    looks = [(entry.consultations.times, entry.consultations.surrogates) for entry in (first, second, third)]
    assert looks == [(1, 1), (2, 1), (3, 2)]
    assert first.consultations.sentence == "This is the first time that this holdout was consulted."
    assert "consulted 3 times, for 2 versions" in third.consultations.sentence
    other = record_consultation(record, salt="another", version="a", dataset_hash="e")
    assert other.times == 1, "another salt is another holdout"


def test_a_damaged_count_is_said(tmp_path: Path):
    (tmp_path / "holdout.json").write_text('{"consultations": [{}]}')
    with pytest.raises(IntegrityError, match=r"holdout.json is damaged.*counts the looks at the holdout"):
        record_consultation(tmp_path / "holdout.json", salt="s", version="v", dataset_hash="d")


def test_a_baseline_that_cannot_be_fitted_says_why_and_cannot_be_demanded(
    predictor: Predictor, split: SplitConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from surrogate.validation.baselines.pod_gaussian_process import PodGaussianProcess

    monkeypatch.setattr(PodGaussianProcess, "why_not", lambda self, train, space: "It is Sunday.")
    options = {"version": "v", "holdout_record": tmp_path / "h.json", "resamples": 10}
    found = validate(predictor, toy.ToyDataset.of(), split, **options)
    assert found.baselines[1].how == "not fitted: It is Sunday."
    assert found.baselines[1].metrics == ()
    with pytest.raises(ConfigError, match="baseline 'pod_gp'"):
        validate(predictor, toy.ToyDataset.of(), split, gate=Gate.of({}, ("pod_gp",)), **options)


def test_nothing_else_loads_the_holdout():
    """The word stands in a call of `load` in one module only."""
    allowed = {ROOT / "surrogate/validation/validate.py"}
    offenders = []
    for package in ("surrogate", "workflows", "sim_wrappers", "site_configs"):
        for path in (ROOT / package).rglob("*.py"):
            if path in allowed:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                words = [
                    value.value
                    for value in [*node.args, *(word.value for word in node.keywords)]
                    if isinstance(value, ast.Constant)
                ]
                if node.func.attr in {"load", "rows", "load_rows"} and "holdout" in words:
                    offenders.append(f"{path}:{node.lineno}")
    assert offenders == []
