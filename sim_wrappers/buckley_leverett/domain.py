"""The cells split over MPI ranks: who owns which, halo exchange, reductions, gathering."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.buckley_leverett.scheme import Muscl, Scheme, Upwind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mpi4py import MPI

Array = NDArray[np.float64]


class Alone:
    """Stands for a communicator of one rank, without MPI."""

    size = 1
    rank = 0


def share(cells: int, ranks: int) -> list[int]:
    """Return how many cells each rank owns, `[ranks]`; the first ones take the remainder."""
    return [cells // ranks + (rank < cells % ranks) for rank in range(ranks)]


def ghost_cells(scheme: str) -> int:
    """Return how many cells of a neighbour one step of the scheme reads: the least a rank may own."""
    return Muscl.left if scheme == "muscl" else Upwind.left


class Domain:
    """One rank's cells between its neighbours' halos, advanced by a scheme.

    Attributes:
        interval: Steps that may be taken between two exchanges. Halos are as wide as that many steps use up, so that
            ranks meet seldom; the cells computed twice cost less than a message.
        scheme: What advances the cells.
        own: `[owned]` float64, view of this rank's cells in `scheme.state`.
    """

    def __init__(
        self, comm: MPI.Comm | Alone, cells: int, mobility_ratio: float, options: Mapping[str, Any], steps: int
    ) -> None:
        """Place this rank's cells.

        Args:
            comm: The ranks that share the cells; `Alone()` for one without MPI.
            cells: All cells; every rank must own at least `ghost_cells(scheme)`.
            mobility_ratio: M > 0.
            options: With `scheme` and `limiter`.
            steps: Steps that are wanted between two exchanges; fewer when a rank owns too few cells.
        """
        self._comm = None if isinstance(comm, Alone) or comm.size == 1 else comm
        self._counts, self._first_rank = share(cells, comm.size), comm.rank == 0
        owned, first, last = self._counts[comm.rank], comm.rank == 0, comm.rank == comm.size - 1
        self.interval = max(1, min(steps, min(self._counts) // ghost_cells(options["scheme"])))
        kind = Muscl if options["scheme"] == "muscl" else Upwind
        left = self._ghosts(kind.left, end=first, at_end=2 if kind is Muscl else 1)
        right = self._ghosts(kind.right, end=last, at_end=1 if kind is Muscl else 0)
        size = left + owned + right
        self.scheme: Scheme
        if kind is Muscl:
            self.scheme = Muscl(size, mobility_ratio, options["limiter"], inlet=first, outlet=last)
        else:
            self.scheme = Upwind(size, mobility_ratio)
            self.scheme.state[:1] = 1.0 if first else 0.0
        state = self.scheme.state
        self.own = state[left : left + owned]
        self._present = state[left - 1 : left + owned]
        self._range = np.empty(2)
        if self._comm is not None:
            self._plan_exchange(self._comm, left, owned, kind)

    def _ghosts(self, per_step: int, *, end: bool, at_end: int) -> int:
        """Return the ghost cells of one side: those of the medium's end, or a halo."""
        return at_end if end else per_step * self.interval

    def _plan_exchange(self, comm: MPI.Comm, left: int, owned: int, kind: type[Muscl | Upwind]) -> None:
        """Keep neighbours and buffers of both directions: what is sent downstream, and what is sent upstream."""
        from mpi4py import MPI

        state = self.scheme.state
        from_left, from_right = kind.left * self.interval, kind.right * self.interval
        end, none = left + owned, state[:0]
        has_behind, has_ahead = comm.rank > 0, comm.rank < comm.size - 1
        self._behind = comm.rank - 1 if has_behind else MPI.PROC_NULL
        self._ahead = comm.rank + 1 if has_ahead else MPI.PROC_NULL
        self._in_place, self._largest = MPI.IN_PLACE, MPI.MAX
        self._downstream = (
            state[end - from_left : end] if has_ahead else none,
            state[left - from_left : left] if has_behind else none,
        )
        self._upstream = (
            state[left : left + from_right] if has_behind else none,
            state[end : end + from_right] if has_ahead else none,
        )

    def exchange(self) -> None:
        """Fill the halos with the neighbours' cells. Collective."""
        if self._comm is None:
            return
        send, receive = self._downstream
        self._comm.Sendrecv(send, self._ahead, 0, receive, self._behind, 0)
        send, receive = self._upstream
        self._comm.Sendrecv(send, self._behind, 1, receive, self._ahead, 1)

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest s on all ranks, the inlet's included. Collective.

        Each rank looks at its upstream neighbour's last cell, too, so that no gap is left between the ranks' ranges.
        """
        self._range[0], self._range[1] = -self._present.min(), self._present.max()
        if self._comm is not None:
            self._comm.Allreduce(self._in_place, self._range, self._largest)
        return -float(self._range[0]), float(self._range[1])

    def gather(self) -> Array | None:
        """Return all cells, `[cells]` float64, on rank 0 and None elsewhere. Collective."""
        if self._comm is None:
            return self.own.copy()
        whole = np.empty(sum(self._counts)) if self._first_rank else None
        target = None if whole is None else [whole, self._counts]
        self._comm.Gatherv(np.ascontiguousarray(self.own), target, 0)
        return whole

    def from_outlet(self, value: float) -> float:
        """Return the last rank's value on every rank. Collective."""
        if self._comm is None:
            return value
        return float(self._comm.bcast(value, self._comm.size - 1))
