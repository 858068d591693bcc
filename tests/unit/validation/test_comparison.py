"""A simple baseline that does better is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surrogate.validation.comparison import better_baselines
from tests.support.toy_registry import verdict_on

BASELINES = {"pod_gp": {"error": 0.1}, "nearest_neighbour": {"error": 0.9}, "training_mean": {}}


def test_better_ones_are_named_and_whether_the_gate_asks():
    verdict = verdict_on("v", value=0.5, primary="error", baselines=BASELINES)
    told = better_baselines(verdict)
    assert told.startswith("A simple baseline is better than the surrogate on the same holdout: 'pod_gp' (0.1) against")
    assert told.endswith("The gate does not ask to beat pod_gp.")
    asked = replace(verdict, beats=("pod_gp",))
    assert "The gate does not ask" not in better_baselines(asked)


@pytest.mark.parametrize("details", [{}, {"primary": "error"}, {"primary": "x", "baselines": BASELINES}])
def test_nothing_is_said_where_nothing_is_known(details):
    assert better_baselines(verdict_on("v", value=0.5, **details)) == ""


def test_nothing_is_said_of_worse_ones():
    assert better_baselines(verdict_on("v", value=0.05, primary="error", baselines=BASELINES)) == ""
    unfinished = {"pod_gp": {"error": None}}
    assert better_baselines(verdict_on("v", primary="error", baselines=unfinished)) == ""
