"""Speaking to SLURM by its own commands: bounded in time, from a clean environment, answers told apart from silence."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import SiteError
from surrogate.core.process import scrubbed_environment

COMMENT = "surrogate:"
"""How the comment of every job of ours begins; the campaign's identity follows."""

FINISHED = frozenset(
    {"CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "TIMEOUT", "REVOKED", "OUT_OF_MEMORY",
     "PREEMPTED", "SPECIAL_EXIT"}
)  # fmt: skip
"""States from which a job does not come back by itself."""
WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD"})
"""States of a job that has no node yet."""

_SILENT = re.compile(
    r"Unable to contact slurm controller|Socket timed out|Connection (?:refused|reset|timed out)|Zero Bytes"
    r"|[Cc]ommunication connection failure|Transport endpoint|in standby mode"
    r"|[Tt]emporarily (?:un\w+ to|down|unavailable)"
    r"|Slurm is down|try again|Unexpected message received|Protocol authentication error|Munge|Failed to contact"
)
_FULL = re.compile(
    r"Max(?:imum)? ?(?:Submit)?Jobs?\w*(?:Limit|Count)|SubmitJobs?\w*Limit|[Mm]aximum.*jobs? (?:count|limit)"
)
_UNKNOWN_JOB = re.compile(r"Invalid job id")
_NO_ACCOUNTING = re.compile(
    r"accounting storage is disabled|Slurm accounting storage|slurm_persist_conn|slurmdbd", re.IGNORECASE
)
_PREFIX = re.compile(r"^(?:sbatch|squeue|scancel|scontrol|srun): (?:error: )?", re.MULTILINE)


class SchedulerSilentError(SiteError):
    """SLURM did not answer: what it was asked may be done later, or may be done already."""


class SubmissionRefusedError(SiteError):
    """SLURM will never take this job; the message is what sbatch said."""


class QueueFullError(SiteError):
    """SLURM takes no more jobs of this user at the moment; the message is what sbatch said."""


@dataclass(frozen=True, slots=True)
class Job:
    """What SLURM says of a job.

    Attributes:
        id: Its number.
        state: In SLURM's own word, such as `RUNNING`.
        reason: Why it waits or ended; may be empty.
        name: Its name.
        comment: Its comment.
    """

    id: str
    state: str
    reason: str = ""
    name: str = ""
    comment: str = ""

    @property
    def finished(self) -> bool:
        """Whether it is over for good."""
        return self.state in FINISHED


