"""Programs that are started and ended: own session, clean environment, nobody left behind.

Linux only. Every program carries a tag in its environment, by which its descendants are found even when they have moved
to another session and been adopted by init.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from surrogate.core.proctable import Entry, find_tagged, has_tag, is_alive, process_table, start_time, with_descendants
from surrogate.core.shared_memory import remove_unmapped, segments_now, segments_of, sweep_new, sweep_shared_memory

__all__ = [
    "CAMPAIGN_VARIABLE",
    "PROCESS_VARIABLE",
    "RUN_VARIABLE",
    "ProcessResult",
    "find_tagged",
    "is_alive",
    "kill_tagged",
    "kill_tree",
    "run_process",
    "scrubbed_environment",
    "start_time",
    "sweep_shared_memory",
]

CAMPAIGN_VARIABLE = "SURROGATE_CAMPAIGN"
RUN_VARIABLE = "SURROGATE_RUN"
PROCESS_VARIABLE = "SURROGATE_PROCESS"

LEAKING = (
    "SLURM_*", "SLURMD_*", "SBATCH_*", "SALLOC_*", "SRUN_*", "PMI_*", "PMI2_*", "PMIX_*", "PMIX*", "PRTE_*", "ORTE_*",
    "OPAL_*", "OMPI_*", "HYDRA_*", "HYDI_*", "MPI_*", "MPIEXEC_*", "PALS_*", "ALPS_*", "FLUX_*", "PBS_NODEFILE",
    "HOROVOD_*",
)  # fmt: skip
"""Variables by which a launcher or scheduler speaks to the ranks of *its* job; to another job they are lies."""

_TICK_S = 5.0
_KILL_S = 10.0


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended.

    Attributes:
        returncode: Exit status; negative for the signal that ended it.
        timed_out: Whether it was ended because its time was up.
        seconds: Wall-clock seconds from start to end.
        pid: Its process id; also the id of its session.
        survivors: Descendants that even SIGKILL did not end in ten seconds (stuck in the kernel).
    """

    returncode: int
    timed_out: bool
    seconds: float
    pid: int
    survivors: tuple[int, ...] = ()


def scrubbed_environment(base: Mapping[str, str], keep: Sequence[str] = ()) -> dict[str, str]:
    """Return an environment without what a launcher or scheduler told another job.

    Args:
        base: The environment to start from.
        keep: Names or patterns such as `SLURM_*` that stay nevertheless, for a launcher that needs them.
    """
    kept, leaking = _matcher(tuple(keep)), _matcher(LEAKING)
    return {name: value for name, value in base.items() if not leaking(name) or kept(name)}


@cache
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], object]:
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)").match


