"""ψ₄ to strain: a known strain comes back, drift does not come in; harmonics and polarisations."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.constants import SUN_S
from surrogate.signal.harmonics import harmonic, mirrored, polarisations
from surrogate.signal.psi4 import fixed_frequency, mode_frequency, strain_from_psi4, tortoise, uniform
from tests.support.cactus.waves import psi4, strain


def test_a_known_strain_comes_back():
    times = np.arange(150.0, 900.5, 0.5)
    grid, found = strain_from_psi4(times, psi4(times, 1.3), 0.06)
    known = strain(grid, 1.3)
    inside = (grid > 400) & (grid < 800)
    assert np.abs(found - known)[inside].max() < 0.01 * np.abs(known).max()
    # Integrated twice in time instead, a small offset makes it drift away.
    spoilt = psi4(times, 1.3) + 2e-4 * np.abs(psi4(times, 1.3)).max()
    drifted = np.cumsum(np.cumsum(spoilt - spoilt[0])) * 0.25
    assert np.abs(drifted[-1]) > 0.1 * np.abs(known).max()
    _, held = strain_from_psi4(times, spoilt, 0.06)
    assert np.abs(held - known)[inside].max() < 0.02 * np.abs(known).max()


def test_a_sinusoid_is_divided_by_its_frequency_and_slow_ones_by_the_lowest():
    times = np.arange(4096) * 0.25
    omega = 2 * np.pi * 40 / (4096 * 0.25)
    wave = np.exp(-1j * omega * times)
    np.testing.assert_allclose(fixed_frequency(wave, 0.25, omega / 2), -wave / omega**2, atol=1e-9)
    np.testing.assert_allclose(fixed_frequency(wave, 0.25, 2 * omega), -wave / (2 * omega) ** 2, atol=1e-9)
    np.testing.assert_allclose(fixed_frequency(wave, 0.25, omega / 2, order=1), 1j * wave / omega, atol=1e-9)
    assert np.median(mode_frequency(times, wave)) == pytest.approx(omega)
    for bad in (0.0, 13.0):
        with pytest.raises(DataError, match="lowest frequency"):
            fixed_frequency(wave, 0.25, bad)


def test_uneven_times_become_even():
    times = np.cumsum(np.random.default_rng(1).uniform(0.1, 0.3, 400))
    grid, values = uniform(times, np.exp(1j * times), 0.2)
    np.testing.assert_allclose(values, np.exp(1j * grid), atol=1e-3)
    with pytest.raises(DataError, match="rising times"):
        uniform(times[::-1], np.exp(1j * times))


def test_harmonics_are_those_of_the_convention():
    for angle, azimuth in ((0.3, 0.0), (1.1, 0.7), (2.5, -1.0)):
        c = np.cos(angle)
        turn = np.exp(2j * azimuth)
        assert harmonic((2, 2), angle, azimuth) == pytest.approx(np.sqrt(5 / (64 * np.pi)) * (1 + c) ** 2 * turn)
        assert harmonic((2, -2), angle, azimuth) == pytest.approx(np.sqrt(5 / (64 * np.pi)) * (1 - c) ** 2 / turn)
        assert harmonic((2, 0), angle) == pytest.approx(np.sqrt(15 / (32 * np.pi)) * np.sin(angle) ** 2)
        lal = pytest.importorskip("lal")
        for mode in ((3, 3), (3, -2), (4, 1)):
            expected = lal.SpinWeightedSphericalHarmonic(angle, azimuth, -2, *mode)
            assert harmonic(mode, angle, azimuth) == pytest.approx(expected)


def test_polarisations_have_physical_units():
    times = np.arange(0.0, 900.0, 0.5)
    mode = strain(times, 1.0)
    face = polarisations(mirrored({(2, 2): mode}), 0.5, 60.0, 400.0, 4096)
    assert len(face.plus) == pytest.approx(times[-1] * 60.0 * SUN_S * 4096, abs=2)
    # r·h/M = 0.1 · |₋₂Y₂₂(0)| = 0.063 of G·60 M☉/c² = 88.6 km, over 400 Mpc.
    assert np.hypot(face.plus, face.cross).max() == pytest.approx(0.1 * 0.6308 * 88.6e3 / (400 * 3.0857e22), rel=0.01)
    edge = polarisations(mirrored({(2, 2): mode}), 0.5, 60.0, 400.0, 4096, inclination=np.pi / 2)
    assert np.abs(edge.cross).max() < 1e-6 * np.abs(edge.plus).max(), "seen from the side only one polarisation is left"


def test_the_delay_of_extraction():
    assert tortoise(100.0) == pytest.approx(100.0 + 2.0 * np.log(49.0))
    with pytest.raises(DataError, match="inside of the horizon"):
        tortoise(1.5)
