"""Ranks that train together: the only module that knows Horovod.

Only Horovod's low-level operations are used; its Keras wrappers do not work with Keras 3. One process works without
Horovod.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from surrogate.core.errors import SurrogateError, TrainingError
from surrogate.training.group import Group, Single
from surrogate.training.watchdog import Watchdog

_ABORT_S = 3.0
_FIRST_WAIT = 4
_RESTART = (
    "Start it by the environment's own mpiexec or by the site's launcher: programs started by another MPI's "
    "launcher each "
    "believe to be alone."
)


class HorovodGroup:
    """MPI ranks joined by Horovod."""

    def __init__(
        self, horovod: Any, tensorflow: Any, version: str, stall_seconds: float, give_up: Callable[[], None]
    ) -> None:
        """Use `join`, which checks the world's size."""
        self._horovod, self._tensorflow, self._stall_seconds = horovod, tensorflow, stall_seconds
        # Ranks load libraries and data at different speeds, so that the first to come waits longer for the others.
        self._watchdog = Watchdog(_FIRST_WAIT * stall_seconds, give_up)
        self.rank = int(horovod.rank())
        self.local_rank = int(horovod.local_rank())
        self.size = int(horovod.size())
        self.library: str | None = f"horovod {version}"
        self._messages = 0

    def _name(self, what: str) -> str:
        """Return a name that all ranks give to the same collective."""
        self._messages += 1
        return f"surrogate.{what}.{self._messages}"

    def sum_gradients(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the sums over the ranks, by one grouped allreduce."""
        return list(self._horovod.grouped_allreduce(list(gradients), op=self._horovod.Sum))

    def broadcast_variables(self, variables: Sequence[Any]) -> None:
        """Give every rank the variables of rank 0."""
        with self._watchdog.section():
            self._horovod.broadcast_variables(list(variables), root_rank=0)

    def sums(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Return the sum over the ranks of each number, by one allreduce in float64."""
        names = sorted(numbers)
        own = self._tensorflow.constant([float(numbers[name]) for name in names], dtype="float64")
        with self._watchdog.section():
            total = self._horovod.allreduce(own, op=self._horovod.Sum, name=self._name("sums")).numpy()
        return {name: float(value) for name, value in zip(names, total, strict=True)}

    def share_bytes(self, content: bytes | None) -> bytes:
        """Return the bytes of rank 0 on every rank, by two broadcasts: the length, then the bytes."""
        own = np.frombuffer((content or b"") if self.rank == 0 else b"", dtype=np.uint8)
        length = self._tensorflow.constant([len(own)], dtype="int64")
        with self._watchdog.section():
            count = int(self._horovod.broadcast(length, root_rank=0, name=self._name("length")).numpy()[0])
        if count == 0:
            return b""
        sent = self._tensorflow.constant(own if self.rank == 0 else np.zeros(count, dtype=np.uint8))
        with self._watchdog.section():
            shared = self._horovod.broadcast(sent, root_rank=0, name=self._name("bytes")).numpy()
        return bytes(shared.tobytes())

    def watched(self, progress: Callable[[], float]) -> contextlib.AbstractContextManager[None]:
        """Watch a block of collectives in which `progress` must grow; from now on patience is `stall_seconds`."""
        self._watchdog.seconds = self._stall_seconds
        return self._watchdog.section(progress)

    def close(self) -> None:
        """Leave the group."""
        self._watchdog.close()
        self._horovod.shutdown()


def prepare_environment(stall_seconds: int, cores: int) -> None:
    """Set what Horovod and TensorFlow read when they are imported; what is already set stays.

    Args:
        stall_seconds: After so many seconds in which some ranks wait for another, they give up instead of hanging.
        cores: Cores of this rank.
    """
    settings = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": "tensorflow",
        # Milliseconds between two looks at the queue of collectives: the default of 1 would be most of a small step.
        "HOROVOD_CYCLE_TIME": "0.1",
        # Behind our own watch, which is closer but does not know what Horovod waits for.
        "HOROVOD_STALL_CHECK_TIME_SECONDS": str(stall_seconds),
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(_FIRST_WAIT * stall_seconds),
        "OMP_NUM_THREADS": str(cores),
        "OPENBLAS_NUM_THREADS": str(cores),
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def join(world_size: int, stall_seconds: float = 45.0, tell: Callable[[str], object] = sys.stderr.write) -> Group:
    """Join the ranks of this training.

    Args:
        world_size: Number of ranks that the training was started with.
        stall_seconds: How long a rank waits for another one that does nothing, before it ends the program.
        tell: Receives the sentence that is said then.

    Raises:
        TrainingError: If the world has another size, or Horovod is needed and not there.
    """
    found = _mpi_size()
    if found is not None and found != world_size:
        raise TrainingError(
            f"The training was planned for {world_size} ranks, and its MPI world has {found}. {_RESTART}"
        )
    if world_size == 1:
        return Single()
    try:
        import horovod
        import horovod.tensorflow as hvd
        import tensorflow as tf
    except ImportError as error:
        raise TrainingError(
            f"Training on {world_size} ranks needs Horovod, and it cannot be loaded here ({error}). Build it with "
            "`surrogate build-horovod`, or train with ranks = 1."
        ) from error
    hvd.init()
    if hvd.size() != world_size:
        raise TrainingError(
            f"The training was planned for {world_size} ranks, and Horovod finds {hvd.size()}. {_RESTART}"
        )

    def give_up() -> None:
        tell(_lost(stall_seconds))
        _end_all_ranks()

    return HorovodGroup(hvd, tf, str(horovod.__version__), stall_seconds, give_up)


def _lost(stall_seconds: float) -> str:
    """Return the sentence about a rank that does not answer."""
    return (
        "Another rank of the training does not answer: it failed, hangs, was killed, or its node or network was lost "
        f"(ranks wait {stall_seconds:g} seconds for each other, as `stall_seconds` says). Start the training "
        "again: it goes "
        "on from its last checkpoint."
    )


def _end_all_ranks() -> None:
    """End this process, and by MPI the others, from a thread while the main one waits for ever."""
    if "mpi4py" in sys.modules:
        from mpi4py import MPI

        # The library may be busy waiting, too; then the launcher ends the others when it misses this one.
        threading.Thread(target=MPI.COMM_WORLD.Abort, args=(1,), daemon=True).start()
        time.sleep(_ABORT_S)
    os._exit(1)


@contextlib.contextmanager
def lost_ranks(stall_seconds: int) -> Iterator[None]:
    """Turn what Horovod says when a rank is lost into a sentence.

    Args:
        stall_seconds: How long the others waited for it.

    Raises:
        TrainingError: If a collective failed.
    """
    try:
        yield
    except SurrogateError:
        raise
    except Exception as error:
        # It comes as HorovodInternalError, or as an error of the TensorFlow operation, with the word in its text.
        if "orovod" not in f"{type(error).__name__} {error}":
            raise
        raise TrainingError(_lost(stall_seconds)) from error


def _mpi_size() -> int | None:
    """Return the size of the MPI world when mpi4py has opened it, else None."""
    if "mpi4py" not in sys.modules:
        return None
    from mpi4py import MPI

    return int(MPI.COMM_WORLD.Get_size())


def use_cores(cores: int, gpus: int, local_rank: int) -> None:
    """Bind TensorFlow of this process to its share of the machine; before its first operation.

    Args:
        cores: Cores of this rank.
        gpus: GPUs of this rank, 0 or 1.
        local_rank: Number of this rank among those on its node.

    Raises:
        TrainingError: If a GPU was asked for and there is none for this rank.
    """
    import tensorflow as tf
    from threadpoolctl import threadpool_limits

    # NumPy's libraries chose their threads when they were loaded, before anybody knew of the job.
    threadpool_limits(cores)
    tf.config.threading.set_intra_op_parallelism_threads(cores)
    # A second thread lets a collective finish while the first one waits.
    tf.config.threading.set_inter_op_parallelism_threads(2)
    devices = tf.config.list_physical_devices("GPU")
    if not gpus:
        tf.config.set_visible_devices([], "GPU")
        return
    if not devices:
        raise TrainingError(
            "The training was planned for one GPU a rank, and TensorFlow finds none. Ask for gpus_per_rank = 0, "
            "or install a "
            "TensorFlow for this machine's GPUs."
        )
    own = devices[local_rank % len(devices)]
    tf.config.set_visible_devices([own], "GPU")
    tf.config.experimental.set_memory_growth(own, True)
