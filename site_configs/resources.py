"""What a run asks of a machine: integers, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surrogate.core.errors import ResourceError


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """Nodes × ranks per node = ranks, with cores, GPUs, memory and walltime beside.

    Attributes:
        nodes: Number of nodes.
        ranks_per_node: MPI ranks on each node.
        ranks: All MPI ranks; `nodes × ranks_per_node`.
        cores_per_rank: Cores of each rank.
        gpus_per_rank: GPUs of each rank.
        memory_per_rank_mib: Memory of each rank in MiB, or 0 for no statement.
        walltime_s: Wall-clock seconds after which the run is ended.
    """

    nodes: int = 1
    ranks_per_node: int = 1
    ranks: int = 1
    cores_per_rank: int = 1
    gpus_per_rank: int = 0
    memory_per_rank_mib: int = 0
    walltime_s: int = 3600

    def __post_init__(self) -> None:
        """Check the integers.

        Raises:
            ResourceError: If one is not a positive integer, or they disagree.
        """
        for name in ("nodes", "ranks_per_node", "ranks", "cores_per_rank", "walltime_s"):
            _whole(name, getattr(self, name), 1)
        for name in ("gpus_per_rank", "memory_per_rank_mib"):
            _whole(name, getattr(self, name), 0)
        if self.nodes * self.ranks_per_node != self.ranks:
            raise ResourceError(
                f"{self.nodes} nodes × {self.ranks_per_node} ranks a node are {self.nodes * self.ranks_per_node} "
                f"ranks, and {self.ranks} ranks were asked for. Change one of the three numbers."
            )

    @classmethod
    def resolve(
        cls, *, nodes: int | None = None, ranks_per_node: int | None = None, ranks: int | None = None, **rest: Any
    ) -> ResourceRequest:
        """Fill in whichever of the three integers was left out, or refuse.

        Args:
            nodes: Number of nodes, or None.
            ranks_per_node: Ranks on each node, or None.
            ranks: All ranks, or None.
            **rest: The other attributes.

        Raises:
            ResourceError: If one is no positive integer, or they do not divide.
        """
        given = {"nodes": nodes, "ranks_per_node": ranks_per_node, "ranks": ranks}
        for name, value in given.items():
            if value is not None:
                _whole(name, value, 1)
        if ranks is None:
            nodes, ranks_per_node = nodes or 1, ranks_per_node or 1
            return cls(nodes, ranks_per_node, nodes * ranks_per_node, **rest)
        if nodes is None:
            nodes = max(1, ranks // ranks_per_node) if ranks_per_node else 1
        if ranks_per_node is None:
            ranks_per_node = max(1, ranks // nodes)
        if nodes * ranks_per_node != ranks:
            raise ResourceError(
                f"{ranks} ranks do not divide over {nodes} node{'' if nodes == 1 else 's'} with {ranks_per_node} ranks "
                "a node. Ask for nodes × ranks_per_node = ranks."
            )
        return cls(nodes, ranks_per_node, ranks, **rest)

    @property
    def cores_per_node(self) -> int:
        """Cores used on each node."""
        return self.ranks_per_node * self.cores_per_rank


def _whole(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ResourceError(f"'{name}' must be a whole number of at least {least}, and {value!r} was given.")
