"""The exam: waveforms become windows of strain, some with a signal of a known ratio, some of noise alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surrogate.core.identity import digest
from surrogate.core.schema import Column, Coordinate, SampleTable, Schema, Values
from surrogate.models.detector.network import STRAIN
from surrogate.models.detector.transforms import DetectorTransforms

Array = NDArray[np.float64]
SIGNAL, RATIO = "signal", "snr"


def exam_schema(transforms: DetectorTransforms) -> Schema:
    """Return the columns of an exam: strain is asked, `signal` answered; ratio and masses are facts."""
    detectors, samples = transforms.options.detectors, transforms.samples
    shape = (samples,) if detectors == 1 else (detectors, samples)
    dims = ("time",) if detectors == 1 else ("detector", "time")
    time = Coordinate("time", "s", tuple(number / transforms.rate for number in range(samples)))
    what = "whitened strain; noise has unit variance"
    return Schema(
        (
            Column(STRAIN, "input", "1", dtype="float32", shape=shape, dims=dims, description=what),
            Column(SIGNAL, "output", "1", low=0.0, high=1.0, description="whether a binary is in the window"),
            Column(RATIO, "fact", "1", description="signal-to-noise ratio of the binary; 0 without one"),
            Column("mass_1", "fact", "solar_mass", description="heavier mass; also that of the absent one"),
            Column("mass_2", "fact", "solar_mass", description="lighter mass; also that of the absent one"),
        ),
        (time,),
    )


def place_signal(
    transforms: DetectorTransforms, waves: Array, ratio: float, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return a window with a signal and no noise, `[D, T]`.

    Args:
        transforms: How windows are cut.
        waves: `[2, S]`, whitened polarisations around the peak.
        ratio: Signal-to-noise ratio of all detectors together.
        random: Source of phase, place, delay and shares.
    """
    options, samples = transforms.options, transforms.samples
    first, last = transforms.edge(options.peak_from), transforms.edge(options.peak_to)
    reach = round(0.01 * transforms.rate) if options.detectors == 2 else 0
    place = int(random.integers(first + reach, max(last - reach, first + reach + 1)))
    angle = random.uniform(0.0, 0.5 * math.pi)
    shares = (1.0,) if options.detectors == 1 else (math.cos(angle), math.sin(angle))
    windows = np.empty((options.detectors, samples))
    for number, share in enumerate(shares):
        delay = int(random.integers(-reach, reach + 1)) * number
        phase = random.uniform(0.0, 2.0 * math.pi)
        begin = last - place - delay
        wave = math.cos(phase) * waves[0] + math.sin(phase) * waves[1]
        seen = wave[begin : begin + samples]
        windows[number] = seen / np.linalg.norm(seen) * (ratio * share)
    return windows


def exam_of(transforms: DetectorTransforms, waves: Array, masses: Array, table: SampleTable, seed: int) -> SampleTable:
    """Return the exam of N waveforms: N · (ratios + windows without signal) rows, those of a waveform in one group.

    Args:
        transforms: How windows are cut.
        waves: `[N, 2, S]`, whitened polarisations around the peak.
        masses: `[N, 2]`, solar masses, heavier first.
        table: Identities and groups of the waveforms.
        seed: Of noise, places and phases, with the identities of the waveforms.
    """
    options = transforms.options
    ratios = (*options.exam_snr, *([0.0] * options.exam_noise))
    rows, samples = len(waves) * len(ratios), transforms.samples
    strain = np.empty((rows, options.detectors, samples), dtype=np.float32)
    row = 0
    for number, identity in enumerate(table.ids):
        random = np.random.default_rng(int(digest("exam", seed, identity)[:15], 16))
        for ratio in ratios:
            window = random.standard_normal((options.detectors, samples))
            if ratio > 0:
                window += place_signal(transforms, waves[number], ratio, random)
            strain[row] = window
            row += 1
    each = len(ratios)
    ids = tuple(f"{identity}/{place}" for identity in table.ids for place in range(each))
    groups = tuple(group or identity for group, identity in zip(table.groups, table.ids, strict=True) for _ in ratios)
    ratio_column = np.tile(np.asarray(ratios), len(waves))
    columns: dict[str, Values] = {
        STRAIN: strain[:, 0] if options.detectors == 1 else strain,
        SIGNAL: (ratio_column > 0).astype(np.float64),
        RATIO: ratio_column,
        "mass_1": np.repeat(masses[:, 0], each),
        "mass_2": np.repeat(masses[:, 1], each),
    }
    return SampleTable(exam_schema(transforms), ids, groups, columns)
