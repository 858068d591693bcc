"""Noise: no two detectors, splits or windows share any; recorded noise is divided without overlap; time slides."""

import itertools

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.aligo import aligo
from surrogate.signal.noise import SPLITS, NoiseSource, coloured
from surrogate.signal.segments import divide, windows
from surrogate.signal.slides import Background, background, coincident, shifted, slides
from surrogate.signal.strain import Strain

RATE = 1024


def test_the_spectrum_of_noise_is_the_one_that_was_asked_for():
    psd, random = aligo(), np.random.default_rng(1)
    found = np.zeros(RATE + 1)
    for _ in range(200):
        data = coloured(psd, RATE, 2 * RATE, random, 10.0)
        found += np.abs(np.fft.rfft(data * np.hanning(len(data)))) ** 2
    found *= 2.0 / (RATE * np.sum(np.hanning(2 * RATE) ** 2)) / 200
    ratio = found[40:1000] / psd.on(0.5, 1000)[40:]
    assert ratio.mean() == pytest.approx(1.0, abs=0.02)
    assert data.dtype == np.float64


def test_noise_is_shared_by_nobody():
    sources = [NoiseSource(aligo(), RATE, name, split, 7) for name in ("H1", "L1") for split in SPLITS]
    drawn = [source.window(index, RATE) for source in sources for index in range(3)]
    for one, other in itertools.combinations(drawn, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.9
        assert not np.isin(one, other).any()
    np.testing.assert_array_equal(sources[0].window(2, RATE), drawn[2])
    other = NoiseSource(aligo(), RATE, "H1", "train", 8).window(0, RATE)
    assert not np.array_equal(other, drawn[0])
    with pytest.raises(DataError, match="'holdout' was asked for"):
        NoiseSource(aligo(), RATE, "H1", "holdout", 7)


def test_two_detectors_are_not_correlated():
    first, second = (NoiseSource(aligo(), RATE, name, "train", 7).window(0, 64 * RATE) for name in ("H1", "L1"))
    spectra = [np.fft.rfft(data)[64 * 20 :] for data in (first, second)]
    coherence = np.abs(np.vdot(*spectra)) / np.sqrt(np.prod([np.vdot(s, s).real for s in spectra]))
    assert coherence < 0.05


def test_recorded_noise_is_divided_with_gaps_and_no_window_crosses():
    strain = Strain(np.arange(100.0 * 16), 16, 1000.0)
    strain.data[40 * 16 : 41 * 16] = np.nan
    parts = divide(1000.0, 1100.0, {"train": 0.6, "tune": 0.2, "test": 0.2}, 3.0)
    for one, other in itertools.combinations(parts.values(), 2):
        assert not one.meets(other)
        assert max(one.begin, other.begin) - min(one.end, other.end) >= 3.0 - 1e-9
    used = {
        name: {int(x) for first in windows(strain, part, 2.0, 0.5) for x in strain.data[first : first + 32]}
        for name, part in parts.items()
    }
    assert all(used.values())
    for one, other in itertools.combinations(used.values(), 2):
        assert not one & other
    assert not used["train"] & set(range(40 * 16, 41 * 16))
    with pytest.raises(DataError, match="add up to 1"):
        divide(0.0, 10.0, {"train": 0.6, "test": 0.2}, 1.0)
    with pytest.raises(DataError, match="'tune' would have less"):
        divide(0.0, 10.0, {"train": 0.8, "tune": 0.1, "test": 0.1}, 2.0)


def test_slides_never_come_near_zero():
    shifts = slides(100.0, 3.0, 1.0)
    assert shifts.min() >= 1.0
    assert (100.0 - shifts).min() >= 1.0
    assert len(shifts) == 33
    with pytest.raises(DataError, match="closer than 1"):
        slides(100.0, 0.5, 1.0)
    with pytest.raises(DataError, match="too short"):
        slides(2.0, 3.0, 1.0)


def test_zero_lag_is_no_background():
    random = np.random.default_rng(1)
    first, second = random.uniform(0, 100, 50), random.uniform(0, 100, 40)
    event = 50.0
    times = (np.append(first, event), np.append(second, event + 0.005))
    loud = (np.append(np.full(50, 4.0), 20.0), np.append(np.full(40, 4.0), 15.0))
    (pair,) = [p for p in coincident(times[0], times[1], 0.015).tolist() if p == [50, 40]]
    assert pair == [50, 40]
    found = background(
        (times[0], loud[0]), (times[1], loud[1]), slides(100.0, 1.0, 0.5), begin=0.0, span_s=100.0, window_s=0.015
    )
    assert 35.0 not in found.statistics, "the event with itself is the search, not chance"
    assert found.seconds == pytest.approx(9900.0)
    for bad in ([0.0], [0.01], [99.995]):
        with pytest.raises(DataError, match="is the search itself"):
            background(
                (times[0], loud[0]), (times[1], loud[1]), np.asarray(bad), begin=0.0, span_s=100.0, window_s=0.015
            )


def test_coincidences_are_all_pairs_within_the_window():
    first, second = np.asarray([5.0, 1.0, 9.0]), np.asarray([1.01, 5.2, 0.99, 9.0])
    assert sorted(map(tuple, coincident(first, second, 0.02).tolist())) == [(1, 0), (1, 2), (2, 3)]
    np.testing.assert_allclose(shifted(np.asarray([9.5, 1.0]), 1.0, 0.0, 10.0), [0.5, 2.0])


def test_no_rate_below_what_the_data_support_is_claimed():
    found = Background(np.arange(10.0), 1000.0)
    assert found.far(8.5) == pytest.approx(2 / 1000.0)
    assert found.far(99.0) == found.lowest_far == pytest.approx(1 / 1000.0)
    threshold = found.threshold(3 / 1000.0)
    assert found.far(threshold) <= 3 / 1000.0
    assert found.far(threshold - 0.01) > 3 / 1000.0
    with pytest.raises(DataError, match=r"support no less than 0\.001 /s"):
        found.threshold(0.5 / 1000.0)
