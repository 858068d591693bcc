"""Ranks that train together: the only module that knows Horovod.

Only Horovod's low-level operations are used; its Keras wrappers do not work with Keras 3. One process works without
Horovod.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from surrogate.core.errors import SurrogateError, TrainingError

_RESTART = (
    "Start it by the environment's own mpiexec or by the site's launcher: programs started by another MPI's "
    "launcher each "
    "believe to be alone."
)


class Group(Protocol):
    """The ranks of one training.

    Every method but `close` is a collective: all ranks call it, in the same order.
    """

    @property
    def rank(self) -> int:
        """Number of this rank, from 0."""
        ...

    @property
    def local_rank(self) -> int:
        """Number of this rank among those on its node, from 0."""
        ...

    @property
    def size(self) -> int:
        """Number of ranks."""
        ...

    @property
    def library(self) -> str | None:
        """Name and version of what joins the ranks, or None for a single process."""
        ...

    def sum_gradients(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the sums over the ranks of tensors; inside a `tf.function`."""
        ...

    def broadcast_variables(self, variables: Sequence[Any]) -> None:
        """Give every rank the variables of rank 0."""
        ...

    def sums(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Return the sum over the ranks of each number; all ranks give the same names."""
        ...

    def share_bytes(self, content: bytes | None) -> bytes:
        """Return the bytes of rank 0 on every rank; the others give None."""
        ...

    def close(self) -> None:
        """Leave the group."""
        ...


class Single:
    """One process, without Horovod."""

    rank = 0
    local_rank = 0
    size = 1
    library: str | None = None

    def sum_gradients(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the gradients as they are."""
        return list(gradients)

    def broadcast_variables(self, variables: Sequence[Any]) -> None:
        """Do nothing: there is no other rank."""

    def sums(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Return the numbers as they are."""
        return dict(numbers)

    def share_bytes(self, content: bytes | None) -> bytes:
        """Return the bytes as they are."""
        return content or b""

    def close(self) -> None:
        """Do nothing."""


class HorovodGroup:
    """MPI ranks joined by Horovod."""

    def __init__(self, horovod: Any, tensorflow: Any, version: str) -> None:
        """Use `join`, which checks the world's size."""
        self._horovod, self._tensorflow = horovod, tensorflow
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
        self._horovod.broadcast_variables(list(variables), root_rank=0)

    def sums(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Return the sum over the ranks of each number, by one allreduce in float64."""
        names = sorted(numbers)
        own = self._tensorflow.constant([float(numbers[name]) for name in names], dtype="float64")
        total = self._horovod.allreduce(own, op=self._horovod.Sum, name=self._name("sums")).numpy()
        return {name: float(value) for name, value in zip(names, total, strict=True)}

    def share_bytes(self, content: bytes | None) -> bytes:
        """Return the bytes of rank 0 on every rank, by two broadcasts: the length, then the bytes."""
        own = np.frombuffer((content or b"") if self.rank == 0 else b"", dtype=np.uint8)
        length = self._horovod.broadcast(
            self._tensorflow.constant([len(own)], dtype="int64"), root_rank=0, name=self._name("length")
        )
        count = int(length.numpy()[0])
        if count == 0:
            return b""
        sent = self._tensorflow.constant(own if self.rank == 0 else np.zeros(count, dtype=np.uint8))
        shared = self._horovod.broadcast(sent, root_rank=0, name=self._name("bytes"))
        return bytes(shared.numpy().tobytes())

    def close(self) -> None:
        """Leave the group."""
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
        "HOROVOD_STALL_CHECK_TIME_SECONDS": str(max(1, stall_seconds // 3)),
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(stall_seconds),
        "OMP_NUM_THREADS": str(cores),
        "OPENBLAS_NUM_THREADS": str(cores),
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def join(world_size: int) -> Group:
    """Join the ranks of this training.

    Args:
        world_size: Number of ranks that the training was started with.

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
    return HorovodGroup(hvd, tf, str(horovod.__version__))


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
        raise TrainingError(
            "Another rank of the training does not answer: it failed, was killed, or its node or network was lost "
            f"(ranks wait {stall_seconds} seconds for each other). Start the training again: it goes on from its last "
            "checkpoint."
        ) from error


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
