"""Ending everything that belongs to a campaign, and nothing else: its driver, its jobs, its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from site_configs.scheduler import Job
from surrogate.core.claim import claims, read_claim
from surrogate.core.errors import IntegrityError, SiteError
from surrogate.core.holder import Presence
from workflows import jobs
from workflows.journal import read_state
from workflows.orphans import end_processes
from workflows.submit import drivers_of
from workflows.workspace import Workspace

_WAIT_S = 30.0
_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What was ended.

    Attributes:
        jobs: Jobs at the scheduler.
        driver: Pid of the driver on this machine, or None.
        processes: Processes on this machine.
    """

    jobs: tuple[str, ...]
    driver: int | None
    processes: int


def cancel_campaign(workdir: Path) -> Cancelled:
    """End all that belongs to a campaign; what was finished is kept, and `surrogate resume` goes on from it.

    Args:
        workdir: Its working directory.

    Raises:
        ConfigError: If no campaign lives there.
        SiteError: If the driver runs on another machine outside of any job, or the scheduler does not end the jobs.
    """
    workspace = Workspace.open(workdir)
    loaded = read_state(workspace.journal)
    if loaded is None:
        raise IntegrityError(f"There is no journal in {workspace.journal}: nothing was ever started there.")
    uid = loaded.uid
    marked = jobs.is_marked(workspace.root)
    ended: list[str] = []
    if marked:
        # The next drivers first, or they would start when the present one ends.
        ended += end_drivers(uid)
    driver = _end_driver(workspace)
    if marked:
        rest = jobs.jobs_of(uid)
        _must_be_over(jobs.end_jobs(rest))
        ended += [job.id for job in rest]
    return Cancelled(tuple(ended), driver, end_processes(uid))


def end_drivers(campaign: str) -> list[str]:
    """End the jobs that are a campaign's driver, those that wait to be first; return their numbers.

    Raises:
        SiteError: If the scheduler does not answer, or does not end them.
    """
    drivers = drivers_of(campaign)
    # Those with the largest numbers wait for the others.
    for job in sorted(drivers, key=lambda one: int(one.id), reverse=True):
        _must_be_over(jobs.end_jobs([job]))
    return [job.id for job in drivers]


def _must_be_over(left: list[Job]) -> None:
    if left:
        raise SiteError(
            f"SLURM has been asked to end {', '.join(job.id for job in left)}, and they are not over. Ask squeue."
        )


def _end_driver(workspace: Workspace) -> int | None:
    """Ask the driver to end as Ctrl-C does, and kill it when it does not; return its pid, or None when there is none.

    Raises:
        SiteError: If it runs on another machine.
    """
    standing = claims(workspace.lock)
    name = standing[max(standing)] if standing else ""
    if not name.endswith(".claim"):
        return None
    try:
        holder = read_claim(workspace.lock / name, max(standing))
    except FileNotFoundError:
        return None
    presence = holder.presence()
    if presence is Presence.GONE:
        return None
    if presence is Presence.ELSEWHERE:
        if holder.host in ("", socket.gethostname()):
            return None
        raise SiteError(
            f"{holder.describe()} drives this campaign. Its jobs were left alone. End it there with 'kill -INT "
            f"{holder.pid}', then cancel again; or wait until its heartbeat has stopped, when its machine is gone."
        )
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(holder.pid, number)
        deadline = time.monotonic() + _WAIT_S
        while holder.presence() is not Presence.GONE:
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOK_S)
        else:
            return holder.pid
    raise SiteError(f"{holder.describe()} drives this campaign and cannot be ended, not even by SIGKILL.")
