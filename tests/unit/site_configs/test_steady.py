from __future__ import annotations

import time

import pytest

from site_configs.steady import hold_clock


def test_the_clock_goes_on_whatever_becomes_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    hold_clock()
    first = time.time()
    assert 1000.0 <= first < 1060.0
    time.sleep(0.01)
    assert first < time.time() < first + 60.0
