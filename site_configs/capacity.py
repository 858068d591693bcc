"""What the nodes of a site have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a site has.

    Attributes:
        nodes: Number of nodes.
        cores: Cores of each node.
        memory_mib: Memory of each node in MiB.
        gpus: GPUs of each node.
    """

    nodes: int
    cores: int
    memory_mib: int
    gpus: int
