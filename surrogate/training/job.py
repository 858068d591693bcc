"""The file that tells the training program what to do: written by whoever starts it, read by every rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from surrogate.core.checked import read_checked, write_checked
from surrogate.core.errors import ConfigError
from surrogate.core.identity import digest
from surrogate.data.split import SplitConfig
from surrogate.training.config import TrainConfig

FORMAT = 1

_LATER: dict[str, Any] = {"from": None, "freeze": [], "scalers": "kept"}


class TrainingJob(BaseModel):
    """One training: from a dataset to an artifact.

    Relative paths are taken from the folder of the file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: int = Field(FORMAT, description="Version of this file's layout.")
    dataset: str = Field(description="Folder of the dataset.")
    dataset_hash: str | None = Field(None, description="Hash that the dataset must have, or null.")
    split: dict[str, Any] = Field(description="How samples are divided, as `SplitConfig` writes it.")
    stratum: str | None = Field("design", description="Stratum that is trained on; null for all.")
    family: str = Field(description="Model family, by name.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the family.")
    members: int = Field(1, ge=1, le=1000, description="Networks of the ensemble.")
    train: TrainConfig = Field(default_factory=TrainConfig, description="How they are trained.")
    seed: int = Field(0, ge=0, le=2**63 - 1, description="Fixes initial weights and the order of rows.")
    world_size: int = Field(1, ge=1, description="Ranks that the program must find itself on.")
    out: str = Field(".", description="Folder for checkpoints, progress and the artifact.")
    start: str | None = Field(None, description="Folder of the artifact that the training goes on from, or null.")
    start_content: str | None = Field(None, description="Hash of that artifact's list of files, or null.")
    space: dict[str, Any] | None = Field(None, description="The declared input space as JSON, or null.")

    def split_config(self) -> SplitConfig:
        """Return how samples are divided.

        Raises:
            SplitError: If the description is not valid.
        """
        return SplitConfig.from_json(self.split)

    def key(self) -> str:
        """Return what decides the result, as hex; where it is written, how often it is saved and time limits do not."""
        train = self.train.to_json()
        for name in ("walltime_s", "checkpoint_every_s", "stall_seconds", "nodes"):
            train.pop(name)
        # What came later is left out while it is not used, so that earlier trainings keep their names.
        for name, usual in _LATER.items():
            if train[name] == usual:
                train.pop(name)
        record = self.model_dump(mode="json", exclude={"out", "dataset", "train", "format", "start"})
        if record["start_content"] is None:
            record.pop("start_content")
        return digest("training", record, train)[:32]


def write_job(path: Path, job: TrainingJob) -> None:
    """Write a job atomically, with the hash of its content."""
    write_checked(path, job.model_dump(mode="json"))


def read_job(path: Path) -> TrainingJob:
    """Read a job; its paths are made absolute.

    Raises:
        ConfigError: If it is no job, or one of a newer version.
        IntegrityError: If the file is missing or damaged.
    """
    record = read_checked(path, "Resume the campaign: it writes the file anew.")
    version = record.get("format")
    if version != FORMAT:
        raise ConfigError(
            f"The file {path} is of layout {version}, and this program reads layout {FORMAT} of training jobs. "
            "Start the training by the version that wrote it."
        )
    try:
        job = TrainingJob.model_validate_json(json.dumps(record))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigError(f"The file {path} describes no training: {problems}.") from error
    folder = path.resolve().parent
    start = None if job.start is None else str(folder / job.start)
    return job.model_copy(update={"dataset": str(folder / job.dataset), "out": str(folder / job.out), "start": start})
