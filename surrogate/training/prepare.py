"""What every rank needs before the first step: samples, transforms and rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from surrogate.core.errors import ConfigError, DataError, IntegrityError
from surrogate.core.schema import SampleTable
from surrogate.data.dataset import Dataset
from surrogate.models import catalog
from surrogate.models.exams import exam_table
from surrogate.models.protocols import Family, Rows, Transforms
from surrogate.training.checkpoint import pack, unpack
from surrogate.training.group import Group
from surrogate.training.input_pipeline import check_finite
from surrogate.training.job import TrainingJob
from surrogate.training.start import Start, open_start


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What every rank has before the first step.

    Attributes:
        family: The model family.
        options: Its options.
        dataset_hash: Hash of the dataset.
        train: Samples to train on.
        tune: Samples of the tune split.
        exam: What the calibration asks, made of them (see `surrogate.models.exams`).
        transforms: Fitted on the training samples; the same bits on every rank.
        rows: Training rows.
        tune_rows: Rows of the tune split.
        start: What the members begin with; None for a random start.
    """

    family: Family
    options: BaseModel
    dataset_hash: str
    train: SampleTable
    tune: SampleTable
    exam: SampleTable
    transforms: Transforms
    rows: Rows
    tune_rows: Rows
    start: Start | None = None


def parse_options(family: Family, options: dict[str, Any]) -> BaseModel:
    """Return a family's options.

    Raises:
        ConfigError: If one is unknown or not valid.
    """
    try:
        return family.options_type.model_validate(options)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigError(f"These are no options of the model family '{family.name}': {problems}.") from error


def prepare(job: TrainingJob, group: Group) -> Prepared:
    """Load the samples and fit the transforms.

    Raises:
        ConfigError: If family or options are unknown, or do not fit the columns.
        DataError: If the family cannot learn from such columns, or a split is empty.
        IntegrityError: If the dataset is damaged, or another than the job was written for.
    """
    family = catalog.family(job.family)
    options = parse_options(family, job.options)
    dataset = Dataset.open(Path(job.dataset), verify="hash")
    if job.dataset_hash is not None and dataset.hash != job.dataset_hash:
        raise IntegrityError(
            f"The training was planned for the dataset {job.dataset_hash[:16]}…, and {job.dataset} is "
            f"{dataset.hash[:16]}… now. Plan the training again."
        )
    split = job.split_config()
    train, tune = dataset.load(split, "train", job.stratum), dataset.load(split, "tune", job.stratum)
    if not len(train) or not len(tune):
        raise DataError(
            f"The dataset has {len(train)} samples to train and {len(tune)} to tune on, and at least one of each is "
            "needed. Plan more runs, or give the splits other shares."
        )
    start = None if job.start is None else open_start(Path(job.start))
    if start is None:
        transforms = family.fit(train, options, job.seed)
    else:
        transforms = start.transforms(family, train, options, job.seed, job.train.scalers)
    if group.size > 1:
        # Other processors may round differently, so that rank 0's transforms count.
        content = pack(transforms.arrays(), transforms.to_json()) if group.rank == 0 else None
        shared = unpack(group.share_bytes(content), "of the transforms of rank 0")
        if group.rank != 0:
            transforms = family.restore(train.schema, shared.arrays, shared.record)
    rows, tune_rows = family.rows(transforms, train), family.rows(transforms, tune)
    check_finite(rows, "training")
    check_finite(tune_rows, "tune")
    exam = exam_table(family, transforms, tune, job.seed) if group.rank == 0 else tune
    return Prepared(family, options, dataset.hash, train, tune, exam, transforms, rows, tune_rows, start)
