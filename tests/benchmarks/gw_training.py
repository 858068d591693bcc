"""Waveforms and trained detectors for the benchmarks of detection, kept in build/bench-gw between runs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.compact_binary.waveforms import Binary, waveform
from surrogate.core.identity import run_id
from surrogate.core.schema import Column, Coordinate, SampleTable, Schema
from surrogate.data.dataset import DatasetWriter
from surrogate.data.run_file import write_run_file
from surrogate.data.split import SplitConfig
from surrogate.inference.predictor import Predictor
from surrogate.training.config import TrainConfig
from surrogate.training.job import TrainingJob, write_job
from tests.benchmarks.form import progress

CACHE = Path(__file__).resolve().parents[2] / "build" / "bench-gw"
RATE, LOW_HZ, BEFORE_S, AFTER_S, FADE_S = 2048, 20.0, 1.75, 0.25, 0.125
_TIMES = tuple((np.arange(round((BEFORE_S + AFTER_S) * RATE)) / RATE - BEFORE_S).tolist())
SCHEMA = Schema(
    (
        Column("mass_1", "input", "solar_mass"),
        Column("mass_2", "input", "solar_mass"),
        Column("h_plus", "output", shape=(len(_TIMES),), dims=("time",)),
        Column("h_cross", "output", shape=(len(_TIMES),), dims=("time",)),
    ),
    (Coordinate("time", "s", _TIMES),),
)


@dataclass(frozen=True)
class Size:
    """How much a benchmark does.

    Attributes:
        train: Waveforms to train on and to tune with, SEOBNRv4_opt.
        test: Waveforms to test with, full SEOBNRv4.
        epochs: Passes over the training waveforms.
        seeds: Seeds of the training.
        noise: Independent windows of noise.
        signals: Signals of each ratio.
        candidates: Waveforms that the bank's templates are chosen among.
    """

    train: int
    test: int
    epochs: int
    seeds: tuple[int, ...]
    noise: int
    signals: int
    candidates: int


FULL = Size(2900, 300, 40, (1, 2, 3), 200_000, 2000, 1500)
QUICK = Size(700, 40, 60, (1,), 10_000, 300, 600)


def waveforms(count: int, seed: int, approximant: str) -> dict[str, NDArray[np.float64]]:
    """Return masses, even in both, and polarisations, `[N]` and `[N, T]`; made once."""
    path = CACHE / f"{approximant}-{seed}-{count}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    progress(f"making {count} waveforms of {approximant}")
    masses = np.random.default_rng(seed).uniform(10.0, 50.0, (count, 2))
    waves = [
        waveform(Binary(*pair), approximant=approximant, rate=RATE, low_hz=LOW_HZ).window(BEFORE_S, AFTER_S, FADE_S)
        for pair in masses.tolist()
    ]
    columns = {
        "mass_1": masses[:, 0], "mass_2": masses[:, 1],
        "h_plus": np.stack([wave.plus for wave in waves]), "h_cross": np.stack([wave.cross for wave in waves]),
    }  # fmt: skip
    CACHE.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part.npz")
    np.savez(beside, allow_pickle=False, **columns)
    beside.replace(path)
    return columns


def table(columns: dict[str, NDArray[np.float64]]) -> SampleTable:
    """Return waveforms as a table of samples."""
    count = len(columns["mass_1"])
    return SampleTable(SCHEMA, tuple(map(str, range(count))), ("",) * count, dict(columns))


def trained(size: Size, seed: int, *, threads: int = 0, **options: Any) -> Predictor:
    """Return a detector, trained by the training program as campaigns start it; trained once.

    Args:
        size: How much.
        seed: Of the training.
        threads: Of the network when it is asked; 0 for all.
        options: Of the family.
    """
    columns = waveforms(size.train, 1, "SEOBNRv4_opt")
    name = "-".join([f"{size.train}-{size.epochs}-{seed}", *(f"{key}={value}" for key, value in options.items())])
    folder = CACHE / "trained" / name
    if not (folder / "artifact" / "artifact.json").exists():
        dataset = CACHE / f"dataset-{size.train}"
        if not (dataset / "manifest.json").exists():
            writer = DatasetWriter(dataset, SCHEMA)
            identity = run_id("bench-gw", "1", {}, {"waveforms": size.train})
            path = CACHE / f"{identity}.h5"
            write_run_file(path, SCHEMA, dict(columns), (), {}, durable=False)
            writer.add_run(identity, path)
            writer.flush()
            path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        split = SplitConfig("bench-gw", 0.17, 0.0)
        train = TrainConfig(epochs=size.epochs, batch_size=128, steps_per_call=50, xla=False, cores_per_rank=2)
        job = TrainingJob(
            dataset=str(dataset), split=split.to_json(), family="detector", options=options, train=train, seed=seed
        )
        write_job(folder / "job.json", job)
        progress(f"training a detector with seed {seed} {options or ''}")
        with (folder / "log.txt").open("w") as log:
            done = subprocess.run(
                [sys.executable, "-m", "surrogate.training.program", str(folder / "job.json")],
                stdout=log, stderr=log, check=False,
            )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"The training failed; {folder / 'log.txt'} says why.")
    return Predictor.load(folder / "artifact", threads=threads)
