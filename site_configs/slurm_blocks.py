"""Parsl's blocks as SLURM jobs: a provider that takes no silence for an end, an executor that submits gently.

Parsl's own SlurmProvider is not used: it takes a job that squeue has forgotten for a completed one, looks once a
minute, hands everything of an enclosing job on to sbatch, and keeps sbatch's words to itself. What is here answers to
the same calls of Parsl's.
"""

from __future__ import annotations

import logging
import shlex
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from parsl.jobs.states import JobState, JobStatus
from parsl.launchers import SimpleLauncher
from parsl.providers.cluster_provider import ClusterProvider

from site_configs.executor import ExecutorTroubleError, SupervisedExecutor
from site_configs.manager import block_of
from site_configs.scheduler import (
    WAITING,
    Job,
    QueueFullError,
    SchedulerSilentError,
    Slurm,
    SubmissionRefusedError,
)
from surrogate.core.errors import SiteError
from surrogate.core.files import write_text
from surrogate.core.outcome import FailureKind

logger = logging.getLogger("parsl.surrogate")

# A controller that was just restarted may not list a job yet.
FORGOTTEN_AFTER = 3
SILENT_LIMIT_S = 1800.0
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 60.0
_MINUTE_S = 60.0
_STATES = {
    "COMPLETED": JobState.COMPLETED,
    "CANCELLED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "PREEMPTED": JobState.TIMEOUT,
}
_STOPPED = ("SUSPENDED", "STOPPED")
_ENDS = {
    "TIMEOUT": (FailureKind.WALLTIME, "reached its walltime"),
    "DEADLINE": (FailureKind.WALLTIME, "reached its deadline"),
    "PREEMPTED": (FailureKind.PREEMPTED, "was preempted"),
    "CANCELLED": (FailureKind.INTERRUPTED, "was cancelled"),
    "NODE_FAIL": (FailureKind.NODE_LOST, "lost a node"),
}
WARNING = "USR1"


class RefusedError(ExecutorTroubleError):
    """SLURM refuses the jobs of this site; the message is a sentence with sbatch's own words."""


class SilentError(ExecutorTroubleError):
    """SLURM has not answered for too long; the message is a sentence."""


class SlurmBlocks(ClusterProvider):
    """Blocks as jobs of SLURM."""

    def __init__(
        self,
        script: Callable[[str, tuple[str, ...], str], str],
        *,
        prefix: str,
        nodes: int,
        blocks: int,
        poll_s: float,
        slurm: Slurm | None = None,
    ) -> None:
        """Describe the blocks.

        Args:
            script: (name, command, output file) → batch script.
            prefix: How the names of the jobs begin; unique to this session.
            nodes: Nodes of a block.
            blocks: Blocks at once, at most.
            poll_s: Seconds between two looks at the queue.
            slurm: The scheduler.
        """
        super().__init__("slurm", nodes, 1, 0, blocks, 1.0, "01:00:00", SimpleLauncher())
        self.slurm = slurm or Slurm()
        self.silent_since: float | None = None
        self._script, self._prefix, self._poll_s = script, prefix, poll_s
        self._began: set[str] = set()
        self._missed: dict[str, int] = {}
        self._last: dict[str, Job] = {}
        self._unanswered: set[str] = set()

    @property
    def status_polling_interval(self) -> float:
        """Seconds between two looks."""
        return self._poll_s

    def submit(self, command: str, tasks_per_node: int, job_name: str = "block") -> str:
        """Submit one block and return its job.

        Args:
            command: What starts a manager.
            tasks_per_node: Not used: the script says how many managers there are.
            job_name: Parsl's name of the block.

        Raises:
            SubmissionRefusedError, QueueFullError, SchedulerSilentError: As `Slurm.submit`.
        """
        del tasks_per_node
        folder = Path(str(self.script_dir)).absolute()
        name = f"{self._prefix}-{job_name.rpartition('-')[2]}"
        output, path = folder / f"{name}.out", folder / f"{name}.sh"
        write_text(path, self._script(name, tuple(shlex.split(command)), str(output)), durable=False)
        job = self._submit(name, path)
        self.resources[job] = {"job_id": job, "status": self._status_of(JobState.PENDING, output), "output": output}
        return job

    def _submit(self, name: str, path: Path) -> str:
        """Submit a script, unless that was done before and only the answer was lost."""
        try:
            job = self.slurm.named(name) if name in self._unanswered else None
            job = job or self.slurm.submit(path)
        except SchedulerSilentError:
            self._unanswered.add(name)
            self._silent()
            raise
        self._unanswered.discard(name)
        self.silent_since = None
        return job

    def _status(self) -> None:
        """Ask SLURM for the blocks that are not over; what it does not say stays as it was."""
        waiting = [job for job, entry in self.resources.items() if not entry["status"].terminal]
        if not waiting:
            return
        try:
            known = self.slurm.jobs(waiting)
        except SchedulerSilentError as silence:
            self._silent()
            logger.warning("SLURM does not answer: %s", silence)
            return
        except SiteError as error:
            logger.warning("SLURM cannot be asked: %s", error)
            return
        self.silent_since = None
        for job in waiting:
            state, message = self._judge(job, known.get(job))
            if state is not None:
                self.resources[job]["status"] = self._status_of(state, self.resources[job]["output"], message)

    def _judge(self, number: str, job: Job | None) -> tuple[JobState | None, str]:
        """Return the state of a block and what is to be said of it; None leaves it as it was."""
        if job is None:
            self._missed[number] = self._missed.get(number, 0) + 1
            if self._missed[number] < FORGOTTEN_AFTER:
                return None, ""
            return JobState.CANCELLED, f"SLURM does not know the job {number} any more."
        self._missed.pop(number, None)
        self._last[number] = job
        if job.finished:
            return _STATES.get(job.state, JobState.FAILED), f"SLURM says of job {number}: {job.state} {job.reason}"
        if job.state in WAITING and number not in self._began:
            return JobState.PENDING, job.reason
        self._began.add(number)
        if job.state in WAITING or job.state in _STOPPED:
            return self._give_up(number, "was suspended" if job.state in _STOPPED else "was put back into the queue")
        return JobState.RUNNING, ""

    def _give_up(self, number: str, what: str) -> tuple[JobState | None, str]:
        """End a job whose managers are lost although the job is not; another block takes its place."""
        try:
            self.slurm.cancel([number])
        except SiteError as error:
            logger.warning("Job %s cannot be cancelled: %s", number, error)
            return None, ""
        return JobState.TIMEOUT, f"Job {number} {what} by SLURM; it was cancelled, and another takes its place."

    def cancel(self, job_ids: Sequence[str]) -> list[bool]:
        """End blocks.

        Args:
            job_ids: Their jobs.

        Returns:
            For each, whether SLURM has taken it to its knowledge.
        """
        try:
            self.slurm.cancel(list(job_ids))
        except SiteError as error:
            logger.warning("Jobs %s cannot be cancelled: %s", ", ".join(job_ids), error)
            return [False] * len(job_ids)
        for job in job_ids:
            entry = self.resources[job]
            if not entry["status"].terminal:
                entry["status"] = self._status_of(JobState.CANCELLED, entry["output"])
        return [True] * len(job_ids)

    def word_on(self, number: str) -> Job | None:
        """Return what SLURM last said of a job."""
        return self._last.get(number)

    def _silent(self) -> None:
        if self.silent_since is None:
            self.silent_since = time.monotonic()

    @staticmethod
    def _status_of(state: JobState, output: Path, message: str = "") -> JobStatus:
        return JobStatus(state, message or None, stdout_path=str(output))


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