class Slurm:
    """The scheduler of this machine.

    Whatever an enclosing job said in the environment is not told on: a job that is submitted from inside an allocation
    is the same as one from a login node.
    """

    def __init__(self, timeout_s: float = 30.0) -> None:
        """Bound every command.

        Args:
            timeout_s: Seconds after which a command counts as unanswered.
        """
        self._timeout_s = timeout_s
        self._accounting: bool | None = None

    def submit(self, script: Path, *options: str) -> str:
        """Submit a batch script and return the job's number.

        Args:
            script: The script.
            *options: Options of sbatch beside those in the script.

        Raises:
            SubmissionRefusedError: If SLURM refuses it for good.
            QueueFullError: If it takes no more jobs for now.
            SchedulerSilentError: If it does not answer.
        """
        code, out, words = self._run("sbatch", "--parsable", *options, str(script))
        job = out.strip().partition(";")[0]
        if code == 0 and job.isdecimal():
            return job
        words = words or out.strip() or f"sbatch ended with status {code} and said nothing"
        if _SILENT.search(words):
            raise SchedulerSilentError(words)
        if _FULL.search(words):
            raise QueueFullError(words)
        raise SubmissionRefusedError(words)

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return what SLURM says of these jobs; those that it does not know any more are missing.

        Raises:
            SchedulerSilentError: If it does not answer.
        """
        if not ids:
            return {}
        found = {job.id: job for job in self._squeue(f"--jobs={','.join(ids)}", "--states=all")}
        forgotten = [one for one in ids if one not in found]
        return found | {job.id: job for job in self._accounted(forgotten)}

    def tagged(self, comment: str) -> list[Job]:
        """Return this user's jobs with this comment that are not over.

        Raises:
            SchedulerSilentError: If SLURM does not answer.
        """
        return [job for job in self._squeue(f"--user={os.getuid()}") if job.comment == comment and not job.finished]

    def named(self, name: str) -> str | None:
        """Return the number of this user's job of this name, or None.

        Raises:
            SchedulerSilentError: If SLURM does not answer.
        """
        found = list(self._squeue(f"--user={os.getuid()}", f"--name={name}", "--states=all"))
        return found[-1].id if found else None

    def cancel(self, ids: Sequence[str]) -> None:
        """End jobs; those that are over already are passed over.

        Raises:
            SchedulerSilentError: If SLURM does not answer.
            SiteError: If it refuses.
        """
        if not ids:
            return
        code, _, words = self._run("scancel", "--quiet", *ids)
        if code != 0 and not _UNKNOWN_JOB.search(words):
            raise SchedulerSilentError(words) if _SILENT.search(words) else SiteError(f"scancel said: {words}")

    def warn(self, ids: Sequence[str], signal: str) -> None:
        """Send a signal to the batch scripts of jobs.

        Raises:
            SchedulerSilentError: If SLURM does not answer.
        """
        if not ids:
            return
        code, _, words = self._run("scancel", "--quiet", "--batch", f"--signal={signal}", *ids)
        if code != 0 and _SILENT.search(words):
            raise SchedulerSilentError(words)

    def _squeue(self, *options: str) -> Iterable[Job]:
        """Return jobs as squeue lists them."""
        code, out, words = self._run("squeue", "--noheader", "--all", "--format=%i|%T|%r|%j|%k", *options)
        if code != 0:
            if _UNKNOWN_JOB.search(words):
                return []
            raise SchedulerSilentError(words or f"squeue ended with status {code} and said nothing")
        return [Job(*_fields(line)) for line in out.splitlines() if line.count("|") >= 4]

    def _accounted(self, ids: Sequence[str]) -> Iterable[Job]:
        """Return what the accounting remembers of jobs that squeue has forgotten; nothing where there is none."""
        if not ids or self._accounting is False:
            return []
        try:
            code, out, words = self._run(
                "sacct", "--allocations", "--noheader", "--parsable2", "--format=JobID,State", f"--jobs={','.join(ids)}"
            )
        except SiteError:
            self._accounting = False
            return []
        if code != 0:
            if self._accounting is None and _NO_ACCOUNTING.search(words):
                self._accounting = False
            return []
        self._accounting = True
        lines = [line.split("|") for line in out.splitlines() if line.count("|") == 1]
        # `CANCELLED by 1000`, and `CANCELLED+` where the column was too narrow.
        return [Job(number, state.split()[0].rstrip("+")) for number, state in lines if state.strip()]

    def _run(self, *words: str) -> tuple[int, str, str]:
        """Return the exit status of a command, what it printed, and what it complained of.

        Raises:
            SchedulerSilentError: If it does not end in time.
            SiteError: If it is not there.
        """
        environment = scrubbed_environment(os.environ, keep=("SLURM_CONF",))
        try:
            done = subprocess.run(
                words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=self._timeout_s, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise SiteError(
                f"The command '{words[0]}' was not found. A site with scheduler = \"slurm\" is used from a machine "
                "that has SLURM's commands: a login node, or a job."
            ) from error
        except subprocess.TimeoutExpired as error:
            raise SchedulerSilentError(f"{words[0]} did not answer within {self._timeout_s:.0f} s") from error
        return done.returncode, done.stdout, _PREFIX.sub("", done.stderr.strip())


def _fields(line: str) -> list[str]:
    """Return id, state, reason, name and comment of a line of squeue; a comment may hold the separator."""
    return [field if field not in ("(null)", "None") else "" for field in line.split("|", 4)]
