"""Blocks of a site with PBS, by Parsl's own provider. They are rendered; nothing submits them yet."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from string import Template
from typing import TYPE_CHECKING

from site_configs.batch import clock
from site_configs.shape import Shape
from site_configs.site import RoleName, Site

if TYPE_CHECKING:
    from parsl.providers import PBSProProvider


def pbs_provider(site: Site, role: RoleName, shape: Shape, variables: Mapping[str, str]) -> PBSProProvider:
    """Return the provider of a role's blocks.

    Args:
        site: The machine.
        role: What the workers are for.
        shape: Layout of the blocks.
        variables: Environment variables beside the site's own; they win.
    """
    from parsl.launchers import MpiExecLauncher, SimpleLauncher
    from parsl.providers import PBSProProvider

    partition = site.partition(role)
    exports = [f"export {name}={shlex.quote(value)}" for name, value in {**site.variables(role), **variables}.items()]
    one_each = MpiExecLauncher(bind_cmd="--cpu-bind", overrides=f"--ppn 1 --depth {shape.size.cores}")
    return PBSProProvider(
        account=partition.account,
        queue=partition.name,
        scheduler_options="\n".join(f"#PBS {directive}" for directive in partition.directives),
        select_options=partition.constraint or "",
        worker_init="\n".join((*site.setup_lines(role), *exports)),
        nodes_per_block=shape.nodes,
        cpus_per_node=shape.size.cores,
        init_blocks=0,
        max_blocks=shape.blocks,
        launcher=one_each if shape.managers > 1 else SimpleLauncher(),
        walltime=clock(partition.walltime_s),
    )


def pbs_script(provider: PBSProProvider, command: str, *, name: str, folder: str) -> str:
    """Return the batch script that the provider writes for one block.

    Args:
        provider: From `pbs_provider`.
        command: What starts one manager.
        name: Name of the job.
        folder: Where the provider keeps scripts and output.
    """
    select = provider.select_options
    return Template(provider.template_string).substitute(
        jobname=name,
        submit_script_dir=folder,
        nodes_per_block=provider.nodes_per_block,
        ncpus=provider.cpus_per_node,
        walltime=provider.walltime,
        scheduler_options=provider.scheduler_options,
        worker_init=provider.worker_init,
        user_script=provider.launcher(command, 1, provider.nodes_per_block, folder),
        job_stdout_path=f"{folder}/{name}.stdout",
        job_stderr_path=f"{folder}/{name}.stderr",
        select_options=f":{select}" if select and not select.startswith(":") else select,
    )


def submission_line(provider: PBSProProvider, script: str) -> str:
    """Return the command by which the provider submits a script."""
    queue = ["-q", provider.queue] if provider.queue else []
    account = ["-A", provider.account] if provider.account else []
    return shlex.join(["qsub", *queue, *account, script])
