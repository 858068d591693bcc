"""A shifted clock shifts the wall clock, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.support.clock import Clock

ASK = """
import datetime, multiprocessing, time
begin = time.monotonic()
multiprocessing.get_context("spawn").Semaphore(0).acquire(timeout=0.3)
waited = time.monotonic() - begin
print(time.time(), datetime.datetime.now().timestamp(), time.monotonic(), waited)
"""


def told(clock: Clock) -> list[float]:
    environment = {**os.environ, **clock.environment}
    said = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in said.stdout.split()]


def test_the_wall_clock_is_shifted_and_the_other_is_not(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "clock")
    for shift in (0, -3600, -90 * 86400):
        clock.set(shift)
        wall, date, monotonic, waited = told(clock)
        assert abs(wall - time.time() - shift) < 60
        assert abs(date - wall) < 60
        assert abs(monotonic - time.monotonic()) < 60
        assert 0.25 < waited < 60
