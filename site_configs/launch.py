"""How programs are started on several ranks: one pure function for each dialect of launchers.

Two rules hold for every line that is made here. A serial program is never handed to a launcher with more than one
rank: that would run N copies of it, each with the whole result. And every number on a line is an integer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError, ResourceError, nearest


@dataclass(frozen=True, slots=True)
class Launcher:
    """A launcher that was found on this machine. It is plain data: it travels to workers as JSON.

    Attributes:
        dialect: A key of `DIALECTS`, or `template`.
        mpiexec: Absolute path of the launcher.
        options: Options that every launch gets.
        variables: Environment variables (name, value) of the launcher and its ranks.
        bind_cores: Whether each rank is bound to cores of its own.
        as_root: Whether the caller is root, which Open MPI must be told.
        template: Words of the dialect `template`; each may name one of `TEMPLATE_WORDS`.
        inside: Words that put a program without GPUs into an image, or none.
        inside_with_gpus: The same for a program with GPUs.
        outside_python: The Python of the site's environment on the nodes; none means this one.
        inside_python: The Python of the image, in place of either; none means that there is no image.
    """

    dialect: str
    mpiexec: str
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    bind_cores: bool = False
    as_root: bool = False
    template: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    inside_with_gpus: tuple[str, ...] = ()
    outside_python: str = ""
    inside_python: str = ""

    def line(
        self, argv: Sequence[str], resources: ResourceRequest, *, mpi: bool = True, hosts: Sequence[str] = ()
    ) -> list[str]:
        """Return the command that starts a program.

        Args:
            argv: Program and arguments.
            resources: How many ranks it gets, and of what size.
            mpi: Whether the program speaks MPI.
            hosts: Nodes to use; the launcher's own choice when empty.

        Raises:
            ResourceError: If a program that does not speak MPI is asked for on more than one rank.
        """
        if self.inside_python and argv and argv[0] in (sys.executable, self.outside_python):
            argv = (self.inside_python, *argv[1:])
        return launch_line(
            self.dialect,
            argv,
            resources,
            mpiexec=self.mpiexec,
            options=self.options,
            variables=self.variables,
            mpi=mpi,
            hosts=hosts,
            bind_cores=self.bind_cores,
            as_root=self.as_root,
            template=self.template,
            inside=self.inside_with_gpus if resources.gpus_per_rank else self.inside,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Launcher:
        """Rebuild a launcher from `to_json`."""
        words = {name: tuple(record.get(name, ())) for name in ("options", "template", "inside", "inside_with_gpus")}
        variables = tuple((str(name), str(value)) for name, value in record["variables"])
        return cls(**{**record, **words, "variables": variables})


def launch_line(
    dialect: str,
    argv: Sequence[str],
    resources: ResourceRequest,
    *,
    mpiexec: str,
    options: Sequence[str] = (),
    variables: Sequence[tuple[str, str]] = (),
    mpi: bool = True,
    hosts: Sequence[str] = (),
    bind_cores: bool = False,
    as_root: bool = False,
    template: Sequence[str] = (),
    inside: Sequence[str] = (),
) -> list[str]:
    """Return the command that starts a program on the ranks that it asks for.

    Args:
        dialect: A key of `DIALECTS`, or `template`.
        argv: Program and arguments.
        resources: How many ranks it gets, and of what size.
        mpiexec: Path of the launcher.
        options: Options of the site, placed before the program.
        variables: Environment variables (name, value) for the launcher and its ranks.
        mpi: Whether the program speaks MPI. One that does not runs bare, without the launcher's variables.
        hosts: Nodes to use; the launcher's own choice when empty.
        bind_cores: Whether each rank is bound to cores of its own.
        as_root: Whether the caller is root.
        template: Words of the dialect `template`.
        inside: Words between the launcher and the program that put it into an image.

    Raises:
        ConfigError: If the dialect is unknown, or there is no program.
        ResourceError: If a program that does not speak MPI is asked for on more than one rank, or the hosts are not
            as many as the nodes.
    """
    known = (*DIALECTS, "template")
    if dialect not in known:
        raise ConfigError(
            f"'{dialect}' is no launcher dialect.{nearest(dialect, known)} Known are: {', '.join(known)}."
        )
    if not argv or not argv[0]:
        raise ConfigError("There is nothing to start: the command of the program is empty.")
    if hosts and len(hosts) != resources.nodes:
        raise ResourceError(f"{resources.nodes} nodes were asked for, and {len(hosts)} hosts were named.")
    if not mpi:
        if resources.ranks != 1:
            raise ResourceError(
                f"The program {argv[0]} does not speak MPI, and {resources.ranks} ranks were asked for: that would run "
                f"{resources.ranks} copies of it. Ask for one rank, and give it more cores with 'cores_per_rank'."
            )
        return [*inside, *argv]
    if dialect == "template":
        line, forced = _template(resources, mpiexec, tuple(hosts), template)
    else:
        line, forced = DIALECTS[dialect](resources, mpiexec, tuple(hosts), bind_cores, as_root)
    return [*_environment((*forced, *variables)), *line, *options, *inside, *argv]


_Line = tuple[list[str], tuple[tuple[str, str], ...]]


def _mpich(resources: ResourceRequest, mpiexec: str, hosts: tuple[str, ...], bind: bool, as_root: bool) -> _Line:
    """Build a line for Hydra: MPICH, Intel MPI, MVAPICH."""
    del as_root
    binding = f"core:{resources.cores_per_rank}" if bind else "none"
    line = [mpiexec, "-n", str(resources.ranks), "-ppn", str(resources.ranks_per_node), "-bind-to", binding]
    if hosts:
        line += ["-hosts", ",".join(hosts)]
    return line, ()


def _openmpi(resources: ResourceRequest, mpiexec: str, hosts: tuple[str, ...], bind: bool, as_root: bool) -> _Line:
    """Build a line for Open MPI 4.1 and later."""
    where = f"ppr:{resources.ranks_per_node}:node"
    if bind:
        where += f":PE={resources.cores_per_rank}"
    elif resources.nodes == 1 and not hosts:
        # It counts a core with two threads once, and would refuse ranks that we have already found to fit.
        where += ":OVERSUBSCRIBE"
    binding = "core" if bind else "none"
    line = [mpiexec, "-n", str(resources.ranks), "--map-by", where, "--bind-to", binding]
    if hosts:
        line += ["--host", ",".join(f"{host}:{resources.ranks_per_node}" for host in hosts)]
    # Root must ask twice; the two variables are for this child alone.
    forced: tuple[tuple[str, str], ...] = ()
    if as_root:
        forced = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))
    if hosts:
        # In a job of SLURM it counts the job's tasks, of which ours has one on each node, unless told to count cores.
        # The names are those of Open MPI 4 and 5.
        forced += tuple((f"{prefix}_MCA_ras_slurm_use_entire_allocation", "1") for prefix in ("OMPI", "PRTE"))
    return line, forced


def _srun(resources: ResourceRequest, mpiexec: str, hosts: tuple[str, ...], bind: bool, as_root: bool) -> _Line:
    """Build a line for a step inside a SLURM allocation."""
    del as_root
    line = [
        mpiexec,
        f"--nodes={resources.nodes}",
        f"--ntasks={resources.ranks}",
        f"--ntasks-per-node={resources.ranks_per_node}",
        f"--cpus-per-task={resources.cores_per_rank}",
        # A step takes what it asks for and no more, and does not wait for the steps beside it.
        "--exact",
        "--overlap",
        "--kill-on-bad-exit=1",
        f"--cpu-bind={'cores' if bind else 'none'}",
    ]
    if resources.gpus_per_rank:
        line.append(f"--gpus-per-task={resources.gpus_per_rank}")
    if resources.memory_per_rank_mib:
        line.append(f"--mem={resources.memory_per_rank_mib * resources.ranks_per_node}M")
    if hosts:
        line.append(f"--nodelist={','.join(hosts)}")
    return line, ()


DIALECTS: dict[str, Callable[[ResourceRequest, str, tuple[str, ...], bool, bool], _Line]] = {
    "mpich": _mpich,
    "openmpi": _openmpi,
    "srun": _srun,
}


TEMPLATE_WORDS = ("nodes", "ranks", "ranks_per_node", "cores_per_rank", "gpus_per_rank", "memory_per_node_mib", "hosts")
"""What the words of a dialect given by a site file may name, in braces."""


def _template(resources: ResourceRequest, mpiexec: str, hosts: tuple[str, ...], template: Sequence[str]) -> _Line:
    """Build a line for a launcher that is described by a site file.

    A word that names `{hosts}` is left out, with the option before it, where no hosts are named; one that names GPUs
    or memory is left out where none are asked for.

    Raises:
        ConfigError: If the number of ranks is not named: every launch would have the same.
    """
    if not any("{ranks}" in word for word in template):
        raise ConfigError("The launcher's template does not name {ranks}. Correct 'launcher.template' in the site.")
    values = {
        "nodes": resources.nodes,
        "ranks": resources.ranks,
        "ranks_per_node": resources.ranks_per_node,
        "cores_per_rank": resources.cores_per_rank,
        "gpus_per_rank": resources.gpus_per_rank,
        "memory_per_node_mib": resources.memory_per_rank_mib * resources.ranks_per_node,
        "hosts": ",".join(hosts),
    }
    absent = [f"{{{name}}}" for name in ("gpus_per_rank", "memory_per_node_mib", "hosts") if not values[name]]
    line = [mpiexec]
    for word in template:
        if not any(name in word for name in absent):
            line.append(word.format_map(values))
        elif not word.startswith("-") and line[-1].startswith("-"):
            line.pop()
    return line, ()


def _environment(variables: Sequence[tuple[str, str]]) -> list[str]:
    """Return the words that set variables for one command only, so that the recorded line can be repeated."""
    return ["env", *(f"{name}={value}" for name, value in variables)] if variables else []
