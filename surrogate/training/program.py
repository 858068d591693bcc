"""The training program: `python -m mpi4py -m surrogate.training.program JOB.json`, started on every rank.

`-m mpi4py` makes an exception on one rank end all of them. Rank 0 writes the artifact. Exit codes: 0 finished; 2 the
job cannot be done as asked; 1 other failure, with a sentence on stderr and in `progress.jsonl`; 75 asked to stop
(SIGTERM or SIGUSR1): a checkpoint was written, and the same command goes on from it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import BaseModel, ValidationError

from surrogate.core.errors import ConfigError, DataError, InputError, IntegrityError, SurrogateError
from surrogate.data.dataset import Dataset
from surrogate.models import catalog
from surrogate.models.protocols import Family, Transforms
from surrogate.training import distributed
from surrogate.training.checkpoint import CheckpointFolder, pack, unpack
from surrogate.training.distributed import Group
from surrogate.training.job import TrainingJob, read_job
from surrogate.training.progress import ProgressLog
from surrogate.training.trainer import Drained

_REHEARSED_STEPS = 20


class StopSignals:
    """Remembers that SIGTERM or SIGUSR1 came; `bool` of it says so."""

    def __init__(self) -> None:
        """Begin to listen."""
        self._came = False
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, self._remember)

    def _remember(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        self._came = True

    def __call__(self) -> bool:
        """Return whether a signal came."""
        return self._came


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


def train(job: TrainingJob, group: Group, log: ProgressLog, stop: StopSignals) -> None:
    """Do a training on this rank.

    Args:
        job: What to do; absolute paths.
        group: The ranks.
        log: Progress; silent on all ranks but the first.
        stop: Whether this rank was asked to stop.

    Raises:
        SurrogateError: With a sentence, if it cannot be done.
    """
    from surrogate.training.artifact import FOLDER, Trained, write_artifact
    from surrogate.training.input_pipeline import check_finite
    from surrogate.training.steps import Evaluator, Stepper
    from surrogate.training.trainer import Trainer

    begun = time.perf_counter()
    family = catalog.family(job.family)
    options = parse_options(family, job.options)
    dataset = _open_dataset(job)
    split = job.split_config()
    train_table, tune_table = (dataset.load(split, which, job.stratum) for which in ("train", "tune"))
    if not len(train_table) or not len(tune_table):
        raise DataError(
            f"The dataset has {len(train_table)} samples to train and {len(tune_table)} to tune on, and at least "
            "one of each "
            "is needed. Plan more runs, or give the splits other shares."
        )
    transforms = _share_transforms(family, family.fit(train_table, options, job.seed), train_table.schema, group)
    rows, tune_rows = family.rows(transforms, train_table), family.rows(transforms, tune_table)
    check_finite(rows, "training")
    check_finite(tune_rows, "tune")
    model = family.build(transforms, options, job.seed)
    stepper = Stepper(model, lambda network, batch: family.loss(transforms, network, batch), rows, job.train, group)
    notes = _rehearse(stepper, group, job, log)
    trainer = Trainer(
        stepper,
        Evaluator(stepper, family, transforms, tune_rows, group),
        lambda seed: [variable.numpy() for variable in family.build(transforms, options, seed).variables],
        job.train,
        group,
        folder=CheckpointFolder(Path(job.out) / "checkpoints"),
        key=job.key(),
        log=log,
        stop_requested=stop,
    )
    members = trainer.train(job.members, job.seed)
    if group.rank != 0:
        return
    trained_in = time.perf_counter() - begun
    facts = {
        "seconds": trained_in, "ranks": group.size, "horovod": group.library, "notes": notes,
        "steps_per_epoch": stepper.plan.steps, "batch": stepper.plan.batch, "rows": stepper.plan.rows,
        "parameters": int(model.count_params()),
    }  # fmt: skip
    write_artifact(
        Path(job.out) / FOLDER,
        Trained(job, family, options, transforms, model, members, train_table, tune_table, dataset.hash, facts),
    )
    log.write("finished", seconds_training=trained_in, seconds_export=time.perf_counter() - begun - trained_in)


def _open_dataset(job: TrainingJob) -> Dataset:
    """Open the dataset that the job names, every shard checked by its hash.

    Raises:
        IntegrityError: If it is not the one that the job was written for.
    """
    dataset = Dataset.open(Path(job.dataset), verify="hash")
    if job.dataset_hash is not None and dataset.hash != job.dataset_hash:
        raise IntegrityError(
            f"The training was planned for the dataset {job.dataset_hash[:16]}…, and {job.dataset} is "
            f"{dataset.hash[:16]}… now. Plan the training again."
        )
    return dataset


def _share_transforms(family: Family, own: Transforms, schema: Any, group: Group) -> Transforms:
    """Return rank 0's transforms on every rank: other processors may round theirs differently."""
    if group.size == 1:
        return own
    content = pack(own.arrays(), own.to_json()) if group.rank == 0 else None
    shared = unpack(group.share_bytes(content), "of the transforms of rank 0")
    return own if group.rank == 0 else family.restore(schema, shared.arrays, shared.record)


