"""A site: one machine, described by one TOML file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from site_configs.launch import DIALECTS, Launcher
from site_configs.machine import count_cores, count_memory_mib
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ResourceError, SiteError

SCHEMA_VERSION = 1
_SELF_NAMES = {"openmpi": ("open mpi", "openrte", "prrte"), "mpich": ("hydra", "mpich", "intel(r) mpi")}
RoleName = Literal["simulate", "train"]
Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LauncherSettings(_Part):
    """How MPI programs are started."""

    dialect: Literal["auto", "mpich", "openmpi", "srun"] = Field(
        default="auto", description="The launcher's language; 'auto' asks the launcher what it is."
    )
    mpiexec: str = Field(
        default="embedded",
        description="'embedded' is the mpiexec beside this Python; else an absolute path, or a name on PATH.",
    )
    options: tuple[str, ...] = Field(default=(), description="Further options, given to every launch.")
    variables: dict[str, str] = Field(default={}, description="Environment variables of the launcher and its ranks.")
    bind_cores: bool = Field(
        default=False,
        description="Bind ranks to cores. Off where several runs share a node: each launcher would bind to core 0.",
    )


class Environment(_Part):
    """What the shell does before workers start, and the variables that programs see."""

    setup: tuple[str, ...] = Field(default=(), description="Shell lines, such as `module load gcc`.")
    variables: dict[str, str] = Field(default={}, description="Environment variables.")


class Role(_Part):
    """Where one kind of work is done, and how much of it at once."""

    workers: Count | None = Field(default=None, description="Most runs at once; as many as fit when absent.")
    launcher: LauncherSettings | None = Field(
        default=None,
        description="How this role's MPI programs are started, where the site's own launcher is not theirs: a program "
        "belongs to the MPI that it was built with.",
    )
    environment: Environment = Field(default=Environment(), description="Added to the site's own environment.")


class Site(_Part):
    """One machine.

    Attributes are documented by their fields; `surrogate site show NAME` prints them as they are understood.
    """

    schema_version: Literal[1] = Field(default=1, description="Version of this file's form.")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Name on the command line.")
    description: str = Field(default="", description="One sentence.")
    scheduler: Literal["local", "slurm", "pbs"] = Field(default="local", description="Who hands out the machine.")
    launcher: LauncherSettings = Field(default=LauncherSettings())
    nodes: Count = Field(default=1, description="Nodes that one campaign may use at once.")
    cores: Count | None = Field(default=None, description="Cores of a node; counted on this machine when absent.")
    memory_mib: Count | None = Field(default=None, description="Memory of a node in MiB; counted when absent.")
    gpus: Annotated[int, Field(ge=0)] = Field(default=0, description="GPUs of a node.")
    walltime_s: Count | None = Field(default=None, description="Longest wall-clock time of one run, seconds.")
    environment: Environment = Field(default=Environment())
    roles: dict[RoleName, Role] = Field(default={}, description="What differs for simulations and for training.")

    def role(self, name: RoleName) -> Role:
        """Return the settings of a role; the defaults when the file says nothing of it."""
        return self.roles.get(name, Role())

    def capacity(self) -> Capacity:
        """Return what the site has, with what the file leaves out counted on this machine."""
        return Capacity(
            nodes=self.nodes,
            cores=self.cores if self.cores is not None else count_cores(),
            memory_mib=self.memory_mib if self.memory_mib is not None else count_memory_mib(),
            gpus=self.gpus,
        )

    def variables(self, role: RoleName) -> dict[str, str]:
        """Return the environment variables of a role; the role's win over the site's."""
        return {**self.environment.variables, **self.role(role).environment.variables}

    def find_launcher(self, role: RoleName | None = None) -> Launcher:
        """Return a launcher of this site with its absolute path and its dialect.

        Args:
            role: Whose launcher; the site's own when None, or when the role has none.

        Raises:
            SiteError: If it is not there, or does not say which MPI it belongs to.
        """
        settings = (self.role(role).launcher if role else None) or self.launcher
        program = "srun" if settings.dialect == "srun" and settings.mpiexec == "embedded" else settings.mpiexec
        path = find_mpiexec(program, self.name)
        dialect = settings.dialect if settings.dialect != "auto" else detect_dialect(path)
        return Launcher(
            dialect=dialect,
            mpiexec=path,
            options=settings.options,
            variables=tuple(sorted(settings.variables.items())),
            bind_cores=settings.bind_cores,
            as_root=os.geteuid() == 0,
        )


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


def find_mpiexec(program: str, site: str) -> str:
    """Return the absolute path of a site's launcher.

    The environment's own launcher is named by its path, never searched for: another MPI's mpiexec would start N
    programs that each believe to be alone.

    Args:
        program: `embedded`, an absolute path, or a name on PATH.
        site: Name of the site, for the sentence.

    Raises:
        SiteError: If there is no such program.
    """
    if program == "embedded":
        path = Path(sys.executable).parent / "mpiexec"
        if not os.access(path, os.X_OK):
            raise SiteError(
                f"Site '{site}' starts MPI programs with the mpiexec of this Python's own environment, and {path} is "
                "not there. Install one with: pip install 'surrogate-hpc[mpich]', or name another mpiexec in the site."
            )
        return str(path)
    found = shutil.which(program)
    if found is None:
        raise SiteError(
            f"Site '{site}' starts MPI programs with '{program}', and no such program was found. "
            "Load the module that brings it, or correct 'launcher.mpiexec' in the site."
        )
    return str(Path(found).absolute())


@lru_cache(maxsize=8)
def detect_dialect(mpiexec: str) -> str:
    """Return the dialect that a launcher says it speaks.

    Args:
        mpiexec: Absolute path of the launcher.

    Raises:
        SiteError: If it does not say.
    """
    try:
        answer = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30, check=False)
        text = (answer.stdout + answer.stderr).lower()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SiteError(f"The launcher {mpiexec} cannot be started: {error}.") from error
    for dialect, words in (
        ("openmpi", ("open mpi", "openrte", "prrte")),
        ("mpich", ("hydra", "mpich", "intel(r) mpi")),
    ):
        if any(word in text for word in words):
            return dialect
    raise SiteError(
        f"The launcher {mpiexec} does not say which MPI it belongs to. "
        f"Set 'launcher.dialect' in the site to one of: {', '.join(DIALECTS)}."
    )


def check_fits(site: Site, resources: ResourceRequest) -> None:
    """Refuse what a site can never run.

    Args:
        site: The site.
        resources: What is asked of it.

    Raises:
        ResourceError: In a sentence that says what was asked, what the site has, and what to change.
    """
    has = site.capacity()
    memory = resources.ranks_per_node * resources.memory_per_rank_mib
    limits = (
        (resources.nodes, has.nodes, "node", "nodes", ""),
        (resources.cores_per_node, has.cores, "core", "cores", " on each node"),
        (resources.ranks_per_node * resources.gpus_per_rank, has.gpus, "GPU", "GPUs", " on each node"),
        (memory, has.memory_mib, "MiB", "MiB", " of memory on each node"),
    )
    for asked, there, one, many, where in limits:
        if asked > there:
            raise ResourceError(
                f"A run with {_ranks(resources)} needs {asked} {one if asked == 1 else many}{where}, and site "
                f"'{site.name}' has {there}. Ask for less, or name a larger site."
            )
    if site.walltime_s is not None and resources.walltime_s > site.walltime_s:
        raise ResourceError(
            f"A run may take {resources.walltime_s} s, and site '{site.name}' ends runs after {site.walltime_s} s. "
            "Ask for a shorter walltime."
        )


def workers_that_fit(site: Site, resources: ResourceRequest, role: RoleName = "simulate") -> int:
    """Return how many runs of this size go on at once on one node.

    Args:
        site: The site.
        resources: What one run needs.
        role: Whose limit on workers holds.

    Raises:
        ResourceError: If not even one fits.
    """
    check_fits(site, resources)
    has = site.capacity()
    fits = has.cores // resources.cores_per_node
    for per_rank, there in ((resources.memory_per_rank_mib, has.memory_mib), (resources.gpus_per_rank, has.gpus)):
        if per_rank:
            fits = min(fits, there // (per_rank * resources.ranks_per_node))
    cap = site.role(role).workers
    return max(1, fits if cap is None else min(fits, cap))


def _ranks(resources: ResourceRequest) -> str:
    """Return `2 ranks` or `2 ranks of 4 cores`."""
    ranks = f"{resources.ranks} rank{'' if resources.ranks == 1 else 's'}"
    return ranks if resources.cores_per_rank == 1 else f"{ranks} of {resources.cores_per_rank} cores"
