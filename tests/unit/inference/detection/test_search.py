"""Searches of simulated strain with toy chirps: found where they are, paired, ranked, and nothing claimed too much."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from surrogate.core.errors import ConfigError, DataError
from surrogate.inference.detection.output import write_search
from surrogate.inference.detection.rates import parse_rate
from surrogate.inference.detection.search import look, search, summary
from surrogate.inference.detection.windows import starts_of
from surrogate.signal.strain import Strain
from tests.support.chirps import RATE
from tests.support.toy_detector import START, noise, predictor, with_chirp

pytestmark = pytest.mark.train
DAY = 86400.0


@pytest.fixture(scope="module")
def pair():
    """Return strain of two detectors with one chirp, 7 ms later in the second."""
    return [with_chirp(noise("H1"), 16.2, 16.0), with_chirp(noise("L1"), 16.207, 12.0)]


@pytest.fixture(scope="module")
def found(pair):
    return search(predictor(), pair)


def test_a_chirp_in_both_detectors_is_the_loudest_trigger(found):
    loudest = found.triggers[0]
    assert loudest.gps == pytest.approx(START + 16.2, abs=0.01)
    assert loudest.delay == pytest.approx(0.007, abs=0.004)
    assert loudest.detectors == "H1L1"
    assert loudest.statistic == pytest.approx(sum(loudest.logits))
    assert loudest.mass_1 >= loudest.mass_2 > 0
    assert len(found.triggers) == 1 or found.triggers[1].statistic < 0.5 * loudest.statistic


def test_no_rate_is_claimed_below_what_the_slides_support(found):
    lowest = found.background.lowest_far
    assert lowest == pytest.approx(1.0 / found.background.seconds)
    assert found.background.seconds < 32 * 32
    assert found.triggers[0].far == pytest.approx(lowest)
    assert all(trigger.far >= lowest for trigger in found.triggers)
    sentences = " ".join(found.sentences(1.0 / DAY))
    assert "cannot be told from these data" in sentences
    assert found.significant(1.0 / DAY)[0] == found.triggers[0]
    assert "cannot be told" not in " ".join(found.sentences(1.0))


def test_the_files_hold_what_was_found(found, tmp_path):
    paths = write_search(tmp_path / "out", found, None)
    assert [path.name for path in paths] == ["triggers.csv", "triggers.json", "strain.png"]
    with paths[0].open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert len(rows) == len(found.triggers)
    assert float(rows[0]["gps_s"]) == pytest.approx(found.triggers[0].gps, abs=1e-5)
    assert float(rows[0]["far_per_day"]) == pytest.approx(found.triggers[0].far * DAY, rel=1e-5)
    record = json.loads(paths[1].read_text())
    assert record["lowest_far_per_day"] == pytest.approx(found.background.lowest_far * DAY)
    assert record == json.loads(json.dumps(summary(found, None)))
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_one_detector_gives_triggers_without_rates(pair):
    alone = search(predictor(), pair[:1])
    assert alone.triggers[0].gps == pytest.approx(START + 16.2, abs=0.01)
    assert alone.triggers[0].far is None
    assert alone.significant(1.0 / DAY) == list(alone.triggers)
    assert "no false-alarm rate" in " ".join(alone.sentences(None))


def test_chirps_that_light_cannot_connect_do_not_coincide():
    apart = [with_chirp(noise("H1"), 16.2, 16.0), with_chirp(noise("L1"), 16.25, 16.0)]
    triggers = search(predictor(), apart).triggers
    assert all(abs(trigger.gps - START - 16.2) > 0.01 for trigger in triggers)


def test_gaps_are_searched_around(pair):
    data = pair[0].data.copy()
    data[round(24.0 * RATE) : round(25.0 * RATE)] = np.nan
    seen = look(predictor(), replace(pair[0], data=data))
    assert seen.triggers.gps[np.argmax(seen.triggers.logit)] == pytest.approx(START + 16.2, abs=0.01)
    assert not np.any((seen.scores.gps > START + 22.1) & (seen.scores.gps < START + 26.9))
    assert np.any(seen.scores.gps > START + 28.0)


def test_strain_of_a_higher_rate_is_brought_to_the_networks(pair):
    from scipy.signal import resample_poly

    fast = Strain(resample_poly(pair[0].data, 2, 1), 2 * RATE, pair[0].start, "H1")
    seen = look(predictor(), fast)
    assert seen.triggers.gps[np.argmax(seen.triggers.logit)] == pytest.approx(START + 16.2, abs=0.01)


@pytest.mark.parametrize(
    ("strains", "words"),
    [
        (lambda h, k: [h.between(START, START + 2)], "without a gap has 2 s"),
        (lambda h, k: [replace(h, data=np.full(len(h.data), np.nan))], "without a gap has 0 s"),
        (lambda h, k: [replace(h, rate=1024, data=h.data[::2].copy())], "only a rate that divides"),
        (lambda h, k: [h, replace(k, start=k.start + 100.0)], "share no time"),
        (lambda h, k: [h, h], "two different detectors"),
        (lambda h, k: [h, k, h], "one or two detectors"),
        (lambda h, k: [], "one or two detectors"),
    ],
)
def test_strain_that_cannot_be_searched_is_refused_in_a_sentence(pair, strains, words):
    with pytest.raises(DataError, match=words):
        search(predictor(), strains(*pair))


def test_a_network_of_two_detectors_is_refused_with_the_way_out(pair):
    with pytest.raises(ConfigError, match="detectors = 1"):
        search(predictor(2), pair)


def test_another_spectrum_is_told(pair):
    seen = look(predictor(), pair[0])
    assert seen.fitness.match > 0.99
    assert seen.fitness.sentence == ""
    # Noise that rises steeply with frequency.
    random = np.random.default_rng(1)
    steep = np.diff(pair[0].data, n=2, prepend=[0.0, 0.0]) + 1e-24 * random.standard_normal(len(pair[0].data))
    other = look(predictor(), replace(pair[0], data=steep))
    assert other.fitness.match < 0.9
    assert "out of the network's domain" in other.fitness.sentence


def test_windows_cover_every_stretch_to_its_end():
    data = np.zeros(1000)
    data[400:410] = np.nan
    starts = starts_of(Strain(data, 100), 100, 30)
    assert {0, 300, 410, 900} <= set(starts.tolist())
    assert all(np.isfinite(data[start : start + 100]).all() for start in starts)


@pytest.mark.parametrize(
    ("text", "rate"), [("1/day", 1 / DAY), ("2/hour", 2 / 3600), ("0.5/s", 0.5), ("1e-3/days", 1e-3 / DAY)]
)
def test_rates_are_read_as_people_write_them(text, rate):
    assert parse_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["", "1", "day", "0/day", "-1/day", "1/fortnight", "x/day", "inf/day"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(ConfigError, match="1/day"):
        parse_rate(text)
