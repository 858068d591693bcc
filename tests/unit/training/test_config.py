"""The `[train]` table: strict, and its learning rates."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from pydantic import ValidationError

from surrogate.training.config import TrainConfig


def test_unknown_keys_and_wrong_types_are_refused():
    for wrong in ({"epoch": 3}, {"epochs": "3"}, {"epochs": 0}, {"learning_rate": float("nan")}, {"ranks": True}):
        with pytest.raises(ValidationError):
            TrainConfig(**wrong)


def test_whole_numbers_are_numbers():
    assert TrainConfig(learning_rate=1, max_seconds=60).learning_rate == 1.0


def test_ranks_that_do_not_divide_over_the_nodes_are_refused():
    with pytest.raises(ValidationError, match="3 ranks do not divide over 2 nodes"):
        TrainConfig(ranks=3, nodes=2)


def test_learning_rate_rises_then_falls_to_its_end():
    config = TrainConfig(learning_rate=0.1, warmup_steps=10, final_learning_rate=0.01)
    rates = [config.learning_rate_at(step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.01)
    assert max(rates) == rates[9] == pytest.approx(0.1)
    assert all(later <= earlier for earlier, later in pairwise(rates[10:]))
    assert config.learning_rate_at(100, 100) == pytest.approx(0.001)


@pytest.mark.parametrize(("schedule", "last"), [("cosine", 0.001), ("exponential", 0.001), ("constant", 1.0)])
def test_schedules_end_where_they_say(schedule, last):
    config = TrainConfig(learning_rate=1.0, schedule=schedule, warmup_steps=0)
    assert config.learning_rate_at(0, 50) == pytest.approx(1.0)
    assert config.learning_rate_at(50, 50) == pytest.approx(last)


def test_scaling_takes_a_batch_on_every_rank_and_a_larger_rate():
    plain, scaled = TrainConfig(ranks=4), TrainConfig(ranks=4, scale_learning_rate=True)
    assert (plain.global_batch(), plain.peak_learning_rate()) == (plain.batch_size, plain.learning_rate)
    assert scaled.global_batch() == 4 * plain.batch_size
    assert scaled.peak_learning_rate() == pytest.approx(4 * plain.learning_rate)


def test_reading_a_configuration_or_a_job_loads_no_tensorflow():
    code = (
        "import sys, surrogate.training.config, surrogate.training.job, surrogate.training.progress,"
        "surrogate.training.finished;"
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'keras', 'horovod')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
