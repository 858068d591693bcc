"""A site: one machine, described by one TOML file."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Annotated, Literal

from pydantic import Field, model_validator

from site_configs.capacity import Capacity
from site_configs.cluster import smallest_node
from site_configs.container import container_words
from site_configs.launch import Launcher
from site_configs.machine import count_cores, count_memory_mib
from site_configs.mpiexec import detect_dialect, find_mpiexec
from site_configs.partition import Count, Interchange, Limits, Partition, SitePart
from site_configs.settings import Container, Environment, LauncherSettings, Role, Storage

__all__ = ["Environment", "LauncherSettings", "Role", "RoleName", "Site"]

SCHEMA_VERSION = 1
RoleName = Literal["simulate", "train", "serve", "drive"]
_INSTEAD: dict[RoleName, RoleName] = {"drive": "simulate", "serve": "train"}
ACCOUNT_VARIABLE = "SURROGATE_ACCOUNT"
# A server of NVIDIA's multi-process service for each job, so that programs of different runs share a GPU.
_MPS = (
    'export CUDA_MPS_PIPE_DIRECTORY="${TMPDIR:-/tmp}/mps-$SLURM_JOB_ID"',
    'export CUDA_MPS_LOG_DIRECTORY="$CUDA_MPS_PIPE_DIRECTORY"',
    'mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" && nvidia-cuda-mps-control -d',
)


class Site(SitePart):
    """One machine.

    Attributes are documented by their fields; `surrogate site show NAME` prints them as they are understood.
    """

    schema_version: Literal[1] = Field(default=1, description="Version of this file's form.")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Name on the command line.")
    description: str = Field(default="", description="One sentence.")
    guide: str = Field(default="", description="The machine's user guide, from which this file was written.")
    scheduler: Literal["local", "slurm", "pbs"] = Field(default="local", description="Who hands out the machine.")
    account: str | None = Field(default=None, description="Account that is charged; the user's default when absent.")
    needs_account: bool = Field(default=False, description="Whether the machine refuses jobs that name no account.")
    launcher: LauncherSettings = Field(default=LauncherSettings())
    nodes: Count = Field(default=1, description="Nodes that one campaign may use at once.")
    cores: Count | None = Field(default=None, description="Cores of a node; counted on this machine when absent.")
    memory_mib: Count | None = Field(default=None, description="Memory of a node in MiB; counted when absent.")
    gpus: Annotated[int, Field(ge=0)] = Field(default=0, description="GPUs of a node.")
    walltime_s: Count | None = Field(default=None, description="Longest wall-clock time of one run, seconds.")
    environment: Environment = Field(default=Environment())
    transport: dict[str, str] = Field(
        default={}, description="Environment variables of communication libraries: NCCL_…, UCX_…, FI_…."
    )
    container: Container | None = Field(default=None, description="Image that programs run in; none when absent.")
    storage: Storage = Field(default=Storage())
    roles: dict[RoleName, Role] = Field(
        default={}, description="What differs for simulations, training, serving, and a driver that is itself a job."
    )
    partitions: dict[str, Partition] = Field(default={}, description="Parts of the machine that jobs are submitted to.")
    interchange: Interchange = Field(default=Interchange(), description="How compute nodes reach the driver.")
    limits: Limits = Field(default=Limits(), description="How gently the scheduler is treated.")
    end_hook: str | None = Field(
        default=None,
        description="Shell command on the driver's side when a campaign has ended; it finds SURROGATE_WORKDIR, "
        "SURROGATE_VERDICT and SURROGATE_FINAL.",
    )

    @model_validator(mode="after")
    def _check(self) -> Site:
        for name, role in self.roles.items():
            if role.partition is not None and role.partition not in self.partitions:
                raise ValueError(
                    f"the role '{name}' names the partition '{role.partition}', and there is no "
                    f"[partitions.{role.partition}]"
                )
        if len(self.partitions) > 1:
            for name in ("simulate", "train"):
                if self._key(name) is None:
                    raise ValueError(
                        f"there are {len(self.partitions)} partitions, and 'roles.{name}.partition' does not say "
                        f"which of them is meant: {', '.join(self.partitions)}"
                    )
        if self.partitions and self.scheduler == "local":
            raise ValueError("partitions belong to a scheduler, and 'scheduler' is 'local'")
        return self

    def role(self, name: RoleName) -> Role:
        """Return the settings of a role; the defaults when the file says nothing of it."""
        return self.roles.get(name, Role())

    def partition(self, role: RoleName) -> Partition:
        """Return where jobs of a role go, with the account that they are charged to.

        A driver goes where the simulations go, and a server where the training goes, unless the site says otherwise.
        """
        key = self._key(role)
        own = self.partitions[key] if key is not None else next(iter(self.partitions.values()), Partition())
        account = own.account or self.account
        if account is not None and "{account}" in account:
            account = account.replace("{account}", self.account) if self.account else None
        return own.model_copy(update={"account": account})

    def capacity(self, role: RoleName = "simulate") -> Capacity:
        """Return what nodes of a role have. What the file leaves out is counted on this machine, or asked of SLURM.

        Args:
            role: Whose partition is meant.

        Raises:
            SiteError: If SLURM must be asked and does not answer.
        """
        own = self.partition(role)
        cores, memory = own.cores or self.cores, own.memory_mib or self.memory_mib
        if cores is None and self.scheduler == "slurm":
            asked = smallest_node(own.name)
            return Capacity(
                min(self.nodes, own.nodes or self.nodes),
                asked.cores,
                memory or asked.memory_mib,
                own.gpus or asked.gpus,
            )
        return Capacity(
            nodes=min(self.nodes, own.nodes or self.nodes),
            cores=cores if cores is not None else count_cores(),
            memory_mib=memory if memory is not None else count_memory_mib(),
            gpus=self.gpus if own.gpus is None else own.gpus,
        )

    def variables(self, role: RoleName) -> dict[str, str]:
        """Return the environment variables of a role; the role's win over the site's."""
        locks = {} if self.storage.file_locks else {"HDF5_USE_FILE_LOCKING": "FALSE"}
        return {**locks, **self.transport, **self.environment.variables, **self.role(role).environment.variables}

    def setup_lines(self, role: RoleName) -> tuple[str, ...]:
        """Return the shell lines that come before the command of a job, or before workers on this machine."""
        parts = (self.environment, self.role(role).environment)
        lines = [f"umask {self.storage.umask}"] if self.storage.umask else []
        lines += [line for part in parts for line in part.setup]
        lines += [f"module load {module}" for part in parts for module in part.modules]
        venv = self._venv(role)
        if venv:
            lines.append(f"source {_shell_path(venv)}/bin/activate")
        local = self.folder("node_local")
        if local:
            lines += [f"export TMPDIR={_shell_path(local)}", 'mkdir -p "$TMPDIR"']
        if self.scheduler != "local" and self.partition(role).mps:
            lines += _MPS
        return tuple(lines)

    def python(self, role: RoleName) -> str:
        """Return the interpreter of a role's workers: of its environment, or else the one that runs this."""
        venv = self._venv(role)
        return f"{expanded(venv)}/bin/python" if venv else sys.executable

    def folder(self, name: Literal["scratch", "node_local", "final"]) -> str | None:
        """Return a folder of the site for the shell, with the account filled in, or None when the file names none."""
        path: str | None = getattr(self.storage, name)
        return path.replace("{account}", self.account or "") if path else None

    def find_launcher(self, role: RoleName | None = None, *, written: bool = False) -> Launcher:
        """Return a launcher of this site with its absolute path and its dialect.

        Args:
            role: Whose launcher; the site's own when None, or when the role has none.
            written: Take it as the site file writes it and look for nothing, to show what would be done elsewhere.

        Raises:
            SiteError: If it is not there, or does not say which MPI it belongs to.
        """
        settings = (self.role(role).launcher if role else None) or self.launcher
        program = "srun" if settings.dialect == "srun" and settings.mpiexec == "embedded" else settings.mpiexec
        path = program if written and program != "embedded" else find_mpiexec(program, self.name)
        container = (self.role(role).container if role else None) or self.container
        return Launcher(
            dialect=settings.dialect if settings.dialect != "auto" else detect_dialect(path),
            mpiexec=path,
            options=settings.options,
            variables=tuple(sorted(settings.variables.items())),
            bind_cores=settings.bind_cores,
            as_root=not written and os.geteuid() == 0,
            template=settings.template,
            inside=container_words(container, gpus=False) if container else (),
            inside_with_gpus=container_words(container, gpus=True) if container else (),
            outside_python=self.python(role) if role else "",
            inside_python=container.python if container else "",
        )

    def _key(self, role: RoleName) -> str | None:
        """Return which partition a role names, or the role that stands in for it."""
        instead = _INSTEAD.get(role)
        return self.role(role).partition or (self.role(instead).partition if instead else None)

    def _venv(self, role: RoleName) -> str | None:
        return self.role(role).environment.venv or self.environment.venv


def expanded(path: str) -> str:
    """Return a path of a site file with the variables of this machine filled in."""
    return os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111 - the variables are filled in with it


def _shell_path(path: str) -> str:
    """Return a path as a word of the shell that still expands its variables."""
    home = path.replace("~", "$HOME", 1) if path.startswith("~/") else path
    return f'"{home}"' if "$" in home else shlex.quote(home)
