"""Recorded noise and further spectra enter the rows, and none of the time that is left to testing."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from pydantic import ValidationError

from surrogate.core.errors import DataError
from surrogate.models.detector.family import FAMILY
from surrogate.models.detector.loss import NOISE
from surrogate.models.detector.noise import SHARES, training_noise
from surrogate.models.detector.options import DetectorOptions, HardeningOptions
from surrogate.signal.aligo import aligo
from surrogate.signal.gwosc import write_strain
from surrogate.signal.noise import NoiseSource
from surrogate.signal.strain import Strain
from tests.support.chirps import RATE, table

SECONDS = 40


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    data = NoiseSource(aligo(), RATE, "H1", "train", 3).window(0, SECONDS * RATE)
    data[20 * RATE : 21 * RATE] = np.nan
    path = tmp_path_factory.mktemp("noise") / "H-H1_TEST-0-40.hdf5"
    write_strain(path, Strain(data, RATE, 1000.0, "H1"))
    return path


def options(**hardening):
    return DetectorOptions(hardening=HardeningOptions(**hardening))


def test_windows_of_recorded_noise_are_white_and_of_the_training_time(recorded):
    noise, starts = training_noise(options(noise=(str(recorded),)), RATE, 0)
    assert len(starts) > 50
    windows = noise[starts[:, np.newaxis] + np.arange(RATE)]
    assert windows.std() == pytest.approx(1.0, abs=0.05)
    assert starts.max() + RATE <= SHARES["train"] * SECONDS * RATE
    # No window reaches into the gap or what whitening lost beside it.
    assert not np.any((starts + RATE > 18 * RATE) & (starts < 23 * RATE))


def test_rows_carry_recorded_noise(recorded):
    transforms = FAMILY.fit(table(12), options(noise=(str(recorded),)), 0)
    rows = FAMILY.rows(transforms, table(12))
    assert rows[NOISE].shape == (12, RATE, 1)
    assert rows[NOISE].std() == pytest.approx(1.0, abs=0.1)
    assert NOISE not in FAMILY.rows(FAMILY.fit(table(12), options(), 0), table(12))


def test_further_spectra_whiten_waveforms_in_turn(tmp_path):
    path = tmp_path / "steep.hdf"
    frequencies = np.arange(8 * 1024 + 1) / 8.0
    with h5py.File(path, "w") as file:
        file["data"] = 1e-46 * (1.0 + (frequencies / 100.0) ** 4)
        file["data"].attrs["delta_f"] = 0.125
    plain = FAMILY.fit(table(12), options(), 0)
    varied = FAMILY.fit(table(12), options(psds=(str(path),)), 0)
    assert varied.densities.shape[0] == 2
    one, other = (FAMILY.rows(transforms, table(12))["templates"] for transforms in (plain, varied))
    np.testing.assert_allclose(one[::2], other[::2], atol=1e-6)
    assert np.abs(one[1::2] - other[1::2]).max() > 0.01


def test_a_relative_path_is_refused_before_anything_runs():
    with pytest.raises(ValidationError, match="absolute path"):
        options(noise=("noise.hdf5",))


def test_a_file_that_is_no_strain_is_refused(tmp_path):
    path = tmp_path / "nothing.hdf5"
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read"):
        training_noise(options(noise=(str(path),)), RATE, 0)
