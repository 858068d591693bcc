"""Strain: whole sample rates, gaps, parts by time, lower rates."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.strain import Strain, resample, stretches, whole_rate


def test_periods_that_differ_in_the_last_bit_are_one_rate():
    period = 1.0 / 4096
    assert (
        whole_rate(period, "x") == whole_rate(np.nextafter(period, 1.0), "x") == whole_rate(period + 1e-19, "x") == 4096
    )
    with pytest.raises(DataError, match=r"x has a sample every 0\.0003 s"):
        whole_rate(0.0003, "x")
    with pytest.raises(DataError, match="whole number"):
        whole_rate(0.0, "x")


def test_what_float32_cannot_hold_becomes_float64():
    assert float(np.float32(1e-23) ** 2) == 0.0, "a strain squared underflows"
    strain = Strain(np.full(8, 1e-23, dtype=np.float32), 8)
    assert strain.data.dtype == np.float64
    assert (strain.data**2).min() > 0


def test_parts_are_cut_by_time():
    strain = Strain(np.arange(32.0), 4, 100.0, "H1")
    part = strain.between(101.0, 103.5)
    assert (part.start, part.seconds, part.detector) == (101.0, 2.5, "H1")
    np.testing.assert_array_equal(part.data, np.arange(4.0, 14.0))
    np.testing.assert_array_equal(part.times()[:2], [101.0, 101.25])
    with pytest.raises(DataError, match=r"reaches from 100\.0 to 108\.0"):
        strain.between(99.0, 101.0)
    with pytest.raises(DataError, match="one row"):
        Strain(np.zeros((2, 2)), 4)


def test_gaps_divide_a_strain_into_stretches():
    data = np.asarray([np.nan, 1, 2, np.inf, 3, 4, 5, np.nan])
    assert list(stretches(data)) == [(1, 3), (4, 7)]
    assert list(stretches(data, 3)) == [(4, 7)]
    assert list(stretches(np.full(4, np.nan))) == []


def test_a_lower_rate_keeps_the_band_and_the_gap():
    times = np.arange(8192) / 4096
    data = np.sin(2 * np.pi * 100 * times) + np.sin(2 * np.pi * 1500 * times)
    low = resample(Strain(data, 4096), 1024)
    assert (low.rate, len(low.data)) == (1024, 2048)
    np.testing.assert_allclose(low.data[200:-200], np.sin(2 * np.pi * 100 * times[::4])[200:-200], atol=0.01)
    data[4096] = np.nan
    lost = np.flatnonzero(~np.isfinite(resample(Strain(data, 4096), 1024).data))
    assert 0 < len(lost) < 40
    assert abs(lost.mean() - 1024) < 2
    for rate in (8192, 3000):
        with pytest.raises(DataError, match="only a rate that divides 4096"):
            resample(Strain(data, 4096), rate)
