"""Template banks: every candidate is covered, few are needed, the filter bank's ratios are those of the definition."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal import bank
from surrogate.signal.bank_filter import FilterBank

N, PEAK = 512, 400


def chirps(rates):
    """Whitened windows of chirps that sweep at different rates."""
    times = (np.arange(N) - PEAK) / N
    return np.asarray(
        [np.exp(-((times / 0.15) ** 2)) * np.cos(2 * np.pi * (128 * times + r * times**2)) for r in rates]
    )


def test_candidates_fill_the_masses_and_depend_on_the_seed_only():
    masses = bank.candidates(300, 10.0, 50.0, 1)
    assert masses.shape == (300, 2)
    assert masses.min() >= 10.0
    assert masses.max() <= 50.0
    assert (masses[:, 0] >= masses[:, 1]).all()
    np.testing.assert_array_equal(masses, bank.candidates(300, 10.0, 50.0, 1))
    assert not np.array_equal(masses, bank.candidates(300, 10.0, 50.0, 2))
    assert [10.0, 10.0] in masses.tolist()
    assert [50.0, 50.0] in masses.tolist()


def test_a_cover_keeps_the_minimal_match_and_needs_few_templates():
    spectra = bank.normalised(chirps(np.linspace(0, 150, 120)))
    placed = bank.place(spectra, N, 0.95)
    assert placed.best.min() >= 0.95
    for row in range(0, 120, 17):
        assert bank.matches(spectra[row], spectra[placed.chosen], N).max() == pytest.approx(placed.best[row], abs=1e-5)
    assert len(placed.chosen) <= 30
    assert len(bank.place(spectra, N, 0.99).chosen) > len(placed.chosen)
    assert bank.matches(spectra[3], spectra[3:4], N)[0] == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(DataError, match="between 0 and 1"):
        bank.place(spectra, N, 1.0)
    with pytest.raises(DataError, match="silent"):
        bank.normalised(np.zeros((2, N)))


def test_what_a_bank_misses_completes_it():
    spectra = bank.normalised(chirps(np.linspace(0, 150, 120)))
    thin = spectra[::40]
    added = bank.completed(thin, spectra, N, 0.95)
    whole = np.concatenate([thin, spectra[added]])
    assert 0 < len(added) < 60
    assert min(bank.matches(one, whole, N).max() for one in spectra) >= 0.95
    assert not len(bank.completed(whole, spectra, N, 0.95))


def test_a_bank_gives_the_ratio_the_template_and_the_time():
    shapes = chirps([0.0, 60.0, 120.0])
    spectra = bank.normalised(shapes)
    filters = FilterBank(spectra, N, PEAK)
    windows = np.zeros((2, N), dtype=np.float32)
    shift = 37
    windows[0] = np.roll(9.0 * shapes[1] / np.linalg.norm(shapes[1]), shift)
    windows[1] = 5.0 * shapes[2] / np.linalg.norm(shapes[2])
    found = filters.loudest(windows)
    np.testing.assert_allclose(found.snr, [9.0, 5.0], rtol=1e-4)
    assert found.template.tolist() == [1, 2]
    assert found.sample.tolist() == [PEAK + shift, PEAK]
    narrow = FilterBank(spectra, N, PEAK, (PEAK - 5, PEAK + 6)).loudest(windows)
    assert narrow.snr[0] < 9.0
    assert narrow.snr[1] == pytest.approx(5.0, rel=1e-4)
    assert (np.abs(narrow.sample - PEAK) <= 5).all()
    with pytest.raises(DataError, match="windows of 512 samples"):
        filters.loudest(windows[:, :-1])
    with pytest.raises(DataError, match="do not belong"):
        FilterBank(spectra, N + 2, PEAK)


def test_a_bank_is_the_direct_sum_over_many_windows_and_templates():
    random = np.random.default_rng(1)
    shapes = chirps(np.linspace(0, 150, 37))
    unit = shapes / np.linalg.norm(shapes, axis=1)[:, np.newaxis]
    windows = random.standard_normal((5, N)).astype(np.float32)
    found = FilterBank(bank.normalised(shapes), N, PEAK).loudest(windows)
    for row, window in enumerate(windows):
        best = 0.0
        for template in unit:
            analytic = np.fft.fft(template)
            analytic[N // 2 + 1 :] = 0
            best = max(best, np.abs(np.fft.ifft(2 * np.fft.fft(window) * analytic.conj())).max())
        assert found.snr[row] == pytest.approx(best, rel=1e-3)
