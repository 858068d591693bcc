"""Strain through a detector, window by window: what it says of every stretch of time in which a peak may lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import ConfigError, DataError
from surrogate.inference.predictor import Predictor
from surrogate.models.detector.exam import SIGNAL
from surrogate.models.detector.network import STRAIN
from surrogate.models.detector.transforms import DetectorTransforms
from surrogate.signal.strain import Strain, stretches

Array = NDArray[np.float64]
_WINDOWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a detector says of W windows, in the order of time.

    Attributes:
        gps: `[W]` GPS time of the likeliest peak, s.
        logit: `[W]`.
        mass_1: `[W]`, solar masses.
        mass_2: `[W]`, solar masses.
    """

    gps: Array
    logit: Array
    mass_1: Array
    mass_2: Array

    def take(self, index: NDArray[np.int64]) -> Scores:
        """Return the windows at `index`, `[K]`, in that order."""
        return Scores(self.gps[index], self.logit[index], self.mass_1[index], self.mass_2[index])


def detector_of(predictor: Predictor) -> DetectorTransforms:
    """Return how a detector cuts its windows.

    Raises:
        ConfigError: If the surrogate is no detector, or one of two detectors at once.
    """
    transforms = predictor.transforms
    if not isinstance(transforms, DetectorTransforms):
        raise ConfigError(
            f"Strain is searched by a surrogate of the family 'detector', and this one is of the family "
            f"'{predictor.family.name}'."
        )
    if transforms.options.detectors != 1:
        raise ConfigError(
            "This network looks at two detectors at once, and no time slide can tell its false-alarm rate from one "
            "pass over the data. Train one with detectors = 1: triggers of two detectors are then made to coincide."
        )
    return transforms


def starts_of(white: Strain, samples: int, stride: int) -> NDArray[np.int64]:
    """Return the first samples of all windows without a gap, `[W]`; the last one of a stretch ends with it."""
    found: list[NDArray[np.int64]] = []
    for first, stop in stretches(white.data, samples):
        starts = np.arange(first, stop - samples + 1, stride)
        if starts[-1] != stop - samples:
            starts = np.append(starts, stop - samples)
        found.append(starts.astype(np.int64))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def batches(starts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the starts in batches."""
    for begin in range(0, len(starts), _WINDOWS_AT_ONCE):
        yield starts[begin : begin + _WINDOWS_AT_ONCE]


def score(predictor: Predictor, white: Strain, *, overlap: int = 2) -> Scores:
    """Let a detector look at all windows of whitened strain.

    Args:
        predictor: A detector of one strain.
        white: Whitened strain of the detector's rate; NaN in gaps.
        overlap: In how many windows each time may hold a peak.

    Raises:
        ConfigError: If the surrogate is no such detector.
        DataError: If the rates differ, or there is no window without a gap.
    """
    transforms = detector_of(predictor)
    if white.rate != transforms.rate:
        raise DataError(
            f"The detector looks at {transforms.rate} samples a second, and the strain has {white.rate}; resample it."
        )
    options = transforms.options
    stride = max(1, int((options.peak_to - options.peak_from) * white.rate / overlap))
    starts = starts_of(white, transforms.samples, stride)
    if not len(starts):
        raise DataError(
            f"The strain of {white.detector or 'the detector'} has no {options.window_s} s without a gap after "
            "whitening; give a longer stretch."
        )
    parts = []
    for some in batches(starts):
        windows = white.data[some[:, np.newaxis] + np.arange(transforms.samples)]
        said = predictor.predict({STRAIN: windows}, batch_rows=_WINDOWS_AT_ONCE).mean
        if SIGNAL not in said:
            raise ConfigError("The surrogate gives no probability of a signal.")
        gps = white.start + some / white.rate + np.asarray(said["arrival"])
        parts.append((gps, *(np.asarray(said[name], dtype=np.float64) for name in ("logit", "mass_1", "mass_2"))))
    return Scores(*(np.concatenate(column) for column in zip(*parts, strict=True)))
