"""Drafting a site for the cluster at hand, as TOML that a person reads and corrects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from site_configs.cluster import PartitionFacts

LONGEST_S = 14400
"""Walltime of a drafted job where the partition allows more: shorter jobs start sooner."""
MOST_NODES = 4
FEW_NODES = 16
# Memory that SLURM hands out, less what the system and the workers need.
_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Cluster:
    """What was found of a cluster.

    Attributes:
        name: Its name, as SLURM has it.
        version: Version of SLURM.
        partitions: Partitions that are up.
        mpi_kinds: What `srun --mpi` takes.
        default_mpi: What it takes when nothing is said.
        loopback: Whether all nodes are on this machine.
        login: Name of this machine.
    """

    name: str
    version: str
    partitions: tuple[PartitionFacts, ...]
    mpi_kinds: tuple[str, ...]
    default_mpi: str
    loopback: bool
    login: str


def draft_site(name: str, cluster: Cluster, own_mpi: str | None) -> str:
    """Return a site file for a cluster.

    Simulations go to the default partition, or to the largest one without GPUs where the default has some; training
    goes to the smallest partition with GPUs, or else where the simulations go.

    Args:
        name: Name of the site.
        cluster: What was found; at least one partition.
        own_mpi: Dialect of the launcher beside this Python, or None when there is none.
    """
    simulate, train = choose(cluster.partitions)
    used = [simulate] if train == simulate else [simulate, train]
    lines = [
        "# Drafted from sinfo and scontrol: read it, correct it, and try it with `surrogate site check`.",
        "schema_version = 1",
        f"name = {_text(name)}",
        f"description = {_text(f'{cluster.name}, SLURM {cluster.version}, as seen from {cluster.login}.')}",
        'scheduler = "slurm"',
        "# Nodes that one campaign may use at once.",
        f"nodes = {min(MOST_NODES, max(one.nodes for one in used))}",
        "# The account that jobs are charged to; without it the user's default.",
        '# account = "NAME"',
        "",
    ]
    for one in used:
        lines += _partition(one)
    lines += _launchers(cluster, own_mpi)
    lines += [f'[roles.simulate]\npartition = "{_key(simulate)}"\n', f'[roles.train]\npartition = "{_key(train)}"']
    lines += _train_launcher(cluster, own_mpi)
    lines += [
        "",
        "[environment]",
        "# Modules that programs need on the nodes, such as the MPI that they were built with.",
    ]
    lines += ["modules = []", ""]
    if cluster.loopback:
        lines += ["[interchange]", "# All nodes are on this machine.", 'address = "127.0.0.1"', ""]
    others = [one for one in cluster.partitions if one not in used]
    if others:
        lines += ["# Further partitions:", *(f"# {_said(one)}" for one in others), ""]
    if max(one.nodes for one in cluster.partitions) <= FEW_NODES:
        lines += ["[limits]", "# A small cluster answers quickly.", "poll_s = 1.0"]
    else:
        lines += ["[limits]", "submissions_a_minute = 12", "poll_s = 10.0"]
    return "\n".join(lines) + "\n"


def choose(partitions: Sequence[PartitionFacts]) -> tuple[PartitionFacts, PartitionFacts]:
    """Return the partitions for simulations and for training.

    Args:
        partitions: At least one.
    """
    plain = [one for one in partitions if not one.gpus]
    default = next((one for one in partitions if one.default), None)
    if default is not None and (not default.gpus or not plain):
        simulate = default
    else:
        simulate = max(plain or partitions, key=lambda one: one.nodes * one.cores)
    with_gpus = [one for one in partitions if one.gpus]
    train = simulate if simulate.gpus or not with_gpus else min(with_gpus, key=lambda one: (one.gpus, -one.nodes))
    return simulate, train


def _partition(one: PartitionFacts) -> list[str]:
    limit = f"at most {one.walltime_s} s" if one.walltime_s is not None else "no limit"
    return [
        f"[partitions.{_key(one)}]",
        f"name = {_text(one.name)}",
        f"nodes = {one.nodes}",
        f"cores = {one.cores}",
        f"memory_mib = {max(1, int(one.memory_mib * _SHARE))}",
        f"gpus = {one.gpus}",
        f"# Of one job; the partition allows {limit}.",
        f"walltime_s = {min(LONGEST_S, one.walltime_s or LONGEST_S)}",
        "",
    ]


def _launchers(cluster: Cluster, own_mpi: str | None) -> list[str]:
    if own_mpi is not None:
        note = "The mpiexec beside this program's Python; it starts ranks on other nodes by srun."
        return ["[launcher]", f"# {note}", 'dialect = "auto"', 'mpiexec = "embedded"', ""]
    kinds = f"The others: {', '.join(cluster.mpi_kinds)}." if cluster.mpi_kinds else "It lists none."
    note = (
        f"This Python brings no MPI, so steps of srun are used, with its own default ({cluster.default_mpi}). {kinds}"
    )
    return ["[launcher]", f"# {note}", 'dialect = "srun"', ""]


def _train_launcher(cluster: Cluster, own_mpi: str | None) -> list[str]:
    """Return a launcher for training: a step of SLURM, where it speaks the language of this environment's MPI."""
    pmix = next((kind for kind in cluster.mpi_kinds if kind.startswith("pmix")), None)
    kind = {"mpich": "pmi2" if "pmi2" in cluster.mpi_kinds else None, "openmpi": pmix}.get(own_mpi or "")
    if kind is None:
        return []
    return ["", "[roles.train.launcher]", 'dialect = "srun"', f'options = ["--mpi={kind}"]']


def _key(one: PartitionFacts) -> str:
    """Return the key of a partition in the file: its name where TOML takes it as it is."""
    return "".join(letter if (letter.isascii() and letter.isalnum()) or letter in "-_" else "_" for letter in one.name)


def _said(one: PartitionFacts) -> str:
    gpus = f", {one.gpus} GPUs" if one.gpus else ""
    limit = f"{one.walltime_s} s" if one.walltime_s is not None else "no limit"
    return f"{one.name}: {one.nodes} node(s) of {one.cores} cores, {one.memory_mib} MiB{gpus}; {limit}"


def _text(text: str) -> str:
    """Return a string of TOML; JSON's form is one of its."""
    return json.dumps(text, ensure_ascii=False)
