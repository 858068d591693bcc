"""Spectra: the design curve, files, Welch's method with a median that a glitch does not move."""

import h5py
import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.aligo import aligo, aligo_density
from surrogate.signal.noise import coloured
from surrogate.signal.psd import Psd, read_psd
from surrogate.signal.welch import median_bias, welch
from tests.support.shared_data import shared_data

RATE = 1024


def test_the_design_curve_is_the_published_one():
    simulation = pytest.importorskip("lalsimulation")
    frequencies = np.geomspace(6.0, 8000.0, 400)
    published = [simulation.SimNoisePSDaLIGOZeroDetHighPower(float(f)) for f in frequencies]
    np.testing.assert_allclose(aligo_density(frequencies), published, rtol=1e-4)
    np.testing.assert_allclose(aligo().at(frequencies[50:]), published[50:], rtol=1e-3)
    assert np.isinf(aligo_density(np.asarray([1.0, 9000.0]))).all()


def test_a_spectrum_is_linear_between_its_frequencies_and_unknown_beyond():
    psd = Psd.of(np.asarray([0.0, 2.0, 4.0, np.nan]), 10.0)
    np.testing.assert_array_equal(psd.at(np.asarray([5.0, 10.0, 15.0, 20.0, 25.0])), [np.inf, 2.0, 3.0, 4.0, np.inf])
    np.testing.assert_array_equal(psd.on(5.0, 5), [np.inf, np.inf, 2.0, 3.0, 4.0])
    with pytest.raises(DataError, match="at least one value"):
        Psd.of(np.zeros(4), 1.0)


def test_spectra_are_read_from_both_kinds_of_file(tmp_path):
    with h5py.File(tmp_path / "psd.hdf", "w") as file:
        file["data"] = np.asarray([0.0, 1e-46, 4e-46])
        file["data"].attrs["delta_f"] = 2.0
    psd = read_psd(tmp_path / "psd.hdf")
    assert (psd.df, psd.values[2]) == (2.0, 4e-46)
    frequencies = np.geomspace(10.0, 1000.0, 50)
    np.savetxt(tmp_path / "asd.txt", np.column_stack([frequencies, 1e-23 * (frequencies / 100.0) ** -2]))
    powers = read_psd(tmp_path / "asd.txt").at(np.asarray([20.0, 100.0, 500.0]))
    np.testing.assert_allclose(powers, 1e-46 * np.asarray([0.2, 1.0, 5.0]) ** -4.0, rtol=0.02)
    (tmp_path / "bad.txt").write_text("10 1e-23\n5 1e-23\n")
    for name in ("bad.txt", "none.txt"):
        with pytest.raises(DataError, match="cannot be read as a spectrum"):
            read_psd(tmp_path / name)


def test_a_measured_spectrum_of_the_test_data_is_read():
    psd = read_psd(shared_data("waveforms/psd_o3a/H1/psd-0.hdf"))
    assert psd.df == 1.0
    assert 1e-47 < psd.at(np.asarray([150.0]))[0] < 1e-45


def test_the_median_of_powers_is_brought_to_their_mean():
    draws = np.random.default_rng(1).exponential(size=(20000, 15))
    assert median_bias(15) == pytest.approx(np.median(draws, axis=1).mean(), rel=0.01)
    assert median_bias(1) == 1.0
    assert median_bias(2001) == pytest.approx(np.log(2), rel=1e-3)


def test_a_glitch_moves_the_mean_and_hardly_the_median():
    psd = aligo()
    noise = coloured(psd, RATE, 64 * RATE, np.random.default_rng(2), 10.0)
    inside = slice(30 * 4, 400 * 4)
    clean = welch(noise, RATE).values[inside] / psd.on(0.25, 401 * 4)[inside]
    assert np.median(clean) == pytest.approx(1.0, abs=0.05)
    assert clean.mean() == pytest.approx(1.0, abs=0.05)
    times = np.arange(len(noise)) / RATE - 30.3
    noise += 1e-19 * np.exp(-((times / 0.01) ** 2)) * np.sin(2 * np.pi * 120 * times)
    robust, mean = welch(noise, RATE), welch(noise, RATE, average="mean")
    near = slice(100 * 4, 140 * 4)
    assert np.median(mean.values[near] / psd.on(0.25, 401 * 4)[near]) > 20
    assert np.median(robust.values[near] / psd.on(0.25, 401 * 4)[near]) == pytest.approx(1.0, abs=0.2)


def test_segments_with_a_gap_are_left_out_and_too_few_are_refused():
    noise = np.random.default_rng(3).standard_normal(40 * RATE)
    noise[15 * RATE : 16 * RATE] = np.nan
    psd = welch(noise, RATE)
    assert np.isfinite(psd.values).all()
    assert psd.values[10:-10].mean() == pytest.approx(2.0 / RATE, rel=0.1)
    with pytest.raises(DataError, match=r"3 of them without a gap, and 1 were found in 4\.5 s"):
        welch(noise[: 9 * RATE // 2], RATE)
