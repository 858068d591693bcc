"""What training leaves on disk: the networks, the transforms, and a record; the list of files comes last."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.checked import write_checked
from surrogate.core.files import atomic_path, fsync_directory, sha256_file, write_json
from surrogate.design.catalogue import space_from_json
from surrogate.models.calibration import Calibration
from surrogate.models.combine import combine
from surrogate.models.domain import Domain
from surrogate.models.protocols import Forward, Rows
from surrogate.training.export import keras_forward, onnx_difference, write_keras, write_onnx
from surrogate.training.finished import MANIFEST
from surrogate.training.job import TrainingJob
from surrogate.training.prepare import Prepared
from surrogate.training.state import Member

if TYPE_CHECKING:
    import keras

FORMAT = 1
_PACKAGES = ("surrogate-hpc", "tensorflow", "tensorflow-cpu", "keras", "numpy", "onnx", "tf2onnx", "horovod", "mpi4py")
_POINTS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """Everything that an artifact is made of.

    Attributes:
        job: What was asked.
        ready: Family, options, samples and transforms.
        model: A network that takes the members' weights, one after the other.
        members: The trained members.
        facts: Facts about the training for the record: seconds, ranks, library, notes.
    """

    job: TrainingJob
    ready: Prepared
    model: keras.Model
    members: Sequence[Member]
    facts: dict[str, Any]


def write_artifact(folder: Path, trained: Trained) -> None:
    """Write an artifact; what an earlier attempt left is removed first.

    Args:
        folder: Where it goes.
        trained: What it is made of.

    Raises:
        TrainingError: If a network cannot be exported faithfully, or predicts numbers that are not finite.
    """
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    sample = trained.ready.tune_rows
    names, predictions, differences = [], [], []
    for number, member in enumerate(trained.members):
        for variable, value in zip(trained.model.variables, member.weights, strict=True):
            variable.assign(value)
        forward = keras_forward(trained.model)
        entry = {"keras": f"member-{number:03d}.keras", "onnx": f"member-{number:03d}.onnx"}
        write_keras(trained.model, folder / entry["keras"])
        write_onnx(trained.model, folder / entry["onnx"], _some(sample, trained.model))
        differences.append(onnx_difference(folder / entry["onnx"], forward, sample))
        predictions.append(_predict(trained, forward))
        names.append(entry)
    mean, std = combine(predictions)
    calibration = Calibration.fit(mean, std, trained.ready.exam.outputs)
    _write_record(folder, trained, names, calibration, max(differences))
    files = {path.name: sha256_file(path) for path in sorted(folder.iterdir())}
    fsync_directory(folder)
    write_checked(folder / MANIFEST, {"format": FORMAT, "files": files})


def _some(rows: Rows, model: keras.Model) -> Rows:
    """Return two rows of the network's inputs."""
    return {tensor.name: rows[tensor.name][:2] for tensor in model.inputs}


def _predict(trained: Trained, forward: Forward) -> dict[str, Any]:
    """Return one member's outputs for the tune split's exam, numeric columns only.

    What a family adds beside the outputs, such as a logit, has no known value to be calibrated on.
    """
    exam = trained.ready.exam
    outputs = trained.ready.family.predict(trained.ready.transforms, [forward], exam.inputs)[0]
    known = {column.name for column in exam.schema.outputs if column.dtype != "str"}
    return {name: values for name, values in outputs.items() if name in known}


def _write_record(
    folder: Path, trained: Trained, names: list[dict[str, str]], calibration: Calibration, difference: float
) -> None:
    """Write transforms, domain and `surrogate.json`."""
    job = trained.job
    write_arrays(folder / "transforms.npz", trained.ready.transforms.arrays())
    write_json(folder / "transforms.json", trained.ready.transforms.to_json())
    # A family that is asked something else than what was simulated is not asked inside the simulator's space.
    asked = trained.ready.exam.schema
    space = job.space if asked == trained.ready.train.schema else None
    points = space_from_json(space) if space is not None else None
    domain = Domain.fit(points, trained.ready.train.inputs)
    if domain is not None:
        write_arrays(folder / "domain.npz", domain.arrays())
    write_json(
        folder / "surrogate.json",
        {
            "job": job.key(),
            "family": job.family,
            "options": trained.ready.options.model_dump(mode="json"),
            "schema": asked.to_json(),
            "learned_from": trained.ready.train.schema.to_json(),
            "space": space,
            "members": names,
            "seed": job.seed,
            "calibration": calibration.to_json(),
            "domain": None if domain is None else domain.to_json(),
            "training": {
                **trained.facts,
                "config": job.train.to_json(),
                "samples": {"train": len(trained.ready.train), "tune": len(trained.ready.tune)},
                "losses": [_losses(member) for member in trained.members],
            },
            "onnx_difference": difference,
            "dataset_hash": trained.ready.dataset_hash,
            "split": job.split,
            "stratum": job.stratum,
            "versions": versions(),
        },
    )


def _losses(member: Member) -> dict[str, Any]:
    """Return a member's losses, thinned to at most 200 points, the last one kept."""
    history = asdict(member.state.history)
    count = len(history["epoch"])
    keep = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).astype(int)).tolist() if count else []
    return {
        "member": member.state.member,
        **{name: [values[place] for place in keep] for name, values in history.items()},
        "best_tune": member.state.best if np.isfinite(member.state.best) else None,
        "best_epoch": member.state.best_epoch,
        "seconds": member.state.spent,
    }


def write_arrays(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write named arrays as an NPZ file atomically; no array may hold Python objects."""
    with atomic_path(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def versions() -> dict[str, str]:
    """Return the versions of what a training is made of."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
