"""Why a program failed: known failures, each with its kind, a sentence and what to do about it."""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Iterable
from typing import NamedTuple

from sim_wrappers.protocol import KnownError
from surrogate.core.outcome import FailureKind


class Diagnosis(NamedTuple):
    """What is known of a failure.

    Attributes:
        kind: What went wrong.
        message: Sentences for a scientist.
        remedy: Name of a remedy of the adapter's, or None.
        remedy_text: What a person can do; may be empty.
        retryable: Whether running it again (with the remedy) can help.
    """

    kind: FailureKind
    message: str
    remedy: str | None
    remedy_text: str
    retryable: bool


FULL = (errno.ENOSPC, errno.EDQUOT)
"""Numbers of the system's errors that mean a full disk or a spent quota."""

_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG)
_SITE = "Look at the site's scheduler; the run is started again by itself."
INSTALL = "Run `surrogate doctor` on the machine that executes runs, and install what it misses."
_MPI = "Run `surrogate doctor`: it says which mpiexec belongs to the MPI library in use."
_MEMORY = "Ask for more memory or fewer ranks a node, or make the problem smaller."

GENERAL: tuple[KnownError, ...] = (
    KnownError(
        r"DUE TO NODE FAILURE|NODE_FAIL|assert \(!closed\)|proxy .* unexpectedly closed"
        r"|[Ll]ost (?:communication|connection) (?:with|to) (?:a remote|the) (?:daemon|node)",
        FailureKind.NODE_LOST, "The node was lost while the run was on it.", remedy_text=_SITE,
    ),
    KnownError(
        r"DUE TO TIME LIMIT", FailureKind.WALLTIME, "The job that held the run reached its walltime.",
        remedy_text="Ask for a longer walltime of blocks in the site file when this happens often.",
    ),
    KnownError(r"DUE TO PREEMPTION", FailureKind.PREEMPTED, "The scheduler preempted the job.", remedy_text=_SITE),
    KnownError(
        r"(?:JOB|STEP) [\d.]+ ON \S+ CANCELLED", FailureKind.INTERRUPTED, "The job was cancelled.", remedy_text=_SITE
    ),
    KnownError(
        r"No space left on device|Disk quota exceeded|ENOSPC|EDQUOT", FailureKind.DISK_FULL, "The disk is full.",
        remedy_text="Free space or raise the quota, then resume the campaign.",
    ),
    KnownError(
        r"[Oo]ut [Oo]f [Mm]emory|oom[-_]kill|OOM Killed|MemoryError|std::bad_alloc|[Cc]annot allocate memory"
        r"|insufficient virtual memory|OUT_OF_MEMORY",
        FailureKind.OUT_OF_MEMORY, "The program ran out of memory.", remedy_text=_MEMORY,
    ),
    KnownError(
        r"WORLD SIZE: ", FailureKind.LAUNCHER,
        "The ranks did not find each other: every program saw another number of ranks than were launched.",
        remedy_text=_MPI, retryable=False,
    ),
    KnownError(
        r"not enough slots available|already filled|Requested node configuration is not available"
        r"|More processors requested than permitted",
        FailureKind.LAUNCHER, "The launcher finds fewer cores than ranks were asked for.",
        remedy_text="Ask for fewer ranks, or correct the cores in the site file.", retryable=False,
    ),
    KnownError(
        r"execvp error on file|could not (?:find|access) (?:the )?executable|couldn't find the executable"
        r"|execve\(\): .*No such file",
        FailureKind.LAUNCHER, "The launcher did not find the program.", remedy_text=INSTALL, retryable=False,
    ),
    KnownError(
        r"error while loading shared libraries: (?P<what>\S+?):", FailureKind.LAUNCHER,
        "A shared library is missing: {what}.", remedy_text=INSTALL, retryable=False,
    ),
    KnownError(
        r"Unable to (?:create step|confirm allocation|allocate resources)|[Jj]ob credential|PMI\w*_Init failed"
        r"|HYDT?_\w+ .*(?:error|failed)",
        FailureKind.LAUNCHER, "The launcher could not start the ranks.", remedy_text=_MPI,
    ),
    KnownError(
        r"ModuleNotFoundError: No module named '(?P<what>[^']+)'", FailureKind.EXIT_STATUS,
        "The Python module '{what}' is missing where the program ran.", remedy_text=INSTALL, retryable=False,
    ),
)  # fmt: skip
"""Failures that any program may meet, most specific first."""

