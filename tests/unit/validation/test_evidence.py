"""What was found can be read again, whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import IntegrityError
from surrogate.validation.evidence import load_validation, save_validation
from surrogate.validation.gate import Gate
from surrogate.validation.report import ReportData
from surrogate.validation.report.page import render_report
from surrogate.validation.validation import Validation
from tests.support import toy_surrogate as toy
from tests.support.hdf5_headers import headers_with_times
from tests.support.toy_shapes import KINDS, validation_of

GATE = Gate.of({"relative_l2_median": {"max": 0.05}}, ("pod_gp",))


def test_verdict_and_report_are_the_same_again(validation: Validation, tmp_path: Path):
    save_validation(tmp_path / "validation.h5", validation)
    again = load_validation(tmp_path / "validation.h5")
    assert again.judge(GATE) == validation.judge(GATE)
    assert again.curves == validation.curves
    for one, other in zip(again.strata, validation.strata, strict=True):
        assert one.metrics == other.metrics
        assert one.worst == other.worst
        assert one.truth.schema == other.truth.schema
        assert np.array_equal(one.prediction.lower["height"], other.prediction.lower["height"])
    page = render_report(ReportData("waves", validation, validation.judge(GATE), {}, space=toy.SPACE))
    assert render_report(ReportData("waves", again, again.judge(GATE), {}, space=toy.SPACE)) == page


def test_the_same_validation_is_the_same_file_at_any_time(validation: Validation, tmp_path: Path):
    save_validation(tmp_path / "validation.h5", validation)
    assert headers_with_times((tmp_path / "validation.h5").read_bytes()) == 0


def test_numbers_that_are_not_finite_survive(validation: Validation, tmp_path: Path):
    design = validation.design
    metrics = (replace(design.metrics[0], value=float("nan"), low=float("nan")), *design.metrics[1:])
    broken = replace(
        validation, strata=(replace(design, metrics=metrics), *validation.strata[1:]), onnx_difference=None
    )
    save_validation(tmp_path / "validation.h5", broken)
    again = load_validation(tmp_path / "validation.h5")
    assert np.isnan(again.design.metrics[0].value)
    assert np.isnan(again.design.metrics[0].low)
    assert again.onnx_difference is None
    assert not again.judge(GATE).passed


def test_ragged_columns_and_words_survive(tmp_path: Path):
    for kind in ("ragged vectors", "words"):
        validation = validation_of(*KINDS[kind])
        save_validation(tmp_path / "validation.h5", validation)
        again = load_validation(tmp_path / "validation.h5")
        assert render_report(ReportData("any", again, None, {})) == render_report(
            ReportData("any", validation, None, {})
        )


def test_damage_is_found_with_the_way_out(validation: Validation, tmp_path: Path):
    path = tmp_path / "validation.h5"
    save_validation(path, validation)
    content = bytearray(path.read_bytes())
    for offset in (0, 100, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[offset] ^= 1
        path.write_bytes(bytes(damaged))
        with pytest.raises(IntegrityError, match=r"surrogate validate"):
            load_validation(path)
    path.write_bytes(bytes(content[: len(content) // 2]))
    with pytest.raises(IntegrityError, match=r"surrogate validate"):
        load_validation(path)
    path.unlink()
    with pytest.raises(IntegrityError, match=r"missing.*surrogate validate"):
        load_validation(path)
