"""What a training asks of its ranks, and the one process that is alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


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

    def watched(self, progress: Callable[[], float]) -> contextlib.AbstractContextManager[None]:
        """Watch a block of collectives in which `progress` must grow; not a collective itself."""
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

    def watched(self, progress: Callable[[], float]) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Watch nothing: there is nobody to wait for."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Do nothing."""
