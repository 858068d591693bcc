"""A campaign whose driver is itself a job: submitted once, it submits its own successor until the campaign is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from site_configs.batch import BatchJob, job_script
from site_configs.fitting import check_account
from site_configs.load import load_site
from site_configs.scheduler import Job, Slurm
from site_configs.site import Site
from site_configs.slurm_config import lead_of
from surrogate.core.errors import ConfigError
from surrogate.core.files import write_text
from workflows import jobs, kept_site
from workflows.checked_plan import check_site, plan_campaign
from workflows.config import CampaignConfig
from workflows.driver import driving, prepare
from workflows.manners import share_with_group, umask_of
from workflows.progress import Progress
from workflows.stopping import Stopping
from workflows.workspace import Workspace

_PASSED_ON = ("SURROGATE_ACCOUNT", "SURROGATE_REGISTRY", "SURROGATE_CACHE")


@dataclass(frozen=True, slots=True)
class Submitted:
    """A driver that waits in the queue.

    Attributes:
        job: Its number.
        workdir: Working directory of the campaign.
        script: Its batch script.
    """

    job: str
    workdir: Path
    script: Path


def script_of(workspace: Workspace) -> Path:
    """Return where the driver's batch script lies."""
    return workspace.root / "driver" / "driver.sh"


def driver_job(
    site: Site,
    workdir: Path,
    *,
    campaign: str,
    registry: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> BatchJob:
    """Return the job of a driver: one core, warned ahead of its end.

    Args:
        site: The machine.
        workdir: Working directory of the campaign, absolute.
        campaign: Identity of the campaign.
        registry: The registry, or None for the default.
        environment: Where settings stand that the driver needs, too.
    """
    partition = site.partition("drive")
    own = {name: environment[name] for name in _PASSED_ON if name in environment}
    options = ("--registry", str(registry)) if registry is not None else ()
    return BatchJob(
        name=jobs.driver_name(campaign),
        comment=jobs.comment_of(campaign),
        output=str(workdir / "logs" / "driver-%j.out"),
        walltime_s=partition.walltime_s,
        command=(site.python("drive"), "-P", "-m", "workflows.driver_job", str(workdir), *options),
        cores=1,
        # It computes next to nothing; a partition of its own may have other rules.
        exclusive=partition.exclusive if site.role("drive").partition is not None else False,
        partition=partition.name,
        account=partition.account,
        qos=partition.qos,
        constraint=partition.constraint,
        signal=f"B:USR1@{lead_of(partition.walltime_s)}",
        directives=partition.directives,
        setup=site.setup_lines("drive"),
        variables=tuple({**site.variables("drive"), **own}.items()),
    )


def submit_campaign(
    campaign: CampaignConfig, site_name: str, workdir: Path, *, registry: Path | None = None, progress: Progress
) -> Submitted:
    """Submit a driver that brings a campaign to its verdict, in as many jobs as it takes.

    Everything that can be checked is checked here, before anything waits in a queue.

    Args:
        campaign: The campaign.
        site_name: Name or file of the site.
        workdir: The working directory; made when missing.
        registry: The registry, or None for the default.
        progress: What a person is told.

    Raises:
        InputError: If something that was asked cannot be done.
        LockError: If a driver is at work.
        SubmissionRefusedError: With sbatch's own words.
        SiteError: If the scheduler does not answer.
    """
    named = kept_site.site_name(site_name, campaign)
    site = load_site(named)
    if site.scheduler != "slurm":
        raise ConfigError(
            f"Site '{site.name}' has no SLURM that a driver could be submitted to. Use `surrogate run` there, or name "
            "another --site."
        )
    plan = plan_campaign(campaign, workdir)
    check_site(plan, site)
    check_account(site, "drive")
    with umask_of(site):
        workspace = prepare(plan, workdir, named)
        share_with_group(site, workspace.root)
    with driving(campaign, workspace, progress, Stopping()) as driver:
        uid = driver.journal.uid
        waiting = [job.id for job in jobs.jobs_of(uid) if job.name == jobs.driver_name(uid)]
        if waiting:
            raise ConfigError(
                f"A driver of this campaign is in the queue already: job {', '.join(waiting)}. "
                f"`surrogate cancel {workdir}` takes it out."
            )
        jobs.mark(workspace.root)
    path = script_of(workspace)
    path.parent.mkdir(parents=True, exist_ok=True)
    job = driver_job(site, workspace.root, campaign=uid, registry=None if registry is None else registry.resolve())
    write_text(path, job_script(job))
    number = jobs.patiently(lambda: Slurm().submit(path))
    return Submitted(number, workspace.root, path)


def successor(workspace: Workspace, slurm: Slurm | None = None) -> str:
    """Submit the driver that goes on when this one, a job, has ended in whatever way; return its number.

    Raises:
        SiteError: If SLURM refuses it, or does not answer.
    """
    own = jobs.own_job()
    options = [f"--dependency=afterany:{own}"] if own is not None else []
    scheduler = slurm or Slurm()
    return jobs.patiently(lambda: scheduler.submit(script_of(workspace), *options))


def drivers_of(campaign: str) -> list[Job]:
    """Return the jobs that are a campaign's driver or wait to be, this very job left out."""
    return [job for job in jobs.jobs_of(campaign) if job.name == jobs.driver_name(campaign)]
