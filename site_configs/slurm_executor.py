"""Parsl's executor on SLURM: it submits blocks gently, lets retired ones go, and says how each ended."""

from __future__ import annotations

import logging
import time
from collections import deque

from parsl.jobs.states import JobState

from site_configs.executor import ExecutorTroubleError, SupervisedExecutor
from site_configs.manager import block_of
from site_configs.scheduler import QueueFullError, SchedulerSilentError, SubmissionRefusedError
from surrogate.core.errors import SiteError
from surrogate.core.outcome import FailureKind

logger = logging.getLogger("parsl.surrogate")

SILENT_LIMIT_S = 1800.0
WARNING = "USR1"
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 60.0
_MINUTE_S = 60.0
_ENDS = {
    "TIMEOUT": (FailureKind.WALLTIME, "reached its walltime"),
    "DEADLINE": (FailureKind.WALLTIME, "reached its deadline"),
    "PREEMPTED": (FailureKind.PREEMPTED, "was preempted"),
    "CANCELLED": (FailureKind.INTERRUPTED, "was cancelled"),
    "NODE_FAIL": (FailureKind.NODE_LOST, "lost a node"),
}


class RefusedError(ExecutorTroubleError):
    """SLURM refuses the jobs of this site; the message is a sentence with sbatch's own words."""


class SilentError(ExecutorTroubleError):
    """SLURM has not answered for too long; the message is a sentence."""


class SlurmExecutor(SupervisedExecutor):
    """The executor on SLURM: refused once, it stops; a full queue and a silent scheduler are waited for."""

    jobs_queued: int | None = None
    submissions_a_minute: int | None = None
    site_name: str = ""

    def __init__(self, **settings: object) -> None:
        """Take what Parsl's executor takes."""
        super().__init__(**settings)
        self._wait_s = 0.0
        self._not_before = 0.0
        self._untaken = ""
        self._submitted: deque[float] = deque()
        self._buried: set[str] = set()
        self._retiring: set[str] = set()

    def scale_out_facade(self, n: int) -> list[str]:
        """Submit blocks, as many as the site's limits and the queue allow just now.

        Args:
            n: How many are wanted.

        Returns:
            The blocks that were submitted.
        """
        made: list[str] = []
        while len(made) < n and not self.bad_state_is_set and self._may_submit():
            # A block that was not taken yet keeps its number: its submission may have got through unanswered.
            block, self._untaken = self._untaken or str(self._block_id_counter.get_id()), ""
            try:
                job = self._launch_block(block)
            except (QueueFullError, SchedulerSilentError) as error:
                self._wait_s = min(_LONGEST_WAIT_S, 2 * self._wait_s or _FIRST_WAIT_S)
                self._not_before = time.monotonic() + self._wait_s
                self._untaken = block
                logger.warning("A block cannot be submitted just now: %s", error)
                break
            except (SubmissionRefusedError, SiteError) as error:
                self.set_bad_state_and_fail_all(RefusedError(_refusal(self.site_name, error)))
                break
            self._wait_s = 0.0
            self._submitted.append(time.monotonic())
            self.blocks_to_job_id[block], self.job_ids_to_block[job] = job, block
            self._status[block] = self.provider.resources[job]["status"]
            made.append(block)
        return made

    def _may_submit(self) -> bool:
        """Tell whether the site's limits allow one more submission now."""
        now = time.monotonic()
        while self._submitted and self._submitted[0] < now - _MINUTE_S:
            self._submitted.popleft()
        pending = sum(status.state == JobState.PENDING for status in self._status.values())
        return (
            now >= self._not_before
            and (self.submissions_a_minute is None or len(self._submitted) < self.submissions_a_minute)
            and (self.jobs_queued is None or pending < self.jobs_queued)
        )

    def poll_facade(self) -> None:
        """Look at the blocks; tell the interchange at once which ones are gone, and let retired ones go."""
        before = self._last_poll_time
        super().poll_facade()
        if self._last_poll_time == before or self.bad_state_is_set:
            return
        for block, status in list(self._status.items()):
            if status.terminal and block not in self._buried:
                self._buried.add(block)
                self._retiring.discard(block)
                self.bury(block)
        self._let_go()
        silent = self.provider.silent_since
        if silent is not None and time.monotonic() - silent > SILENT_LIMIT_S and not self.connected_managers():
            self.set_bad_state_and_fail_all(SilentError(_silence(self.site_name, SILENT_LIMIT_S)))

    def retire(self, block: str) -> None:
        """Give a block nothing more to do; it is ended, and replaced, as soon as it is idle.

        Args:
            block: Number of the block.
        """
        if block not in self._retiring and block in self.blocks_to_job_id:
            self._retiring.add(block)
            self._hold_block(block)

    def _let_go(self) -> None:
        """End retired blocks that are idle."""
        if not self._retiring:
            return
        busy = {manager["block_id"] for manager in self.connected_managers() if manager["tasks"]}
        idle = [block for block in self._retiring if block not in busy]
        if idle and all(self.provider.cancel([self.blocks_to_job_id[block] for block in idle])):
            self._retiring.difference_update(idle)

    def warn(self) -> bool:
        """Send all blocks what they receive ahead of their end; return whether SLURM took it."""
        running = [self.blocks_to_job_id[block] for block, _ in self._alive_blocks()]
        try:
            self.provider.slurm.warn(running, WARNING)
        except SiteError as error:
            logger.warning("Jobs %s cannot be warned: %s", ", ".join(running), error)
            return False
        return True

    def end_of(self, manager: str) -> tuple[FailureKind, str]:
        """Return how the job of a manager ended, and a sentence; an empty one while it is not over.

        Args:
            manager: Name of the manager.
        """
        number = self.blocks_to_job_id.get(block_of(manager), "")
        job = self.provider.word_on(number)
        if job is None or not job.finished:
            return FailureKind.NODE_LOST, ""
        kind, how = _ENDS.get(job.state, (FailureKind.NODE_LOST, f"ended ({job.state})"))
        return kind, f"The SLURM job {number} that executed the run {how}."


def _refusal(site: str, error: Exception) -> str:
    """Return a sentence with SLURM's own words."""
    words = " ".join(str(error).split()).rstrip(".")
    return (
        f"SLURM refuses the jobs of site '{site}'. It says: {words}. Correct the partition, account, walltime or nodes "
        "in the site, then resume; nothing was charged."
    )


def _silence(site: str, seconds: float) -> str:
    return (
        f"SLURM has not answered for {seconds / 60.0:.0f} minutes, and none of the workers on site '{site}' can be "
        "reached. Resume when it is back; nothing was charged."
    )
