"""What a campaign would submit on a site, word for word: batch scripts and launch lines. Nothing is asked or started.

It is made by the functions that the real submission uses. What is known only then stands in capitals.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from site_configs.batch import job_script
from site_configs.parsl_config import manager_command, worker_setup
from site_configs.resources import ResourceRequest
from site_configs.shape import Shape, shape_of
from site_configs.site import RoleName, Site
from site_configs.slurm_config import block_job
from surrogate.core.process import CAMPAIGN_VARIABLE
from workflows.jobs import block_prefix, comment_of
from workflows.learn import training_resources
from workflows.plan import Plan
from workflows.session import SESSION_VARIABLE, scratch_prefix
from workflows.submit import driver_job
from workflows.training_run import train_command

_CAMPAIGN, _SESSION = "CAMPAIGN", "SESSION"


def render_site(site: Site, plan: Plan, workdir: Path) -> str:
    """Return what would be submitted and started, as text for a person.

    Args:
        site: The machine.
        plan: The campaign and its design.
        workdir: The working directory, as it would be.

    Raises:
        InputError: If the campaign can never run there, or the machine needs an account and none was named.
    """
    return "\n".join(_parts(site, plan, workdir)) + "\n"


def _parts(site: Site, plan: Plan, workdir: Path) -> Iterator[str]:
    yield f"# Campaign '{plan.campaign.name}' on site '{site.name}', in {workdir}."
    if site.guide:
        yield f"# Written from: {site.guide}"
    if plan.data is None:
        yield from _role(site, "simulate", [plan.campaign.resources.request()], workdir)
        yield from _simulation(site, plan, workdir)
    yield from _role(site, "train", [training_resources(plan.campaign.train)], workdir)
    yield from _training(site, plan, workdir)
    yield from _driver(site, workdir)
    yield from _beside(site)


def _role(site: Site, role: RoleName, sizes: Sequence[ResourceRequest], workdir: Path) -> Iterator[str]:
    """Yield the batch script of a role's blocks, or what a shell does before workers start on this machine."""
    shape = shape_of(site, role, sizes)
    variables = {CAMPAIGN_VARIABLE: _CAMPAIGN, SESSION_VARIABLE: _SESSION}
    logs = workdir / "logs" / "parsl"
    yield ""
    yield f"## {role}: {_layout(site, shape)}"
    if site.scheduler == "local":
        yield worker_setup(site, role, variables)
        yield manager_command(site, role, shape.workers, str(logs))
        return
    folder, name = f"{logs}/{_SESSION}/submit_scripts", f"{block_prefix(_CAMPAIGN, _SESSION)}-BLOCK"
    command = manager_command(site, role, shape.workers, str(logs))
    if site.scheduler == "pbs":
        from site_configs.pbs import pbs_provider, pbs_script, submission_line

        provider = pbs_provider(site, role, shape, variables)
        yield f"$ {submission_line(provider, f'{folder}/{name}')}"
        yield pbs_script(provider, command, name=name, folder=folder).rstrip()
        return
    job = block_job(
        site,
        role,
        shape,
        (),
        name=name,
        comment=comment_of(_CAMPAIGN),
        output=f"{folder}/{name}.out",
        variables=variables,
        scratch=scratch_prefix(_CAMPAIGN),
    )
    yield f"$ sbatch --parsable {folder}/{name}.sh"
    yield job_script(replace(job, command=(*job.command, *shlex.split(command)))).rstrip()


def _layout(site: Site, shape: Shape) -> str:
    """Return how many blocks, nodes, managers and workers there are."""
    if site.scheduler == "local":
        return f"{_count(shape.workers, 'worker')} on this machine"
    managers = "a manager on its first node" if shape.managers == 1 else "a manager on each node"
    return (
        f"at most {_count(shape.blocks, 'job')} of {_count(shape.nodes, 'node')} at once; each has {managers}, "
        f"with {_count(shape.workers, 'worker')}"
    )


def _simulation(site: Site, plan: Plan, workdir: Path) -> Iterator[str]:
    if plan.data is not None:
        return
    launcher = site.find_launcher("simulate", written=True)
    hosts = tuple(f"NODE{number + 1}" for number in range(plan.campaign.resources.request().nodes))
    named = hosts if len(hosts) > 1 or launcher.dialect == "srun" else ()
    lines = plan.launch_lines(
        lambda program, resources: launcher.line(program.argv, resources, mpi=program.mpi, hosts=named),
        workdir / "runs",
    )
    yield ""
    yield f"## The first of {_count(len(plan.runs), 'run')}, in its own folder inside such a job"
    yield from (shlex.join(line) for line in lines)


def _training(site: Site, plan: Plan, workdir: Path) -> Iterator[str]:
    launcher, resources = site.find_launcher("train", written=True), training_resources(plan.campaign.train)
    argv, mpi = train_command(plan.campaign.train, workdir / "training" / "JOB" / "job.json", site.python("train"))
    hosts = tuple(f"NODE{number + 1}" for number in range(resources.nodes))
    named = hosts if len(hosts) > 1 or launcher.dialect == "srun" else ()
    yield ""
    yield "## The training, inside such a job"
    yield shlex.join(launcher.line(argv, resources, mpi=mpi, hosts=named))


def _driver(site: Site, workdir: Path) -> Iterator[str]:
    """Yield the batch script of a driver that is itself a job."""
    if site.scheduler != "slurm":
        return
    yield from ("", "## The driver, where it is itself a job (surrogate submit)")
    yield job_script(driver_job(site, workdir, campaign=_CAMPAIGN, environment={})).rstrip()


def _beside(site: Site) -> Iterator[str]:
    """Yield what is not in a script."""
    storage, limits = site.storage, site.limits
    facts = [
        ("working directories belong in", site.folder("scratch")),
        ("results that stay belong in", site.folder("final")),
        ("group of working directories", storage.group),
        ("the driver is reached at", site.interchange.address or site.interchange.interface),
        ("jobs that may wait at once", limits.jobs_queued),
        ("submissions in a minute", limits.submissions_a_minute),
        ("when a campaign has ended", site.end_hook),
    ]
    known = [f"# {what}: {value}" for what, value in facts if value is not None]
    if known:
        yield from ("", "## Beside", *known)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
