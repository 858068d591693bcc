"""Recorded noise that a detector is trained on: whitened by its own spectrum, the training's part of it only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surrogate.models.detector.options import DetectorOptions
from surrogate.signal.gwosc import read_strain
from surrogate.signal.segments import divide, windows
from surrogate.signal.strain import resample
from surrogate.signal.welch import welch
from surrogate.signal.whiten import whiten_strain, whitener

SHARES = {"train": 0.8, "test": 0.2}
"""Of the time of each file; the rest is left for whoever tests."""

_SEGMENT_S = 4.0


def training_noise(
    options: DetectorOptions,
    rate: int,
    seed: int,  # noqa: ARG001 - which windows are taken is decided row by row
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return whitened noise of all files one after the other, `[S]` float32, and first samples of its windows.

    Raises:
        DataError: If a file cannot be read, has a lower sample rate, or is too short.
    """
    parts: list[NDArray[np.float32]] = []
    starts: list[int] = []
    place = 0
    for name in options.hardening.noise:
        strain = resample(read_strain(Path(name)), rate)
        psd = welch(strain.data, rate, _SEGMENT_S)
        white = whiten_strain(strain, whitener(psd, rate, _SEGMENT_S, options.low_hz))
        part = divide(strain.start, strain.end, SHARES, options.window_s + _SEGMENT_S)["train"]
        starts += [place + first for first in windows(white, part, options.window_s, options.window_s / 8.0)]
        parts.append(np.nan_to_num(white.data).astype(np.float32))
        place += len(white.data)
    noise = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
    return noise, np.asarray(starts, dtype=np.int64)
