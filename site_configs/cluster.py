"""What SLURM says of a cluster: its partitions and nodes, read from what sinfo, scontrol and srun print."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from surrogate.core.errors import SiteError
from surrogate.core.process import scrubbed_environment

NODES = ("sinfo", "--noheader", "--exact", "--format=%R|%P|%a|%D|%X|%Y|%m|%G|%l")
PARTITIONS = ("scontrol", "show", "partition", "--oneliner")
ADDRESSES = ("scontrol", "show", "node", "--oneliner")
MPI_KINDS = ("srun", "--mpi=list")
_TIMEOUT_S = 30.0
_GPU = re.compile(r"(?:^|,)gpu(?::[^:,(]+)?:(\d+)")
_PAIR = re.compile(r"(\S+?)=(\S*)")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of one partition that are alike.

    Attributes:
        partition: Name of the partition.
        default: Whether jobs go there that name none.
        up: Whether it takes jobs.
        nodes: How many nodes.
        cores: Cores of each, hardware threads not counted.
        memory_mib: Memory of each in MiB.
        gpus: GPUs of each.
        walltime_s: Longest time of a job in seconds, or None for no limit.
    """

    partition: str
    default: bool
    up: bool
    nodes: int
    cores: int
    memory_mib: int
    gpus: int
    walltime_s: int | None


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What jobs of a partition can count on.

    Attributes:
        name: Its name.
        default: Whether jobs go there that name none.
        nodes: Nodes that one job may have.
        cores: Cores that every node has.
        memory_mib: Memory that every node has.
        gpus: GPUs that every node has.
        walltime_s: Longest time of a job in seconds, or None for no limit.
    """

    name: str
    default: bool
    nodes: int
    cores: int
    memory_mib: int
    gpus: int
    walltime_s: int | None


def parse_nodes(text: str) -> list[NodeGroup]:
    """Read what `NODES` printed; lines that are not of its form are passed over."""
    groups = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 9:
            continue
        name, marked, up, *numbers, gres, limit = fields
        nodes, sockets, cores, memory = (int(number.rstrip("+")) for number in numbers)
        gpus = sum(int(count) for count in _GPU.findall(gres))
        groups.append(
            NodeGroup(name, marked.endswith("*"), up == "up", nodes, sockets * cores, memory, gpus, seconds_of(limit))
        )
    return groups


def parse_records(text: str) -> list[dict[str, str]]:
    """Read what `scontrol show … --oneliner` printed: one mapping a line."""
    return [dict(_PAIR.findall(line)) for line in text.splitlines() if "=" in line]


def parse_mpi_kinds(text: str) -> tuple[str, ...]:
    """Read what `MPI_KINDS` printed: the names that --mpi takes."""
    words = [word.strip().rstrip(",") for line in text.splitlines() for word in line.split("srun: ")[-1].split()]
    known = [word for word in words if re.fullmatch(r"pmi2|pmix(?:_v\d+)?|cray_shasta|none|openmpi", word)]
    return tuple(dict.fromkeys(known))


def seconds_of(limit: str) -> int | None:
    """Return a time limit in seconds: `[D-]HH:MM:SS`, `MM:SS` or minutes; None for no limit."""
    days, dash, rest = limit.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 1:
        hours, minutes, seconds = 0, numbers[0], 0
    else:
        hours, minutes, seconds = (0, *numbers)[-3:]
    return 86400 * int(days or 0) + 3600 * hours + 60 * minutes + seconds


def partition_facts(groups: Iterable[NodeGroup], records: Iterable[dict[str, str]] = ()) -> list[PartitionFacts]:
    """Return what jobs can count on in every partition that is up: what its smallest nodes have.

    Args:
        groups: From `parse_nodes`.
        records: From `parse_records` of `PARTITIONS`; they say how many nodes a job may have.
    """
    limits = {record.get("PartitionName", ""): record.get("MaxNodes", "") for record in records}
    found: dict[str, list[NodeGroup]] = {}
    for group in groups:
        if group.up and group.cores:
            found.setdefault(group.partition, []).append(group)
    facts = []
    for name, alike in found.items():
        nodes = sum(group.nodes for group in alike)
        most = limits.get(name, "")
        facts.append(
            PartitionFacts(
                name,
                any(group.default for group in alike),
                min(nodes, int(most)) if most.isdigit() else nodes,
                min(group.cores for group in alike),
                min(group.memory_mib for group in alike),
                min(group.gpus for group in alike),
                alike[0].walltime_s,
            )
        )
    return facts


def ask(*words: str) -> str:
    """Return what a command of SLURM printed, on either of its outputs.

    Raises:
        SiteError: If the command is missing, fails or does not answer.
    """
    environment = scrubbed_environment(os.environ, keep=("SLURM_CONF",))
    try:
        done = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise SiteError(
            f"The command '{words[0]}' was not found. Use a machine that has SLURM's commands, such as a login node."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise SiteError(f"{words[0]} did not answer within {_TIMEOUT_S:.0f} s. Try again later.") from error
    if done.returncode != 0:
        raise SiteError(f"{words[0]} said: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout + done.stderr


def smallest_node(partition: str | None) -> PartitionFacts:
    """Return what every node of a partition has, as sinfo says.

    Args:
        partition: Its name, or None for the default one.

    Raises:
        SiteError: If SLURM does not answer, or has no such partition.
    """
    facts = _facts(os.environ.get("SLURM_CONF"))
    for one in facts:
        if one.name == partition or (partition is None and one.default):
            return one
    wanted = f"no partition '{partition}'" if partition else "no default partition"
    raise SiteError(
        f"SLURM has {wanted} that is up; it has {', '.join(one.name for one in facts) or 'none at all'}. Name one of "
        "them in the site, as 'name' below [partitions.…]."
    )


@lru_cache(maxsize=8)
def _facts(configuration: str | None) -> list[PartitionFacts]:
    """Return the partitions of the cluster that the environment means; it is asked once."""
    del configuration
    return partition_facts(parse_nodes(ask(*NODES)))
