"""What a worker finds around itself inside a job: its nodes, how long they stay, and what launchers must be told."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from site_configs.slots import NodeSize, Place, Slots

VARIABLE = "SURROGATE_ALLOCATION"
Launch = Callable[[Sequence[str], ResourceRequest, bool], list[str]]
"""(program and arguments, what it asks for, whether it speaks MPI) → the command that starts it."""
# A block that has only just begun takes what it is given: a run that needs most of a block would never start else.
_FRESH_S = 30.0
KEPT = (
    "SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NUM_NODES",
    "SLURM_NNODES", "SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NODE_ALIASES", "SLURM_CLUSTER_NAME",
    "SLURM_WORKING_CLUSTER", "SLURM_JOB_PARTITION", "SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS", "SLURM_JOB_UID",
    "SLURM_JOB_USER", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN",
    "SLURMD_NODENAME",
)  # fmt: skip
"""What srun, and launchers that start their daemons by srun, must know of the job around them. What is said there of
the job's own tasks (SLURM_NTASKS, SLURM_MEM_PER_CPU, SLURM_CPU_BIND, …) would contradict what a run asks for."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The job around a worker. It is made by the manager, and travels in the environment.

    Attributes:
        hosts: Nodes that the workers of this manager share.
        node: The node of this manager.
        block: Number of the block.
        began: When the job began, seconds since 1970.
        ends: When its walltime is over, seconds since 1970.
        lead_s: How long before its end it is warned.
        warning: File that is there once it was warned.
        slots: Books of the shared nodes, or empty where nothing is shared.
        size: What one node has.
    """

    hosts: tuple[str, ...]
    node: str
    block: str
    began: float
    ends: float
    lead_s: float
    warning: str
    slots: str
    size: NodeSize

    def to_text(self) -> str:
        """Return it as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Allocation:
        """Rebuild it from `to_text`."""
        record = json.loads(text)
        return cls(**{**record, "hosts": tuple(record["hosts"]), "size": NodeSize(**record["size"])})

    @property
    def warned(self) -> bool:
        """Whether the job has been told that it is about to end."""
        return Path(self.warning).exists()

    def remaining_s(self, now: float | None = None) -> float:
        """Return how many seconds of the job are left; a warning may have made them fewer."""
        now = time.time() if now is None else now
        with contextlib.suppress(FileNotFoundError):
            return min(self.ends, Path(self.warning).stat().st_mtime + self.lead_s) - now
        return self.ends - now

    def refuses(self, needs_s: float, now: float | None = None) -> bool:
        """Tell whether a run that needs this long would not be finished before the job ends.

        Args:
            needs_s: Seconds; 0 where nothing is known, which no job refuses before it was warned.
            now: The time, seconds since 1970.
        """
        now = time.time() if now is None else now
        warned = self.warned
        if warned and needs_s <= 0.0:
            return True
        return (warned or now - self.began > _FRESH_S) and self.remaining_s(now) < needs_s

    @contextlib.contextmanager
    def placed(self, resources: ResourceRequest) -> Iterator[Place]:
        """Wait for a share of the nodes; where nothing is shared, this node is given at once."""
        if not self.slots:
            yield Place((self.node,))
            return
        with Slots(Path(self.slots), self.hosts, self.size).take(resources) as place:
            yield place

    def launch(self, launcher: Launcher, place: Place) -> tuple[Launch, tuple[str, ...]]:
        """Return how programs are started at a place, and which variables of the job they need for it.

        A program on this very node is started by its MPI's own launcher as if there were no scheduler, in half the
        time of a step and without a word to the scheduler. All others go through it.

        Args:
            launcher: The site's.
            place: What the run was given.
        """
        if place.gpus and any(place.gpus) and len(set(place.gpus)) == 1:
            # Where the numbers differ from node to node, the scheduler must hand them out.
            numbers = ",".join(map(str, place.gpus[0]))
            launcher = replace(launcher, variables=(*launcher.variables, ("CUDA_VISIBLE_DEVICES", numbers)))
        here = place.hosts == (self.node,)
        hosts = () if here and launcher.dialect != "srun" else place.hosts
        if hosts and launcher.dialect != "srun":
            # The daemons of other launchers are a step each, beside those of other runs.
            launcher = replace(launcher, variables=(*launcher.variables, ("SLURM_OVERLAP", "1")))

        def line(argv: Sequence[str], resources: ResourceRequest, mpi: bool) -> list[str]:
            if mpi or here or resources.ranks != 1:
                return launcher.line(argv, resources, mpi=mpi, hosts=hosts)
            # One copy of a program without MPI, on another node.
            return Launcher("srun", "srun", variables=launcher.variables).line(argv, resources, hosts=place.hosts)

        return line, () if here and not hosts else KEPT


def current(environment: Mapping[str, str] = os.environ) -> Allocation | None:
    """Return the job around this process, or None outside of jobs of ours."""
    text = environment.get(VARIABLE)
    return None if text is None else Allocation.from_text(text)
