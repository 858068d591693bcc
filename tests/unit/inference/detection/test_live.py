"""Strain that arrives in chunks gives the triggers that it gives at once, and says how late they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.inference.detection.live import LiveSearch, stream
from surrogate.signal.aligo import aligo
from tests.support.toy_detector import START, noise, predictor, with_chirp

pytestmark = pytest.mark.train


def chunks(strain, seconds):
    for second in np.arange(0.0, strain.seconds, seconds):
        yield strain.between(strain.start + second, strain.start + second + seconds)


@pytest.fixture(scope="module")
def strain():
    return with_chirp(with_chirp(noise("H1", 40), 24.3, 16.0), 32.6, 16.0)


@pytest.mark.parametrize("seconds", [1.0, 4.0])
def test_chirps_are_found_once_each_whatever_the_chunks(strain, seconds):
    found = list(stream(predictor(), chunks(strain, seconds), floor=20.0))
    assert [live.trigger.gps for live in found] == pytest.approx([START + 24.3, START + 32.6], abs=0.01)
    limit = LiveSearch(predictor()).delay_s + seconds
    assert all(0.0 < live.needed_s <= limit + 0.3 for live in found)
    assert all(live.computing_s > 0.0 for live in found)
    assert {live.trigger.detectors for live in found} == {"H1"}


def test_with_a_spectrum_the_search_begins_at_once():
    early = with_chirp(noise("H1", 12), 6.2, 16.0)
    listening = LiveSearch(predictor(), floor=20.0)
    knowing = LiveSearch(predictor(), floor=20.0, psd=aligo(), filter_s=0.5)
    assert not [live for chunk in chunks(early, 2.0) for live in listening.feed(chunk)]
    found = [live for chunk in chunks(early, 2.0) for live in knowing.feed(chunk)]
    assert [live.trigger.gps for live in found] == pytest.approx([START + 6.2], abs=0.01)


def test_a_gap_is_not_crossed_and_the_search_goes_on(strain):
    searching = LiveSearch(predictor(), floor=20.0, psd=aligo(), filter_s=0.5)
    pieces = [chunk for chunk in chunks(strain, 1.0) if not START + 26 <= chunk.start < START + 29]
    found = [live for chunk in pieces for live in searching.feed(chunk)]
    assert [live.trigger.gps for live in found] == pytest.approx([START + 24.3, START + 32.6], abs=0.01)


def test_chunks_out_of_order_are_refused(strain):
    searching = LiveSearch(predictor(), psd=aligo())
    first = strain.between(START, START + 4)
    searching.feed(first)
    with pytest.raises(DataError, match="order of time"):
        searching.feed(replace(first, start=START + 1.0))
