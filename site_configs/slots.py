"""Sharing the nodes of one block among runs of any size, first come, first served.

All workers of a block live on its first node, so that a file there and its lock are enough: no server, no messages. A
run takes its place in a queue and waits until it is the first one and its nodes, cores, memory and GPUs are free. A
large run therefore waits only for those before it, and those behind it wait for it: nobody starves.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from site_configs.resources import ResourceRequest
from surrogate.core.errors import ResourceError
from surrogate.core.files import write_json
from surrogate.core.proctable import start_time

_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.25


@dataclass(frozen=True, slots=True)
class Place:
    """What a run was given.

    Attributes:
        hosts: Its nodes.
        gpus: For each node, the numbers of its GPUs.
    """

    hosts: tuple[str, ...]
    gpus: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSize:
    """What each node of a block has.

    Attributes:
        cores: Cores.
        memory_mib: Memory in MiB, or 0 for not counted.
        gpus: GPUs.
    """

    cores: int
    memory_mib: int = 0
    gpus: int = 0

    def holds(self, resources: ResourceRequest) -> int:
        """Return how many runs of a size fit on one node, each with its share of that node."""
        fits = self.cores // resources.cores_per_node
        if resources.gpus_per_rank:
            fits = min(fits, self.gpus // (resources.gpus_per_rank * resources.ranks_per_node))
        if resources.memory_per_rank_mib and self.memory_mib:
            fits = min(fits, self.memory_mib // (resources.memory_per_rank_mib * resources.ranks_per_node))
        return fits


@dataclass(slots=True)
class _Books:
    """Who holds what, and who waits, as the file has it."""

    next_ticket: int = 0
    waiting: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)


class Slots:
    """The nodes of one block."""

    def __init__(self, path: Path, hosts: Sequence[str], size: NodeSize) -> None:
        """Open the books of a block; they are made when missing.

        Args:
            path: The file, on a disk of the node where all workers live.
            hosts: Names of the block's nodes.
            size: What each of them has.
        """
        self._path, self._hosts, self._size = path, tuple(hosts), size
        self._lock = path.with_name(f"{path.name}.lock")

    @contextlib.contextmanager
    def take(self, resources: ResourceRequest) -> Iterator[Place]:
        """Wait for the nodes of a run, and give them back at the end.

        Args:
            resources: What the run needs.

        Yields:
            Where it may run.

        Raises:
            ResourceError: If the whole block is too small for it.
        """
        if resources.nodes > len(self._hosts) or self._size.holds(resources) < 1:
            raise ResourceError(
                f"A run on {resources.nodes} node(s) with {resources.cores_per_node} cores each can never fit a block "
                f"of {len(self._hosts)} node(s) with {self._size.cores} cores each."
            )
        ticket = self._queue_up()
        try:
            yield self._wait(ticket, resources)
        finally:
            self._leave(ticket)

    def _queue_up(self) -> int:
        with self._books() as books:
            ticket, books.next_ticket = books.next_ticket, books.next_ticket + 1
            books.waiting.append({"ticket": ticket, **_self()})
            return ticket

    def _wait(self, ticket: int, resources: ResourceRequest) -> Place:
        pause = _FIRST_PAUSE_S
        while True:
            with self._books() as books:
                if books.waiting[0]["ticket"] == ticket:
                    place = self._find(books, resources)
                    if place is not None:
                        entry = books.waiting.pop(0)
                        books.held.append({**entry, **_share(place, resources)})
                        return place
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _leave(self, ticket: int) -> None:
        with self._books() as books:
            books.held = [entry for entry in books.held if entry["ticket"] != ticket]
            books.waiting = [entry for entry in books.waiting if entry["ticket"] != ticket]

    def _find(self, books: _Books, resources: ResourceRequest) -> Place | None:
        """Return free nodes for a run, the fullest ones first so that whole nodes stay free for large runs."""
        cores = dict.fromkeys(self._hosts, self._size.cores)
        memory = dict.fromkeys(self._hosts, self._size.memory_mib)
        gpus = {host: list(range(self._size.gpus)) for host in self._hosts}
        for entry in books.held:
            for host, taken in zip(entry["hosts"], entry["gpus"], strict=True):
                cores[host] -= entry["cores"]
                memory[host] -= entry["memory_mib"]
                gpus[host] = [number for number in gpus[host] if number not in taken]
        wanted = resources.gpus_per_rank * resources.ranks_per_node
        need = resources.memory_per_rank_mib * resources.ranks_per_node if self._size.memory_mib else 0
        free = [
            host
            for host in sorted(self._hosts, key=lambda name: (cores[name], self._hosts.index(name)))
            if cores[host] >= resources.cores_per_node
            and (need == 0 or memory[host] >= need)
            and len(gpus[host]) >= wanted
        ]
        if len(free) < resources.nodes:
            return None
        chosen = sorted(free[: resources.nodes], key=self._hosts.index)
        return Place(tuple(chosen), tuple(tuple(gpus[host][:wanted]) for host in chosen))

    @contextlib.contextmanager
    def _books(self) -> Iterator[_Books]:
        """Open the books for a change; whoever died meanwhile is struck out."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            books = self._read()
            yield books
            record = {"next_ticket": books.next_ticket, "waiting": books.waiting, "held": books.held}
            write_json(self._path, record, durable=False)
        finally:
            os.close(handle)

    def _read(self) -> _Books:
        try:
            record = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return _Books()
        alive = [[entry for entry in record[key] if _lives(entry)] for key in ("waiting", "held")]
        return _Books(record["next_ticket"], alive[0], alive[1])


def _share(place: Place, resources: ResourceRequest) -> dict[str, Any]:
    """Return what a run takes of each of its nodes, JSON-ready."""
    return {
        "hosts": list(place.hosts),
        "gpus": [list(numbers) for numbers in place.gpus],
        "cores": resources.cores_per_node,
        "memory_mib": resources.memory_per_rank_mib * resources.ranks_per_node,
    }


def _self() -> dict[str, int]:
    return {"pid": os.getpid(), "start": start_time(os.getpid()) or 0}


def _lives(entry: dict[str, Any]) -> bool:
    return start_time(int(entry["pid"])) == int(entry["start"])
