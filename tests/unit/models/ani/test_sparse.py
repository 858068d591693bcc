"""Sums by sparse matrices: the direct way and SciPy's public one agree."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.models.ani import sparse


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_ways_add_up_the_same(monkeypatch, dtype):
    random = np.random.default_rng(0)
    rows, values = random.integers(0, 5, (3, 20)), random.normal(size=(20, 4)).astype(dtype)
    entries = random.normal(size=(3, 20)).astype(dtype)
    expected = np.zeros((5, 4))
    np.add.at(expected, rows, entries[:, :, None] * values)
    index, start = random.integers(0, 6, 9).astype(np.int32), np.array([0, 4, 4, 9], np.int32)
    parts, six, three = (entries[0, :9], index, start), values[:6], values[:3]
    direct = (
        sparse.scatter(rows, values, 5, entries),
        sparse.by_rows(parts, (3, 6), six),
        sparse.by_columns(parts, (6, 3), three),
    )
    monkeypatch.setattr(sparse, "_routines", None)
    public = (
        sparse.scatter(rows, values, 5, entries),
        sparse.by_rows(parts, (3, 6), six),
        sparse.by_columns(parts, (6, 3), three),
    )
    np.testing.assert_allclose(direct[0], expected, rtol=1e-5, atol=1e-6)
    for one, other in zip(direct, public, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_nothing_adds_up_to_nothing():
    assert not sparse.scatter(np.zeros((1, 0), int), np.zeros((0, 3)), 2).any()
