"""The scripted simulator does what its options say, and only some of them are part of a run's identity."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.scripted.adapter import MODES, mode_of
from sim_wrappers.scripted.formulas import level, trace_length, wave
from surrogate.core.errors import ConfigError
from tests.support.executions import request_for, scripted


def test_what_does_not_decide_the_result_is_no_part_of_the_identity() -> None:
    plain = scripted()
    behaving = scripted(
        {"ledger": "/x", "seconds": 2.0, "mode": "nan", "modes": {"fail": 0.5}, "mpi": True, "attempts": 3}
    )
    assert behaving.run_id == plain.run_id
    for deciding in ({"length": 17}, {"ragged": True}, {"samples": 2}):
        assert scripted(deciding).run_id != plain.run_id


def test_modes_take_their_shares_of_the_runs_by_their_ids() -> None:
    options = {"modes": {"nan": 0.25, "fail": 0.5}}
    code = catalog.get("scripted")
    requests = [request_for(code, {"a": index / 1000, "b": 1.0}, options) for index in range(1000)]
    counts = Counter(mode_of(request) for request in requests)
    assert set(counts) == {"ok", "nan", "fail"}
    assert counts["fail"] == pytest.approx(500, abs=5 * math.sqrt(250))
    assert counts["nan"] == pytest.approx(250, abs=5 * math.sqrt(188))
    assert [mode_of(request) for request in requests] == [mode_of(request) for request in requests]


def test_a_range_of_an_input_decides_before_the_shares() -> None:
    where = [{"mode": "hang", "input": "a", "low": 0.8, "high": 1.0}]
    options = {"where": where, "modes": {"nan": 1.0}, "mode": "fail"}
    assert mode_of(scripted(options, {"a": 0.9, "b": 1.0})) == "hang"
    assert mode_of(scripted(options, {"a": 0.7, "b": 1.0})) == "nan"
    assert mode_of(scripted({"mode": "fail"})) == "fail"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mod": "ok"}, "Did you mean 'mode'"),
        ({"mode": "explode"}, "one of ok, fail"),
        ({"modes": {"naan": 0.1}}, "Did you mean 'nan'"),
        ({"modes": {"nan": 0.7, "fail": 0.7}}, "at most 1"),
        ({"modes": {"nan": -0.1}}, "not be negative"),
        ({"modes": "nan"}, "table"),
        ({"where": [{"mode": "nan"}]}, "mode, input, low and high"),
        ({"where": "a"}, "mode, input, low and high"),
        ({"length": 1}, "at least 2"),
    ],
)
def test_wrong_options_are_sentences(options: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        catalog.get("scripted").check_options(options)


def test_options_that_were_completed_pass_again() -> None:
    code = catalog.get("scripted")
    for mode in MODES:
        complete = code.check_options({"mode": mode})
        assert code.check_options(complete) == complete


def test_the_formulas_are_smooth_and_bounded() -> None:
    generator = np.random.default_rng(0)
    for a, b in generator.random((200, 2)) * [1.0, 10.0]:
        inputs = {"a": a, "b": b}
        values = wave(inputs, range(16), 16)
        assert max(map(abs, values)) <= 1.0
        assert abs(level(inputs)) <= 1.0
        assert 1 <= trace_length(inputs, 16) <= 16
        near = wave({"a": a + 1e-6, "b": b}, range(16), 16)
        assert max(abs(first - second) for first, second in zip(values, near, strict=True)) < 1e-5
    assert wave({"a": 0.0, "b": 0.0}, [0, 1, 2, 3], 4) == pytest.approx([1.0, 0.0, -1.0, 0.0], abs=1e-15)
