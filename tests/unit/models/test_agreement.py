"""The measure by which two runtimes are compared."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.models.agreement import largest_difference, output_difference


def test_a_difference_is_counted_over_the_largest_output_or_one():
    small, large = np.asarray([[0.5, -0.25]]), np.asarray([[100.0, -400.0]])
    assert output_difference(small + 1e-3, small) == pytest.approx(1e-3)
    assert output_difference(large + 1e-3, large) == pytest.approx(1e-3 / 400)
    assert output_difference(large, large) == 0.0


def test_what_is_not_finite_agrees_with_nothing():
    numbers = np.asarray([1.0, np.nan])
    assert output_difference(numbers, np.ones(2)) == np.inf
    assert output_difference(np.ones(2), numbers) == np.inf


def test_no_rows_do_not_differ():
    assert output_difference(np.zeros((0, 3)), np.zeros((0, 3))) == 0.0


def test_the_worst_output_is_named():
    reference = {"a": np.ones(3), "b": np.full(3, 10.0)}
    answer = {"a": np.full(3, 1.002), "b": np.full(3, 10.01)}
    difference, name = largest_difference(answer, reference)
    assert (difference, name) == (pytest.approx(2e-3), "a")
    assert largest_difference({}, {}) == (0.0, "")
