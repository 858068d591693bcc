"""Whitening and band-passing: white noise comes out, edges are cropped, filters are shorter than what they filter."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.aligo import aligo
from surrogate.signal.filters import band_pass, faded
from surrogate.signal.noise import coloured
from surrogate.signal.strain import Strain
from surrogate.signal.whiten import whiten_strain, whitener

RATE = 2048


@pytest.fixture(scope="module")
def noise():
    return coloured(aligo(), RATE, 32 * RATE, np.random.default_rng(1), 10.0)


def test_noise_of_the_spectrum_becomes_white_with_unit_variance(noise):
    filt = whitener(aligo(), RATE, 1.0, 20.0)
    white = filt(noise)
    assert white.dtype == np.float64
    assert len(white) == len(noise) - 2 * filt.half == len(noise) - RATE
    # Suppressed below 20 of 1024 Hz.
    assert white.std() == pytest.approx(np.sqrt(1 - 20 / 1024), abs=0.01)
    power = np.abs(np.fft.rfft(white.reshape(-1, 2048)[:31], axis=1)) ** 2
    flat = power.mean(axis=0)[30:1000] / 2048
    assert np.abs(flat.reshape(-1, 97).mean(axis=1) - 1.0).max() < 0.1
    np.testing.assert_allclose(filt(noise.reshape(4, -1))[2], filt(noise[16 * RATE : 24 * RATE]))


def test_no_output_depends_on_what_was_not_recorded(noise):
    filt = whitener(aligo(), RATE, 1.0, 20.0)
    whole, part = filt(noise), filt(noise[4096:12288])
    np.testing.assert_allclose(part, whole[4096 : 4096 + len(part)], atol=1e-9)


def test_a_filter_longer_than_its_data_is_refused(noise):
    filt = whitener(aligo(), RATE, 4.0, 20.0)
    with pytest.raises(DataError, match=r"1\.0 s were to be whitened by a filter of 4\.0.* s"):
        filt(noise[:RATE])
    with pytest.raises(DataError, match="not finite"):
        filt(np.where(np.arange(len(noise)) == 9, np.nan, noise))
    with pytest.raises(DataError, match="No whitening filter"):
        whitener(aligo(), RATE, 1.0, 9000.0)


def test_gaps_are_cropped_like_ends(noise):
    data = noise.copy()
    data[8 * RATE : 9 * RATE] = np.nan
    filt = whitener(aligo(), RATE, 1.0, 20.0)
    white = whiten_strain(Strain(data, RATE, 10.0, "H1"), filt)
    assert (white.start, len(white.data)) == (10.0, len(data))
    good = np.isfinite(white.data)
    half = filt.half
    assert not good[:half].any()
    assert not good[8 * RATE - half : 9 * RATE + half].any()
    assert good[half : 8 * RATE - half].all()
    assert good[9 * RATE + half : -half].all()
    with pytest.raises(DataError, match="made for 2048; resample"):
        whiten_strain(Strain(data, 4096), filt)
    with pytest.raises(DataError, match="No stretch"):
        whiten_strain(Strain(np.full(4096, np.nan), RATE), filt)


def test_a_band_is_passed_without_delay_and_its_edges_cropped():
    times = np.arange(2 * RATE) / RATE
    data = np.sin(2 * np.pi * 100 * times) + np.sin(2 * np.pi * 20 * times) + np.sin(2 * np.pi * 700 * times)
    passed = band_pass(data, RATE, 50.0, 300.0)
    lost = (len(data) - len(passed)) // 2
    assert lost == RATE // 8
    np.testing.assert_allclose(passed, np.sin(2 * np.pi * 100 * times)[lost:-lost], atol=0.01)
    with pytest.raises(DataError, match="every sample would be an edge"):
        band_pass(data[:300], RATE, 50.0, 300.0)
    with pytest.raises(DataError, match="does not lie between"):
        band_pass(data, RATE, 300.0, 50.0)


def test_faded_ends_join():
    shaped = faded(np.ones(1000), 100, 1.0)
    assert shaped[0] == shaped[-1] == 0.0
    assert (shaped[110:-110] == 1.0).all()
