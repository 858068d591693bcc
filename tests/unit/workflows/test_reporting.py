from __future__ import annotations

from workflows.journal import Stage
from workflows.reporting import _elapsed


def test_a_clock_that_was_set_back_makes_no_negative_times():
    stage = Stage("key", "finished", 1000.0, 1060.0, {})
    assert _elapsed(stage, stage.ended_at) == 60.0
    assert _elapsed(stage, 1000.0 - 3600.0) == 0.0
