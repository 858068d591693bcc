"""From a site with SLURM to its jobs: the batch script of a block, pure, and the executor that submits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from site_configs.batch import BatchJob, job_script
from site_configs.manager import BEGAN_VARIABLE, BLOCK_VARIABLE, BlockFacts
from site_configs.shape import Shape
from site_configs.site import RoleName, Site

if TYPE_CHECKING:
    from site_configs.slurm_executor import SlurmExecutor

LEAD_S = 60
HEARTBEAT_THRESHOLD_S = 30


def block_job(
    site: Site,
    role: RoleName,
    shape: Shape,
    command: tuple[str, ...],
    *,
    name: str,
    comment: str,
    output: str,
    variables: Mapping[str, str],
    scratch: str = "sg-",
) -> BatchJob:
    """Return the job of one block.

    Args:
        site: The machine.
        role: What its workers are for.
        shape: Layout of the blocks.
        command: What starts one manager.
        name: Name of the job.
        comment: Tag of the campaign.
        output: File that receives its output.
        variables: Environment variables beside the site's own; they win.
        scratch: How the names of its scratch folders begin.
    """
    partition = site.partition(role)
    lead = lead_of(partition.walltime_s)
    facts = BlockFacts(partition.walltime_s, lead, scratch, shape.managers == 1, shape.slots, shape.size)
    own = {**site.variables(role), **variables, BLOCK_VARIABLE: facts.to_text()}
    starter: tuple[str, ...] = ()
    if shape.managers > 1:
        # One manager on each node. The step overlaps those that runs may become, and has all cores of its nodes.
        starter = (
            "srun",
            "--overlap",
            f"--nodes={shape.nodes}",
            f"--ntasks={shape.managers}",
            "--ntasks-per-node=1",
            f"--cpus-per-task={shape.size.cores}",
            "--cpu-bind=none",
            "--wait=0",
            *([f"--gpus-per-node={shape.size.gpus}"] if shape.size.gpus else []),
        )
    return BatchJob(
        name=name,
        comment=comment,
        output=output,
        walltime_s=partition.walltime_s,
        command=(*starter, *command),
        nodes=shape.nodes,
        cores=shape.size.cores,
        gpus=shape.size.gpus,
        exclusive=partition.exclusive,
        partition=partition.name,
        account=partition.account,
        qos=partition.qos,
        constraint=partition.constraint,
        # The script's own process is the manager, or the srun that hands the signal on to the managers.
        signal=f"B:USR1@{lead}",
        directives=partition.directives,
        setup=(f"export {BEGAN_VARIABLE}=$(date +%s)", *site.setup_lines(role)),
        variables=tuple(own.items()),
    )


def lead_of(walltime_s: int) -> int:
    """Return how long ahead of its end a job is warned: a minute, less where the job itself is short."""
    return max(1, min(LEAD_S, walltime_s // 5))


def slurm_executor(
    site: Site,
    role: RoleName,
    shape: Shape,
    *,
    manager: str,
    interchange: list[str],
    comment: str,
    prefix: str,
    variables: Mapping[str, str],
    scratch: str,
    settings: Mapping[str, object],
) -> SlurmExecutor:
    """Return the executor of a role.

    Args:
        site: The machine.
        role: What its workers are for; also its label.
        shape: Layout of the blocks.
        manager: Command of a manager, as Parsl's template.
        interchange: Command of the interchange.
        comment: Tag of the campaign.
        prefix: How the names of the jobs begin.
        variables: Environment variables of the workers.
        scratch: How the names of scratch folders begin.
        settings: What all executors of ours have in common.
    """
    from parsl.addresses import address_by_interface

    from site_configs.executor import stop_when_broken
    from site_configs.slurm_blocks import SlurmBlocks
    from site_configs.slurm_executor import SlurmExecutor

    job = block_job(site, role, shape, (), name="", comment=comment, output="", variables=variables, scratch=scratch)

    def script(name: str, command: tuple[str, ...], output: str) -> str:
        return job_script(replace(job, name=name, output=output, command=(*job.command, *command)))

    address = site.interchange.address
    if address is None and site.interchange.interface is not None:
        address = address_by_interface(site.interchange.interface)
    executor = SlurmExecutor(
        label=role,
        provider=SlurmBlocks(script, prefix=prefix, nodes=shape.nodes, blocks=shape.blocks, poll_s=site.limits.poll_s),
        launch_cmd=manager,
        interchange_launch_cmd=interchange,
        address=address,
        max_workers_per_node=shape.workers,
        heartbeat_threshold=HEARTBEAT_THRESHOLD_S,
        block_error_handler=stop_when_broken,
        **settings,
    )
    executor.site_name = site.name
    executor.jobs_queued = site.limits.jobs_queued
    executor.submissions_a_minute = site.limits.submissions_a_minute
    return executor
