"""Signal-to-noise ratios and matches against their closed forms, on short sinusoids."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.aligo import aligo
from surrogate.signal.match import match
from surrogate.signal.noise import NoiseSource
from surrogate.signal.psd import Psd
from surrogate.signal.snr import Band, matched_filter, optimal_snr

RATE = 2048
FLAT = Psd.of(np.full(4097, 3e-46), 0.25)


def burst(hertz=150.0, phase=0.0, seconds=1.0, width=0.1):
    times = np.arange(round(seconds * RATE)) / RATE - seconds / 2
    return 1e-21 * np.exp(-((times / width) ** 2) / 2) * np.cos(2 * np.pi * hertz * times + phase)


def test_the_optimal_ratio_under_white_noise_is_that_of_the_energy():
    # 4 ∫ |h̃|² / S df over positive frequencies is 2 ∫ h² dt / S.
    signal = burst()
    energy = np.sum(signal**2) / RATE
    assert optimal_snr(signal, RATE, FLAT) == pytest.approx(np.sqrt(2 * energy / 3e-46), rel=1e-9)
    assert optimal_snr(2 * signal, RATE, FLAT) == pytest.approx(2 * optimal_snr(signal, RATE, FLAT))
    assert optimal_snr(signal, RATE, FLAT, Band(300.0)) < 1e-6 * optimal_snr(signal, RATE, FLAT)


def test_a_matched_filter_finds_time_phase_and_ratio():
    template, data = burst(seconds=0.5), np.zeros(8 * RATE)
    data[5000 : 5000 + RATE // 2] = burst(phase=1.0, seconds=0.5)
    series = matched_filter(data, template, RATE, FLAT)
    best = int(np.argmax(np.abs(series)))
    assert abs(best - 5000) <= 1
    assert np.abs(series[best]) == pytest.approx(optimal_snr(burst(phase=1.0, seconds=0.5), RATE, FLAT), rel=1e-3)
    assert abs(np.angle(series[best])) == pytest.approx(1.0, abs=0.05)


def test_a_matched_filter_of_noise_has_unit_variance_in_each_phase():
    source = NoiseSource(aligo(), RATE, "H1", "test", 1)
    series = matched_filter(source.window(0, 64 * RATE), burst(seconds=0.5), RATE, aligo())
    assert series.real.std() == pytest.approx(1.0, abs=0.08)
    assert series.imag.std() == pytest.approx(1.0, abs=0.08)


def test_what_cannot_be_filtered_is_told():
    data = np.zeros(RATE)
    with pytest.raises(DataError, match=r"of 2\.0 s does not fit into 1\.0 s"):
        matched_filter(data, np.zeros(2 * RATE), RATE, FLAT)
    with pytest.raises(DataError, match="silent in the band"):
        matched_filter(data, np.zeros(100), RATE, FLAT)
    with pytest.raises(DataError, match="no matched filter crosses"):
        matched_filter(np.where(np.arange(RATE) == 5, np.nan, data), burst(seconds=0.5), RATE, FLAT)
    with pytest.raises(DataError, match="says nothing between 2000"):
        optimal_snr(burst(), RATE, FLAT, Band(2000.0, 3000.0))


def test_a_match_forgets_time_phase_and_size():
    first = burst()
    second = np.concatenate([np.zeros(300), 7.0 * burst(phase=2.0)])
    found = match(first, second, RATE, aligo())
    assert found.value == pytest.approx(1.0, abs=1e-4)
    assert found.shift_s == pytest.approx(-300 / RATE, abs=1.0 / RATE)
    # Two Gaussian bursts of width σ, their frequencies Δ apart: exp(−(2πΔσ)²/4).
    other = match(first, burst(hertz=152.0), RATE, FLAT)
    assert other.value == pytest.approx(np.exp(-((2 * np.pi * 2.0 * 0.1) ** 2) / 4), rel=0.01)
    with pytest.raises(DataError, match="matches nothing"):
        match(first, np.zeros(100), RATE, FLAT)
