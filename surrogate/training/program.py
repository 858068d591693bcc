"""The training program: `python -m mpi4py -m surrogate.training.program JOB.json`, started on every rank.

`-m mpi4py` makes an exception on one rank end all of them. Rank 0 writes the artifact. Exit codes: 0 finished; 2 the
job cannot be done as asked; 1 other failure, with a sentence on stderr and in `progress.jsonl`; 74 the disk is full,
where that sentence may have found no room, either; 75 asked to stop (SIGTERM or SIGUSR1): a checkpoint was written, and
the same command goes on from it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from surrogate.core.errors import ConfigError, SurrogateError
from surrogate.core.storage import is_full, storage_error
from surrogate.models.protocols import IsSolved
from surrogate.training import distributed
from surrogate.training.checkpoint import CheckpointFolder
from surrogate.training.finished import FOLDER, is_finished
from surrogate.training.group import Group
from surrogate.training.job import TrainingJob, read_job
from surrogate.training.prepare import Prepared, prepare
from surrogate.training.progress import DISK_FULL, ProgressLog
from surrogate.training.start import freeze
from surrogate.training.state import Member, State, Weights
from surrogate.training.trainer import Drained, Trainer, member_seed

if TYPE_CHECKING:
    import keras

    from surrogate.training.steps import Stepper

_REHEARSED_STEPS = 20
_CHECKPOINTS = "checkpoints"
_LAST_WORDS_S = 0.2


class StopSignals:
    """Remembers that SIGTERM or SIGUSR1 came; calling it tells."""

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
    begun = time.perf_counter()
    train_prepared(job, prepare(job, group), group, log, stop, begun=begun)


def train_prepared(
    job: TrainingJob, ready: Prepared, group: Group, log: ProgressLog, stop: Callable[[], bool], *, begun: float
) -> None:
    """Train on what is prepared, and write the artifact on rank 0.

    Args:
        job: What to do.
        ready: Samples, transforms and rows.
        group: The ranks.
        log: Progress.
        stop: Whether this rank was asked to stop.
        begun: When the training began, by `time.perf_counter`.

    Raises:
        SurrogateError: With a sentence, if it cannot be done.
    """
    from surrogate.training.artifact import Trained, write_artifact

    model = ready.family.build(ready.transforms, ready.options, job.seed)
    freeze(model, job.train.freeze)
    folder = CheckpointFolder(Path(job.out) / _CHECKPOINTS)
    facts: dict[str, Any]
    if isinstance(ready.family, IsSolved):
        if ready.start is not None:
            raise ConfigError(
                f"The family '{ready.family.name}' is solved anew, and cannot go on from an earlier surrogate. Leave "
                "out train.from."
            )
        members, facts = _solved(job, model), {"notes": [f"No step was taken: {ready.family.solved_by_fit}."]}
    else:
        members, facts = _stepped(job, ready, model, group, (folder, log, stop))
    if group.rank != 0:
        return
    seconds = time.perf_counter() - begun
    facts |= {
        "seconds": seconds, "ranks": group.size, "horovod": group.library, "parameters": int(model.count_params())
    }  # fmt: skip
    write_artifact(Path(job.out) / FOLDER, Trained(job, ready, model, members, facts))
    shutil.rmtree(folder.folder, ignore_errors=True)
    log.write("finished", seconds_training=seconds, seconds_export=time.perf_counter() - begun - seconds)


def _solved(job: TrainingJob, model: keras.Model) -> list[Member]:
    """Return members whose weights are those that the network was built with."""
    weights = [variable.numpy() for variable in model.variables]
    return [Member(weights, State(number)) for number in range(job.members)]


def _stepped(
    job: TrainingJob,
    ready: Prepared,
    model: keras.Model,
    group: Group,
    kit: tuple[CheckpointFolder, ProgressLog, Callable[[], bool]],
) -> tuple[list[Member], dict[str, Any]]:
    """Train by steps of the optimiser; return the members and facts for the record.

    Args:
        job: What to do.
        ready: Samples, transforms and rows.
        model: The network.
        group: The ranks.
        kit: Checkpoints, progress, and whether this rank was asked to stop.
    """
    from surrogate.training.steps import Evaluator, Stepper

    folder, log, stop = kit
    family, transforms = ready.family, ready.transforms
    stepper = Stepper(
        model, lambda network, batch: family.loss(transforms, network, batch), ready.rows, job.train, group
    )
    notes = _rehearse(stepper, group, job, log)
    trainer = Trainer(
        stepper,
        Evaluator(stepper, family, transforms, ready.tune_rows, group),
        _initial(job, ready, model),
        job.train,
        group,
        folder=folder,
        key=job.key(),
        log=log,
        stop_requested=stop,
    )
    members = trainer.train(job.members, job.seed)
    plan = stepper.plan
    return members, {"notes": notes, "steps_per_epoch": plan.steps, "batch": plan.batch, "rows": plan.rows}


def _initial(job: TrainingJob, ready: Prepared, model: keras.Model) -> Callable[[int], Weights]:
    """Return what gives the weights that a member begins with, by its seed."""
    start = ready.start
    if start is not None:
        numbers = {member_seed(job.seed, number): number for number in range(job.members)}
        return lambda seed: start.weights(model, numbers[seed])

    def random(seed: int) -> Weights:
        fresh = ready.family.build(ready.transforms, ready.options, seed)
        return [variable.numpy() for variable in fresh.variables]

    return random


def _rehearse(stepper: Stepper, group: Group, job: TrainingJob, log: ProgressLog) -> list[str]:
    """Measure whether fewer ranks would be faster; return what is to be told.

    A rank alone is timed on its part of the batch. One rank with all of it needs at most as many times longer as there
    are ranks; when that is less than a step of all ranks together, the ranks cost more than they bring.
    """
    if group.size == 1:
        return []
    repeats = -(-_REHEARSED_STEPS // stepper.plan.steps)
    together, alone = stepper.rehearse(stepper.plan.epochs((job.seed,), 0, repeats, group.rank))
    means = group.sums({"alone": alone / group.size, "together": together / group.size})
    single = means["alone"] * group.size
    log.write("pace", ranks=group.size, step_ms=1e3 * means["together"], one_rank_at_most_ms=1e3 * single)
    if single >= means["together"]:
        return []
    note = (
        f"A step takes {1e3 * means['together']:.1f} ms on {group.size} ranks, and one rank would need at most "
        f"{1e3 * single:.1f} ms for the same {stepper.plan.batch} rows (measured): fewer ranks, or a larger "
        "batch_size, would train faster."
    )
    log.write("advice", sentence=note)
    return [note]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code.

    Args:
        arguments: Command line without the program's name; of this process when None.
    """
    parser = argparse.ArgumentParser(prog="surrogate.training.program", description="Train a surrogate by a job file.")
    parser.add_argument("job", type=Path, help="the job file, as JSON")
    path = parser.parse_args(arguments).job
    stop = StopSignals()
    # A rank that fails says so in the log, whichever it is; everything else is said by rank 0 alone.
    failures = ProgressLog(path.resolve().parent)
    try:
        job = read_job(path)
        failures = ProgressLog(Path(job.out))
        if is_finished(Path(job.out), job.key()):
            return 0
        distributed.prepare_environment(job.train.stall_seconds, job.train.cores_per_rank)
        group = distributed.join(
            job.world_size, job.train.stall_seconds, lambda sentence: _tell_failure(failures, sentence)
        )
        log = ProgressLog(Path(job.out) if group.rank == 0 else None)
        log.write("started", ranks=group.size, members=job.members, job=job.key())
        distributed.use_cores(job.train.cores_per_rank, job.train.gpus_per_rank, group.local_rank)
        with distributed.lost_ranks(job.train.stall_seconds):
            train(job, group, log, stop)
    except Drained as drained:
        log.write("drained", sentence=str(drained))
        sys.stderr.write(f"{drained}\n")
        group.close()
        return Drained.exit_code
    except SurrogateError as error:
        return _failed(failures, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever it is, it ends in a sentence
        if isinstance(error, OSError) and is_full(error):
            place = Path(error.filename or failures.folder)
            return _failed(failures, str(storage_error(place, error)), DISK_FULL)
        traceback.print_exc()
        first = (str(error).strip().splitlines() or ["no details"])[0]
        return _failed(failures, f"The training stopped by an unexpected {type(error).__name__}: {first}", 1)
    group.close()
    return 0


def _failed(log: ProgressLog, sentence: str, code: int) -> int:
    """Tell a failure and return the exit code."""
    _tell_failure(log, sentence)
    return code


def _tell_failure(log: ProgressLog, sentence: str) -> None:
    """Say a failure's sentence on stderr and in the log, as far as there is room."""
    _say(sentence)
    try:
        log.write("failed", sentence=sentence)
    except OSError as error:
        _say(f"The progress log cannot be written, either: {error}.")


def _say(sentence: str) -> None:
    """Write a line to stderr; it may be a file on a disk that is full."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()


def leave(code: int) -> None:
    """End this process; when it failed, all ranks end.

    Args:
        code: Exit code.
    """
    if code and "mpi4py" in sys.modules:
        from mpi4py import MPI

        with contextlib.suppress(OSError):
            sys.stderr.flush()
        if code != Drained.exit_code and MPI.COMM_WORLD.Get_size() > 1:
            # The launcher must have passed on what was said: it drops the rest when a rank aborts.
            time.sleep(_LAST_WORDS_S)
            # The other ranks may wait for this one in a collective.
            MPI.COMM_WORLD.Abort(code)
        # All ranks agreed on a clean stop, or there is no other; `-m mpi4py` would abort for any status but 0.
        MPI.Finalize()
        os._exit(code)
    if code == DISK_FULL:
        os._exit(code)  # Python would end with another status, as it cannot write the rest of its output
    sys.exit(code)


if __name__ == "__main__":
    leave(main())
