"""Injections: whole, timed to a part of a sample, as loud as asked, not on glitches; detectors' responses."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.signal.aligo import aligo
from surrogate.signal.detectors import DETECTORS, detector, light_travel_time
from surrogate.signal.injection import inject, quiet_times, scale_to_snr
from surrogate.signal.snr import optimal_snr
from surrogate.signal.strain import Strain
from surrogate.signal.waveform import Waveform

RATE = 2048


def wave(seconds=0.5, peak=0.375):
    times = np.arange(round(seconds * RATE)) / RATE - peak
    envelope = 1e-21 * np.exp(-((times / 0.03) ** 2))
    return Waveform.of(envelope * np.cos(900 * times), envelope * np.sin(900 * times), RATE, 100.0)


def test_loudness_is_what_was_asked_for():
    signal = wave().plus
    factor = scale_to_snr(signal, RATE, aligo(), 8.0)
    assert optimal_snr(signal * factor, RATE, aligo()) == pytest.approx(8.0)
    assert wave().at_distance(200.0).plus[700] == pytest.approx(wave().plus[700] / 2)
    with pytest.raises(DataError, match="cannot be scaled"):
        scale_to_snr(np.zeros(100), RATE, aligo(), 8.0)
    with pytest.raises(DataError, match="distance is above 0"):
        wave().at_distance(0.0)


@pytest.mark.parametrize("part", [0.0, 0.25, 0.5])
def test_the_peak_arrives_to_a_part_of_a_sample(part):
    quiet, given = Strain(np.zeros(4 * RATE), RATE, 100.0), wave()
    gps = 102.0 + part / RATE
    data = inject(quiet, given.plus, given.peak, gps).data
    assert not quiet.data.any(), "what was given is left alone"
    times = quiet.times() - gps
    expected = 1e-21 * np.exp(-((times / 0.03) ** 2)) * np.cos(900 * times)
    np.testing.assert_allclose(data, np.where(np.abs(times) < 0.1, expected, data), atol=2e-24)


def test_a_merger_is_never_cropped_away():
    quiet, given = Strain(np.zeros(4 * RATE), RATE, 100.0), wave()
    begun_before = inject(quiet, given.plus, given.peak, 100.2)
    assert np.abs(begun_before.data).max() == pytest.approx(1e-21, rel=0.01), "only the beginning is left out"
    for gps, edge in ((99.9, 0.0), (103.99, 0.0), (100.3, 0.5), (103.6, 0.5), (104.5, 0.0)):
        with pytest.raises(DataError, match="would be cut off"):
            inject(quiet, given.plus, given.peak, gps, edge_s=edge)
    quiet.data[2 * RATE] = np.nan
    with pytest.raises(DataError, match="has a gap"):
        inject(quiet, given.plus, given.peak, 102.05)


def test_times_on_glitches_and_gaps_are_not_quiet():
    white = Strain(np.random.default_rng(1).standard_normal(10 * RATE), RATE, 0.0)
    white.data[3 * RATE] = 30.0
    white.data[7 * RATE : 8 * RATE] = np.nan
    good = quiet_times(white, np.asarray([0.1, 1.5, 3.2, 5.0, 7.5, 8.2, 9.0]), window_s=0.5)
    assert good.tolist() == [False, True, False, True, False, False, True]


def test_a_window_keeps_the_peak_where_it_is_asked():
    given = wave()
    for before, after in ((0.2, 0.05), (1.0, 0.5)):
        part = given.window(before, after, 0.02)
        assert len(part.plus) == round(before * RATE) + round(after * RATE)
        assert int(np.argmax(np.hypot(part.plus, part.cross))) == round(before * RATE) == round(part.peak)
    assert part.plus[: RATE // 4].max() == 0.0
    with pytest.raises(DataError, match="peak inside"):
        Waveform(given.plus, given.cross[:-1], RATE, 3.0, 1.0)


def test_detectors_respond_as_surveyed():
    lal = pytest.importorskip("lal")
    random = np.random.default_rng(1)
    for name, found in DETECTORS.items():
        other = lal.cached_detector_by_prefix[name]
        np.testing.assert_allclose(found.response, other.response, atol=1e-7)
        np.testing.assert_allclose(found.place, other.location, atol=1e-3)
        for _ in range(5):
            longitude, latitude, polarisation = random.uniform([0, -1.5, 0], [6, 1.5, 3])
            expected = lal.ComputeDetAMResponse(other.response, longitude, latitude, polarisation, 0.0)
            np.testing.assert_allclose(found.patterns(longitude, latitude, polarisation), expected, atol=1e-6)
            delay = lal.ArrivalTimeDiff(other.location, np.zeros(3), longitude, latitude, lal.LIGOTimeGPS(0))
            gmst = lal.GreenwichMeanSiderealTime(lal.LIGOTimeGPS(0))
            assert found.delay(longitude - gmst, latitude) == pytest.approx(delay, abs=1e-8)
    assert light_travel_time("H1", "L1") == pytest.approx(0.010013, abs=1e-6)
    with pytest.raises(DataError, match="no detector 'H2'; known are H1, L1, V1"):
        detector("H2")