def _rehearse(stepper: Any, group: Group, job: TrainingJob, log: ProgressLog) -> list[str]:
    """Measure whether fewer ranks would be faster; return what is to be told.

    A rank alone is timed on its part of the batch. One rank with all of it needs at most as many times longer as there
    are ranks; when that is less than a step of all ranks together, the ranks cost more than they bring.
    """
    if group.size == 1:
        return []
    import numpy as np

    repeats = -(-_REHEARSED_STEPS // stepper.plan.steps)
    batches = stepper.plan.epochs((job.seed,), 0, repeats, group.rank)
    state = stepper.weights(), stepper.optimizer_state()
    rates = np.full(len(batches.index), 1e-6, dtype=np.float32)
    stepper.run(batches, rates)
    begun = time.perf_counter()
    stepper.run(batches, rates)
    together = (time.perf_counter() - begun) / len(rates)
    alone = stepper.rehearse(batches)
    stepper.set_state(*state)
    means = group.sums({"alone": alone / group.size, "together": together / group.size})
    single = means["alone"] * group.size
    log.write("pace", ranks=group.size, step_ms=1e3 * means["together"], one_rank_at_most_ms=1e3 * single)
    if single >= means["together"]:
        return []
    note = (
        f"A step takes {1e3 * means['together']:.1f} ms on {group.size} ranks, and one rank would need at most "
        f"{1e3 * single:.1f} ms for the same {stepper.plan.batch} rows (measured): fewer ranks, or a larger "
        "batch_size, "
        "would train faster."
    )
    log.write("note", sentence=note)
    return [note]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code.

    Args:
        arguments: Command line without the program's name; of this process when None.
    """
    parser = argparse.ArgumentParser(
        prog="surrogate.training.program", description="Train a surrogate from a job file."
    )
    parser.add_argument("job", type=Path, help="the job file, as JSON")
    path = parser.parse_args(arguments).job
    stop = StopSignals()
    log = ProgressLog(None)
    try:
        job = read_job(path)
        distributed.prepare_environment(job.train.stall_seconds, job.train.cores_per_rank)
        group = distributed.join(job.world_size)
        log = ProgressLog(Path(job.out) if group.rank == 0 else None)
        log.write("started", ranks=group.size, members=job.members, job=job.key())
        distributed.use_cores(job.train.cores_per_rank, job.train.gpus_per_rank, group.local_rank)
        train(job, group, log, stop)
    except Drained as drained:
        log.write("drained", sentence=str(drained))
        sys.stderr.write(f"{drained}\n")
        return Drained.exit_code
    except SurrogateError as error:
        return _failed(log, str(error), 2 if isinstance(error, InputError) else error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever it is, it ends in a sentence
        traceback.print_exc()
        kind = type(error).__name__
        return _failed(log, f"The training stopped by an unexpected error: {kind}: {_first_line(error)}", 1)
    group.close()
    return 0


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    return (str(error).strip().splitlines() or ["no details"])[0]


def _failed(log: ProgressLog, sentence: str, code: int) -> int:
    """Tell a failure and return the exit code."""
    log.write("failed", sentence=sentence)
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    code = main()
    if code and "mpi4py" in sys.modules:
        from mpi4py import MPI

        # The other ranks may wait for this one in a collective; only the clean stop is agreed on by all.
        if code != Drained.exit_code and MPI.COMM_WORLD.Get_size() > 1:
            sys.stderr.flush()
            MPI.COMM_WORLD.Abort(code)
    sys.exit(code)
