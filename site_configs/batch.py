"""The batch script of a job, as a pure function: what is rendered for a person is what is submitted."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from surrogate.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One job as sbatch takes it. Integers only; nothing of an enclosing job enters.

    Attributes:
        name: Name of the job.
        comment: Tag by which everything of a campaign is found again.
        output: File that receives stdout and stderr.
        walltime_s: Wall-clock seconds; SLURM counts whole minutes, upwards.
        command: Program and arguments; it takes the place of the script's shell, so that signals reach it.
        nodes: Number of nodes.
        cores: Cores on each node, or None for what the partition gives (whole nodes when `exclusive`).
        memory_mib: Memory on each node in MiB, or None for what the partition gives.
        gpus: GPUs on each node.
        exclusive: Whether the nodes are shared with no other job.
        partition: Partition, or None for the scheduler's default.
        account: Account that is charged, or None for the user's default.
        qos: Quality of service, or None.
        constraint: Features that the nodes must have, or None.
        signal: What is sent ahead of the walltime, such as `B:USR1@60`, or empty for nothing.
        dependency: What it waits for, such as `afterany:12`, or empty for nothing.
        directives: Further options of sbatch, one each.
        setup: Shell lines before the command.
        variables: Environment variables (name, value) set after `setup`.
    """

    name: str
    comment: str
    output: str
    walltime_s: int
    command: tuple[str, ...]
    nodes: int = 1
    cores: int | None = None
    memory_mib: int | None = None
    gpus: int = 0
    exclusive: bool = True
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    signal: str = ""
    dependency: str = ""
    directives: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


def job_script(job: BatchJob) -> str:
    """Return the batch script of a job.

    Raises:
        ConfigError: If an option would break the script's lines apart.
    """
    options = [
        f"--job-name={job.name}",
        f"--comment={job.comment}",
        f"--output={job.output}",
        "--open-mode=append",
        f"--nodes={job.nodes}",
        "--ntasks-per-node=1",
        f"--time={clock(job.walltime_s)}",
        # A job that is put back into the queue waits for minutes, under a name whose work has been given to others.
        "--no-requeue",
    ]
    named = (("partition", job.partition), ("account", job.account), ("qos", job.qos), ("constraint", job.constraint))
    options += [f"--{name}={value}" for name, value in named if value]
    if job.exclusive:
        options.append("--exclusive")
    if job.cores is not None:
        options.append(f"--cpus-per-task={job.cores}")
    if job.memory_mib is not None:
        options.append(f"--mem={job.memory_mib}M")
    if job.gpus:
        options.append(f"--gpus-per-node={job.gpus}")
    if job.signal:
        options.append(f"--signal={job.signal}")
    if job.dependency:
        options.append(f"--dependency={job.dependency}")
    options += job.directives
    for option in options:
        if "\n" in option or '"' in option:
            raise ConfigError(f"An option of sbatch may hold neither a line's end nor a quotation mark: {option!r}.")
    lines = ["#!/bin/bash", *(f"#SBATCH {_quoted(option)}" for option in options), "", *job.setup]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in job.variables]
    return "\n".join([*lines, f"exec {shlex.join(job.command)}", ""])


def clock(seconds: int) -> str:
    """Return seconds as `[D-]HH:MM:SS`."""
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    text = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{days}-{text}" if days else text


def _quoted(option: str) -> str:
    """Return an option as it stands behind #SBATCH."""
    name, equals, value = option.partition("=")
    return f'{name}{equals}"{value}"' if any(letter.isspace() or letter == "#" for letter in value) else option