def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: Path,
    timeout_s: float,
    grace_s: float = 2.0,
    output_limit: int = 256 * 2**20,
) -> ProcessResult:
    """Run a program in a session of its own and leave none of its descendants alive.

    On a timeout, a failure or an exception (Ctrl-C, say) all descendants get SIGTERM and after the grace SIGKILL: also
    those that moved to another session or were adopted by init, which carry a tag in their environment.

    Args:
        argv: Program and arguments.
        cwd: Where it runs.
        env: Its whole environment; `SURROGATE_PROCESS` is added.
        stdout: File that receives its output and error output; replaced.
        timeout_s: Wall-clock seconds that it may take.
        grace_s: Seconds between SIGTERM and SIGKILL.
        output_limit: Bytes of output above which the file is cut back to half while the program runs.

    Raises:
        OSError: If the program cannot be started.
    """
    token = secrets.token_hex(12)
    started, segments = time.monotonic(), segments_now()
    with stdout.open("wb", buffering=0) as made, stdout.open("ab", buffering=0) as sink:
        del made  # emptied; output is appended, so that the file can be cut back under the writer
        process = subprocess.Popen(
            list(argv), cwd=cwd, env={**env, PROCESS_VARIABLE: token}, stdin=subprocess.DEVNULL, stdout=sink,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    survivors: tuple[int, ...] = ()
    try:
        code = _wait(process, timeout_s, lambda: _cut_back(stdout, output_limit))
        timed_out = code is None
        if timed_out or code != 0 or _group_lives(process.pid):
            survivors = _end(process.pid, token, grace_s)
            sweep_new(segments)
    except BaseException:
        _end(process.pid, token, grace_s)
        process.wait()
        sweep_new(segments)
        raise
    return ProcessResult(process.wait(), timed_out, time.monotonic() - started, process.pid, survivors)


def _wait(process: subprocess.Popen[bytes], timeout_s: float, tick: Callable[[], None]) -> int | None:
    """Return the exit status, or None when the time is up; call `tick` now and then.

    A pidfd wakes at the very end of the process, where `Popen.wait` would sleep up to 50 ms too long.
    """
    deadline = time.monotonic() + timeout_s
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # a kernel before 5.3
        return _wait_without_pidfd(process, deadline, tick)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        while (remaining := deadline - time.monotonic()) > 0:
            if poller.poll(1000.0 * min(remaining, _TICK_S)):
                return process.wait()
            tick()
    finally:
        os.close(handle)
    return process.poll()


def _wait_without_pidfd(process: subprocess.Popen[bytes], deadline: float, tick: Callable[[], None]) -> int | None:
    while (remaining := deadline - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(remaining, _TICK_S))
        tick()
    return process.poll()


def _cut_back(path: Path, limit: int) -> None:
    """Keep a file that another process appends to from filling the disk."""
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > limit:
            os.truncate(path, limit // 2)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def kill_tree(pid: int, grace_s: float = 2.0, start: int | None = None) -> tuple[int, ...]:
    """End a process and all its descendants: SIGTERM, after the grace SIGKILL.

    Args:
        pid: The root of the tree.
        grace_s: Seconds between the two signals.
        start: Start time of the process that is meant; nothing is done when the pid is another's by now.

    Returns:
        Pids that still live after ten seconds.
    """
    if not is_alive(pid, start):
        return ()
    return _end(pid, None, grace_s)


def kill_tagged(variable: str, value: str, grace_s: float = 2.0) -> tuple[int, ...]:
    """End all processes with `variable=value` in their environment (see `find_tagged`, `kill_tree`)."""
    wanted = f"{variable}={value}".encode()
    return _end_all(lambda table: {pid for pid in table if has_tag(pid, wanted)}, grace_s)


def _end(root: int, token: str | None, grace_s: float) -> tuple[int, ...]:
    wanted = None if token is None else f"{PROCESS_VARIABLE}={token}".encode()

    def find(table: Mapping[int, Entry]) -> set[int]:
        members = {pid for pid, entry in table.items() if root in (pid, entry.session)}
        if wanted is not None:
            members |= {pid for pid in table if pid not in members and has_tag(pid, wanted)}
        return members

    return _end_all(find, grace_s)


def _end_all(find: Callable[[Mapping[int, Entry]], set[int]], grace_s: float) -> tuple[int, ...]:
    """End what `find` sees, its descendants, and whatever was once seen to be one of them."""
    known: dict[int, int] = {}
    segments: set[Path] = set()
    own = os.getpid()
    left: set[int] = set()
    for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, _KILL_S)):
        signalled: set[int] = set()
        deadline, pause = time.monotonic() + seconds, 0.002
        while True:
            table = process_table()
            for pid in with_descendants(find(table), table) - {own}:
                known.setdefault(pid, table[pid].start)
            left = {pid for pid, start in known.items() if pid in table and table[pid].start == start}
            if not left or time.monotonic() > deadline:
                break
            segments |= segments_of(left - signalled)
            for pid in left - signalled:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled |= left
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        if not left:
            break
    remove_unmapped(segments)
    return tuple(sorted(left))
