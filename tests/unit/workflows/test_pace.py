"""How long runs take is judged by the last ones."""

from __future__ import annotations

from site_configs.resources import ResourceRequest
from workflows.pace import Pace

ONE, TWO = ResourceRequest(walltime_s=100), ResourceRequest(1, 2, 2, walltime_s=100)


def test_nothing_is_known_at_first_and_sizes_are_told_apart():
    pace = Pace()
    assert pace.needs_s(ONE) == 0.0
    pace.learn(ONE, 8.0)
    assert pace.needs_s(ONE) == 12.0
    assert pace.needs_s(TWO) == 0.0


def test_the_longest_of_the_last_runs_counts_and_never_more_than_the_walltime():
    pace = Pace()
    pace.learn(ONE, 99.0)
    assert pace.needs_s(ONE) == 102.0
    for _ in range(64):
        pace.learn(ONE, 4.0)
    assert pace.needs_s(ONE) == 7.0
