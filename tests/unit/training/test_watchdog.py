"""The watch over ranks that wait for each other."""

from __future__ import annotations

import threading
import time

import pytest

from surrogate.training.watchdog import Watchdog


@pytest.fixture
def dog():
    gave_up = threading.Event()
    watchdog = Watchdog(0.6, gave_up.set)
    yield watchdog, gave_up
    watchdog.close()


def test_a_section_without_progress_is_given_up(dog):
    watchdog, gave_up = dog
    with watchdog.section():
        assert gave_up.wait(30)


def test_a_section_with_progress_is_left_alone(dog):
    watchdog, gave_up = dog
    steps = iter(range(10**9))
    with watchdog.section(lambda: next(steps)):
        assert not gave_up.wait(2.5)


def test_short_sections_and_the_time_between_them_are_left_alone(dog):
    watchdog, gave_up = dog
    for _ in range(4):
        with watchdog.section():
            time.sleep(0.2)
    assert not gave_up.wait(2.0)


def test_a_section_that_fails_is_no_longer_watched(dog):
    watchdog, gave_up = dog
    with pytest.raises(ValueError, match="x"), watchdog.section():
        raise ValueError("x")
    assert not gave_up.wait(1.5)
