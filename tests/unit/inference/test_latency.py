"""Measured times say how they were measured."""

from __future__ import annotations

import pytest

from surrogate.core.errors import DataError
from surrogate.inference.latency import Latency, measure_latency, speed_up
from surrogate.inference.predictor import Predictor
from surrogate.models.values import cut
from tests.support import toy_surrogate as toy


def test_latency_is_measured_at_each_batch(predictor: Predictor):
    measured = measure_latency(predictor, toy.table(3, seed=5).inputs, (1, 8), calls=4, seconds=5)
    assert [latency.batch for latency in measured] == [1, 8]
    for latency in measured:
        assert 3 <= latency.calls <= 4
        assert 0 < latency.p50_s <= latency.p95_s
        assert latency.runtime.startswith("onnxruntime")
        assert latency.to_json()["row_s"] == latency.p50_s / latency.batch
    with pytest.raises(DataError, match="without a row"):
        measure_latency(predictor, cut(toy.table(3).inputs, 0, 0))


def test_speed_up_is_the_ratio_of_what_was_measured():
    latencies = [Latency(1, 0.001, 0.002, 30, "onnxruntime 1", 2), Latency(100, 0.01, 0.02, 20, "onnxruntime 1", 2)]
    result = speed_up(latencies, [1.0, 3.0, 2.0], ranks=2)
    assert result is not None
    assert result.single == pytest.approx(2000)
    assert result.batched == pytest.approx(20000)
    assert "3 simulations (2 s each on 2 MPI ranks" in result.how
    assert "30 calls" in result.how
    assert speed_up(latencies, []) is None
