"""A small dataset with the field of a travelling front, and training jobs on it, started as campaigns start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surrogate.core.identity import run_id
from surrogate.core.process import run_process, scrubbed_environment
from surrogate.data.dataset import DatasetWriter
from surrogate.data.run_file import write_run_file
from surrogate.data.split import SplitConfig
from surrogate.training.config import TrainConfig
from surrogate.training.job import TrainingJob, write_job
from tests.support.fields import SCHEMA, table

SPLIT = SplitConfig("salt", 0.2, 0.2)
MPIEXEC = str(Path(sys.prefix) / "bin" / "mpiexec")
PROGRAM = ("-m", "mpi4py", "-m", "surrogate.training.program")


def write_dataset(folder: Path, count: int = 47) -> Path:
    """Write `count` runs of `fields.shock` into a dataset."""
    samples = table(count)
    writer = DatasetWriter(folder, SCHEMA)
    for index in range(count):
        columns = {name: np.asarray(values)[index : index + 1] for name, values in samples.columns.items()}
        identity = run_id("shock", "1", {}, {"index": index})
        path = folder.parent / f"{identity}.h5"
        write_run_file(path, SCHEMA, columns, (), {}, durable=False)
        writer.add_run(identity, path)
    writer.flush()
    for path in folder.parent.glob("*.h5"):
        path.unlink()
    return folder


def write_training(out: Path, dataset: Path, ranks: int = 1, train: dict[str, Any] | None = None, **job: Any) -> Path:
    """Write a job file for a short training; return its path."""
    settings = {
        "epochs": 40,
        "batch_size": 12,
        "steps_per_call": 10,
        "warmup_steps": 5,
        **(train or {}),
        "ranks": ranks,
    }
    small = {"width": 16, "depth": 2} if job.get("family", "mlp") == "mlp" else {}
    options = {**small, **job.pop("options", {})}
    given = {"split": SPLIT.to_json(), "family": "mlp", "seed": 3, "members": 1, "world_size": ranks, "out": ".", **job}
    path = out / "job.json"
    write_job(path, TrainingJob(dataset=str(dataset), options=options, train=TrainConfig(**settings), **given))
    return path


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a training: nothing of an enclosing MPI job, one thread, the repository importable."""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else [root])
    return {**scrubbed_environment(os.environ), "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **more}


def command(job: Path, ranks: int) -> list[str]:
    """Return the command line of a training."""
    program = [sys.executable, *PROGRAM, str(job)]
    return program if ranks == 1 else [MPIEXEC, "-n", str(ranks), *program]


@dataclass(frozen=True)
class Done:
    """How a training ended, and what it wrote to the screen."""

    returncode: int
    output: str


def run_training(job: Path, ranks: int, *, timeout: float = 200, **more: str) -> Done:
    """Run a training to its end as the driver does; its output goes to `log.txt`."""
    log = job.parent / "log.txt"
    result = run_process(command(job, ranks), cwd=job.parent, env=environment(**more), stdout=log, timeout_s=timeout)
    assert not result.timed_out, log.read_text()
    return Done(result.returncode, log.read_text())


def start_training(job: Path, ranks: int, **more: str) -> subprocess.Popen[str]:
    """Start a training in a session of its own; its output goes to `log.txt`."""
    with (job.parent / "log.txt").open("w") as log:
        return subprocess.Popen(
            command(job, ranks), env=environment(**more), cwd=job.parent, text=True, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip


def record(out: Path) -> dict[str, Any]:
    """Return what the artifact says about itself."""
    found: dict[str, Any] = json.loads((out / "artifact" / "surrogate.json").read_text())
    return found


def weights(out: Path, member: int = 0) -> list[np.ndarray]:
    """Return the weights of a member of an artifact, from its ONNX file's sibling in Keras's own format."""
    import io
    import zipfile

    import h5py

    with zipfile.ZipFile(out / "artifact" / f"member-{member:03d}.keras") as archive:
        content = archive.read("model.weights.h5")
    arrays: list[np.ndarray] = []
    with h5py.File(io.BytesIO(content)) as file:
        file.visititems(lambda name, item: arrays.append(item[()]) if isinstance(item, h5py.Dataset) else None)
    return arrays
