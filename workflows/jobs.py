"""A campaign's jobs at a scheduler: found by their tag, ended, and waited for with a bound."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from site_configs.scheduler import COMMENT, Job, SchedulerSilentError, Slurm
from surrogate.core.errors import SiteError
from surrogate.core.files import write_text

PATIENCE_S = 120.0
_LOOK_S = 0.5
_DRIVER = "driver"
_MARK = "slurm"
T = TypeVar("T")


def comment_of(campaign: str) -> str:
    """Return the comment of every job of a campaign."""
    return f"{COMMENT}{campaign}"


def block_prefix(campaign: str, session: str) -> str:
    """Return how the names of the jobs of one session begin."""
    return f"sg-{campaign[:8]}-{session[:8]}"


def driver_name(campaign: str) -> str:
    """Return the name of the jobs that are a campaign's driver."""
    return f"sg-{campaign[:8]}-{_DRIVER}"


def mark(workdir: Path) -> None:
    """Note in a working directory that jobs of it may be at a scheduler."""
    (workdir / "logs").mkdir(parents=True, exist_ok=True)
    write_text(workdir / "logs" / _MARK, "Jobs of this campaign were submitted to SLURM.\n", durable=False)


def is_marked(workdir: Path) -> bool:
    """Tell whether jobs of a working directory may be at a scheduler."""
    return (workdir / "logs" / _MARK).is_file()


def patiently(ask: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Ask a scheduler again until it answers.

    Args:
        ask: The question.
        patience_s: The longest time.

    Raises:
        SiteError: If it stays silent; with its last words.
    """
    deadline, pause = time.monotonic() + patience_s, _LOOK_S
    while True:
        try:
            return ask()
        except SchedulerSilentError as silence:
            if time.monotonic() + pause > deadline:
                raise SiteError(
                    f"SLURM has not answered for {patience_s:.0f} s, so that nobody knows which jobs of this campaign "
                    f"still run. It last said: {silence}. Try again when it is back."
                ) from silence
        time.sleep(pause)
        pause = min(2 * pause, 5.0)


def jobs_of(campaign: str, slurm: Slurm | None = None, patience_s: float = PATIENCE_S) -> list[Job]:
    """Return the jobs of a campaign that are not over, this very job left out.

    Args:
        campaign: Identity of the campaign.
        slurm: The scheduler.
        patience_s: How long it is asked.

    Raises:
        SiteError: If SLURM does not answer.
    """
    scheduler = slurm or Slurm()
    found = patiently(lambda: scheduler.tagged(comment_of(campaign)), patience_s)
    return [job for job in found if job.id != own_job()]


def blocks_of(campaign: str, slurm: Slurm | None = None) -> list[Job]:
    """Return those jobs of a campaign that execute its runs and trainings; the driver's are left out."""
    return [job for job in jobs_of(campaign, slurm) if job.name != driver_name(campaign)]


def end_jobs(jobs: list[Job], slurm: Slurm | None = None, patience_s: float = PATIENCE_S) -> list[Job]:
    """Cancel jobs and wait until they are over.

    Args:
        jobs: The jobs.
        slurm: The scheduler.
        patience_s: The longest time for each of the two.

    Returns:
        Those that are not over even then.

    Raises:
        SiteError: If SLURM refuses, or does not answer.
    """
    scheduler, ids = slurm or Slurm(), [job.id for job in jobs]
    if not ids:
        return []
    patiently(lambda: scheduler.cancel(ids), patience_s)
    deadline = time.monotonic() + patience_s
    while True:
        known = patiently(lambda: scheduler.jobs(ids), patience_s)
        left = [job for job in jobs if job.id in known and not known[job.id].finished]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(_LOOK_S)


def own_job(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the number of the job that this process is part of, or None."""
    return environment.get("SLURM_JOB_ID")
