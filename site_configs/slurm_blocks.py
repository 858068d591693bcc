"""Parsl's blocks as SLURM jobs: a provider that takes no silence for an end.

Parsl's own SlurmProvider is not used: it takes a job that squeue has forgotten for a completed one, looks once a
minute, hands everything of an enclosing job on to sbatch, and keeps sbatch's words to itself. What is here answers to
the same calls of Parsl's.
"""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from parsl.jobs.states import JobState, JobStatus
from parsl.launchers import SimpleLauncher
from parsl.providers.cluster_provider import ClusterProvider

from site_configs.scheduler import WAITING, Job, SchedulerSilentError, Slurm
from surrogate.core.errors import SiteError
from surrogate.core.files import write_text

logger = logging.getLogger("parsl.surrogate")

# A controller that was just restarted may not list a job yet.
FORGOTTEN_AFTER = 3
_STATES = {
    "COMPLETED": JobState.COMPLETED,
    "CANCELLED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "PREEMPTED": JobState.TIMEOUT,
}
_STOPPED = ("SUSPENDED", "STOPPED")


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
