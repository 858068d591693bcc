"""A detector of toy chirps that needs no training: its filters and templates find them, and nothing else is asked."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from surrogate.inference.artifact import Artifact
from surrogate.inference.predictor import Predictor
from surrogate.models.calibration import Calibration
from surrogate.models.detector.exam import exam_schema
from surrogate.models.detector.family import FAMILY
from surrogate.models.detector.options import DetectorOptions
from surrogate.signal.aligo import aligo
from surrogate.signal.noise import NoiseSource
from surrogate.signal.strain import Strain
from tests.support.chirps import BEFORE, RATE, chirp, table

START = 1_000_000_000


@cache
def predictor(detectors: int = 1) -> Predictor:
    """Return the detector, in this process and by Keras."""
    from surrogate.training.export import keras_forward

    options = DetectorOptions(detectors=detectors, width=8)  # type: ignore[arg-type]
    transforms = FAMILY.fit(table(64), options, 0)
    forward = keras_forward(FAMILY.build(transforms, options, 1))
    artifact = SimpleNamespace(
        schema=exam_schema(transforms), space=None, domain=None, calibration=Calibration({}, 0), folder="memory"
    )
    return Predictor(cast("Artifact", artifact), cast("Any", FAMILY), transforms, [forward], "keras")


def noise(detector: str, seconds: int = 32, seed: int = 3) -> Strain:
    """Return simulated noise."""
    data = NoiseSource(aligo(), RATE, detector, "test", seed).window(0, seconds * RATE)
    return Strain(data, RATE, float(START), detector)


def with_chirp(strain: Strain, after_s: float, ratio: float, masses: tuple[float, float] = (34.0, 29.0)) -> Strain:
    """Return the strain with a chirp added whose peak comes so many seconds after its start."""
    from surrogate.signal.snr import optimal_snr

    plus, _ = chirp(*masses)
    wave = plus * (ratio / optimal_snr(plus, RATE, aligo()))
    data = strain.data.copy()
    first = round((after_s - BEFORE) * RATE)
    data[first : first + len(wave)] += wave
    return Strain(data, RATE, strain.start, strain.detector)


def glitched(strain: Strain, after_s: float) -> Strain:
    """Return the strain with a loud short burst."""
    times = np.arange(len(strain.data)) / RATE - after_s
    data = strain.data + 2e-20 * np.exp(-((times / 0.002) ** 2)) * np.sin(2 * np.pi * 200 * times)
    return Strain(data, RATE, strain.start, strain.detector)
