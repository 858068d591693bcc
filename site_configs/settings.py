"""The tables of a site file that say how programs are started, and with what around them."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from site_configs.launch import TEMPLATE_WORDS
from site_configs.partition import Count, SitePart

_WORD = re.compile(r"\{([^{}]*)\}")


class LauncherSettings(SitePart):
    """How MPI programs are started."""

    dialect: Literal["auto", "mpich", "openmpi", "srun", "template"] = Field(
        default="auto",
        description="The launcher's language; 'auto' asks the launcher what it is, 'template' is spelled out below.",
    )
    mpiexec: str = Field(
        default="embedded",
        description="'embedded' is the mpiexec beside this Python; else an absolute path, or a name on PATH.",
    )
    options: tuple[str, ...] = Field(default=(), description="Further options, given to every launch.")
    template: tuple[str, ...] = Field(
        default=(),
        description="Words of the dialect 'template', such as ['-n', '{ranks}', '--ppn', '{ranks_per_node}'].",
    )
    variables: dict[str, str] = Field(default={}, description="Environment variables of the launcher and its ranks.")
    bind_cores: bool = Field(
        default=False,
        description="Bind ranks to cores. Off where several runs share a node: each launcher would bind to core 0.",
    )

    @model_validator(mode="after")
    def _check(self) -> LauncherSettings:
        if (self.dialect == "template") != bool(self.template):
            raise ValueError("'template' belongs to the dialect 'template', and that dialect needs it")
        unknown = sorted({word for text in self.template for word in _WORD.findall(text)} - set(TEMPLATE_WORDS))
        if unknown:
            raise ValueError(f"'template' names {{{unknown[0]}}}, and the words are {', '.join(TEMPLATE_WORDS)}")
        if self.template and not any("{ranks}" in text for text in self.template):
            raise ValueError("'template' does not name {ranks}: every launch would have the same number of ranks")
        return self


class Environment(SitePart):
    """What the shell does before a program starts, and the variables that programs see."""

    setup: tuple[str, ...] = Field(default=(), description="Shell lines that come first, such as `module use PATH`.")
    modules: tuple[str, ...] = Field(default=(), description="Modules to load, in this order.")
    venv: str | None = Field(
        default=None,
        description="Folder of the Python environment on the nodes; the one that this program runs in when absent.",
    )
    variables: dict[str, str] = Field(default={}, description="Environment variables.")


class Container(SitePart):
    """An image that programs run in. Launchers and workers stay outside, programs go inside."""

    runtime: Literal["apptainer", "shifter", "podman-hpc"] = Field(description="What runs the image.")
    image: str = Field(min_length=1, description="File of the image, or its name.")
    program: str | None = Field(default=None, description="Path of the runtime; its own name on PATH when absent.")
    binds: tuple[str, ...] = Field(default=(), description="Folders to show inside: PATH, or PATH:PATH_INSIDE.")
    gpu_flag: str | None = Field(
        default=None, description="Option where GPUs are asked for; the runtime's for NVIDIA when absent."
    )
    options: tuple[str, ...] = Field(default=(), description="Further options of the runtime.")
    python: str = Field(default="/opt/surrogate/.venv/bin/python", description="The Python inside.")


class Storage(SitePart):
    """Folders of the machine and the manners of its file systems.

    Variables are written $NAME or ${NAME}, and {account} stands for the account.
    """

    scratch: str | None = Field(
        default=None, description="Where working directories of campaigns belong; the current folder when absent."
    )
    node_local: str | None = Field(
        default=None, description="Folder on each node's own disk for the temporary files of runs; TMPDIR there."
    )
    final: str | None = Field(
        default=None, description="Folder that outlives the scratch; the end-of-campaign hook is told of it."
    )
    file_locks: bool = Field(
        default=True, description="Whether HDF5 locks files; false where the file system refuses locks."
    )
    umask: str | None = Field(
        default=None, pattern=r"^0?[0-7]{3}$", description="Permissions that new files do not get, such as '0027'."
    )
    group: str | None = Field(default=None, description="Group that owns working directories and all below.")


class Role(SitePart):
    """Where one kind of work is done, and how much of it at once."""

    workers: Count | None = Field(default=None, description="Most runs at once; as many as fit when absent.")
    launcher: LauncherSettings | None = Field(
        default=None,
        description="How this role's MPI programs are started, where the site's own launcher is not theirs: a program "
        "belongs to the MPI that it was built with.",
    )
    partition: str | None = Field(
        default=None, description="Key of the partition below [partitions]; the only one when absent."
    )
    environment: Environment = Field(default=Environment(), description="Added to the site's own environment.")
    container: Container | None = Field(default=None, description="Image for this role, where the site's is not its.")
