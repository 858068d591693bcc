"""What a killed driver left running: its interchange, managers, workers, and the runs that they execute."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from site_configs.scheduler import WAITING
from surrogate.core.errors import SiteError
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged, kill_tree, start_time, sweep_shared_memory
from surrogate.core.proctable import process_table
from workflows import jobs
from workflows.adoption import HANDOVER_S, wait_for_workers
from workflows.session import scratch_prefix

_INTERCHANGE = "site_configs.interchange"
# A worker may start one more program between the look and the kill.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Settlement:
    """What was found and done.

    Attributes:
        found: Processes of the campaign that were alive.
        waited_for: Runs that were being executed and were given time.
        finished: Those of them whose execution came to its end.
        killed: Processes that were ended.
        jobs: Jobs at a scheduler that were ended.
        seconds: How long all of it took.
    """

    found: int = 0
    waited_for: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    killed: int = 0
    jobs: int = 0
    seconds: float = 0.0


def settle(
    campaign: str,
    workdir: Path,
    *,
    wait_s: float = 30.0,
    run_ids: Iterable[str] | None = None,
) -> Settlement:
    """Bring everything that an earlier driver of this campaign left to an end; the caller holds the campaign's lock.

    The interchange goes first, so that nothing new begins. Runs that are being executed get time to finish, so that
    their work is adopted and not done twice. Then the rest is ended: this machine's processes, and the jobs at a
    scheduler, wherever they are.

    Args:
        campaign: Identity of the campaign.
        workdir: Its working directory.
        wait_s: The longest time that runs get to finish.
        run_ids: Runs that may be in execution; every run with a lock when None.

    Raises:
        SiteError: If the scheduler does not answer, or does not end the jobs.
    """
    begin = time.monotonic()
    processes = _tagged(campaign)
    blocks = jobs.blocks_of(campaign) if jobs.is_marked(workdir) else []
    for pid in processes:
        if _INTERCHANGE in _command(pid):
            kill_tree(pid, grace_s=0.5)
    busy = processes or any(block.state not in WAITING for block in blocks)
    first, last = wait_for_workers(workdir, run_ids, wait_s, HANDOVER_S) if busy else (set(), set())
    left = jobs.end_jobs(blocks)
    if left:
        raise SiteError(
            f"SLURM has been asked to end the jobs {', '.join(job.id for job in left)} of an earlier driver, and they "
            "are not over. Resume when squeue does not list them any more."
        )
    killed = end_processes(campaign)
    return Settlement(
        found=len(processes),
        waited_for=tuple(sorted(first)),
        finished=tuple(sorted(first - last)),
        killed=killed,
        jobs=len(blocks),
        seconds=time.monotonic() - begin,
    )


def end_processes(campaign: str) -> int:
    """End all processes of a campaign on this machine and remove their temporary files; this one is spared.

    Args:
        campaign: Identity of the campaign.

    Returns:
        How many there were.
    """
    ended: set[tuple[int, int]] = set()
    for _ in range(_ROUNDS):
        processes = _tagged(campaign)
        if not processes:
            break
        ended |= set(processes.items())
        for pid, start in processes.items():
            kill_tree(pid, start=start)
    for folder in Path(tempfile.gettempdir()).glob(f"{scratch_prefix(campaign)}*"):
        shutil.rmtree(folder, ignore_errors=True)
    sweep_shared_memory()
    return len(ended)


def _tagged(campaign: str) -> dict[int, int]:
    """Return pid → start time of the campaign's processes, this process and those it descends from left out."""
    table = process_table()
    own, pid = {os.getpid()}, os.getpid()
    while pid in table and table[pid].parent not in own:
        pid = table[pid].parent
        own.add(pid)
    found = {pid: start_time(pid) for pid in find_tagged(CAMPAIGN_VARIABLE, campaign) if pid not in own}
    return {pid: start for pid, start in found.items() if start is not None}


def _command(pid: int) -> str:
    """Return the command line of a process, or an empty string when it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""