_SIGNALS: dict[int, tuple[FailureKind, str, str, bool]] = {
    signal.SIGSEGV: (FailureKind.EXIT_STATUS, "It touched memory that is not its own (segmentation fault).", "", True),
    signal.SIGBUS: (
        FailureKind.EXIT_STATUS, "It met a bus error, which full shared memory (/dev/shm) causes, too.", "", True,
    ),
    signal.SIGFPE: (FailureKind.EXIT_STATUS, "It divided by zero or overflowed (floating point exception).", "", True),
    signal.SIGILL: (
        FailureKind.EXIT_STATUS, "It met an instruction that this processor lacks.",
        "Build the program for this machine's processor.", False,
    ),
    signal.SIGABRT: (FailureKind.EXIT_STATUS, "It gave up by itself (abort).", "", True),
    signal.SIGKILL: (
        FailureKind.OUT_OF_MEMORY, "It was killed from outside; when nobody did that by hand, it ran out of memory.",
        _MEMORY, True,
    ),
    signal.SIGTERM: (FailureKind.INTERRUPTED, "It was asked to end from outside.", _SITE, True),
    signal.SIGINT: (FailureKind.INTERRUPTED, "It was interrupted.", _SITE, True),
    signal.SIGHUP: (FailureKind.INTERRUPTED, "Its terminal was closed.", _SITE, True),
    signal.SIGXCPU: (FailureKind.EXIT_STATUS, "It used up its CPU time limit.", "Raise the limit (ulimit -t).", False),
    signal.SIGXFSZ: (FailureKind.EXIT_STATUS, "It met the file size limit.", "Raise the limit (ulimit -f).", False),
}  # fmt: skip

_BY_LAUNCHER = re.compile(r"(?:KILLED BY SIGNAL|EXIT STRING|exited on signal|[Cc]aught signal)\D*(\d+)")
_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?$", re.MULTILINE)


def diagnose(returncode: int, timed_out: bool, text: str, known_errors: Iterable[KnownError] = ()) -> Diagnosis:
    """Say why a program failed.

    Args:
        returncode: Its exit status; negative for the signal that ended it.
        timed_out: Whether it was ended because its time was up.
        text: Its output and error output.
        known_errors: The adapter's; they come before the general ones.
    """
    known = find_known(text, known_errors)
    if timed_out:
        message = "The run did not end within its walltime and was ended, with all its processes."
        remedy_text = "Raise 'resources.walltime' if such runs are sound; else narrow the space of inputs."
        if known is None:
            return Diagnosis(FailureKind.TIMEOUT, message, None, remedy_text, True)
        return known._replace(kind=FailureKind.TIMEOUT, message=f"{message} {known.message}")
    if known is None:
        known = find_known(text, GENERAL)
    if known is not None:
        return known
    return _by_status(returncode, text)


def find_known(text: str, known_errors: Iterable[KnownError]) -> Diagnosis | None:
    """Return the diagnosis of the first known error whose pattern the text has, or None.

    Named groups of the pattern fill `{name}` in the message.
    """
    for known in known_errors:
        found = re.search(known.pattern, text)
        if found is not None:
            words = {name: value or "" for name, value in found.groupdict().items()}
            message = known.message.format(**words) if words else known.message
            return Diagnosis(known.kind, message, known.remedy, known.remedy_text, known.retryable)
    return None


def _by_status(returncode: int, text: str) -> Diagnosis:
    """Say what the exit status alone says."""
    if returncode == 127:
        return Diagnosis(FailureKind.LAUNCHER, "The program was not found (exit status 127).", None, INSTALL, False)
    if returncode == 126:
        sentence = "The program may not be executed (exit status 126)."
        return Diagnosis(FailureKind.LAUNCHER, sentence, None, INSTALL, False)
    number = _signal_number(returncode, text)
    if number in _SIGNALS:
        kind, sentence, remedy_text, retryable = _SIGNALS[number]
        message = f"The program ended by signal {signal.Signals(number).name}. {sentence}"
        return Diagnosis(kind, message, None, remedy_text, retryable)
    errors = _PYTHON_ERROR.findall(text)
    said = f" Its last error was: {errors[-1]}" if errors else ""
    message = f"The program ended with exit status {returncode} instead of 0.{said}"
    return Diagnosis(FailureKind.EXIT_STATUS, message, None, "The kept output says more.", True)


def _signal_number(returncode: int, text: str) -> int:
    """Return the signal that ended the program, as the system, a shell or a launcher tells it; 0 for none."""
    if returncode < 0:
        return -returncode
    if returncode > 128 and returncode - 128 in _SIGNALS:
        return returncode - 128
    found = _BY_LAUNCHER.search(text)
    return int(found[1]) if found else 0


def storage_trouble(error: OSError) -> Diagnosis:
    """Say what the disk refused."""
    if error.errno in FULL:
        sentence = f"The disk is full: {error.strerror}."
        return Diagnosis(FailureKind.DISK_FULL, sentence, None, "Free space, then resume the campaign.", True)
    where = f" ({error.filename})" if error.filename else ""
    sentence = f"A file of the run could not be written or read{where}: {error.strerror or error}."
    advice = "Look at the file system of the working directory."
    return Diagnosis(FailureKind.NODE_LOST, sentence, None, advice, error.errno not in _REFUSED)
