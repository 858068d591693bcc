"""Run a long command whose output goes to a log, and find in the log what went wrong."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from surrogate.core.errors import SiteError
from surrogate.core.process import kill_tree

Report = Callable[[str], None]
REPORT_EVERY_S = 30.0


class LoggedError(SiteError):
    """A program that writes a log failed.

    Attributes:
        log: What it wrote.
    """

    def __init__(self, message: str, log: Path) -> None:
        """Keep the log's path beside the sentence."""
        super().__init__(message)
        self.log = log


def run_logged(command: list[str], environment: Mapping[str, str], output: int, report: Report) -> int:
    """Run a command in its own session, output to a file, and say every half minute that it runs.

    Args:
        command: Program and arguments.
        environment: Its variables.
        output: File descriptor for its output.
        report: Takes a line of progress.

    Returns:
        The exit code. When this process is interrupted, it and its descendants are ended first.
    """
    start = time.monotonic()
    process = subprocess.Popen(command, env=dict(environment), stdout=output, stderr=output, start_new_session=True)
    try:
        while True:
            try:
                return process.wait(timeout=REPORT_EVERY_S)
            except subprocess.TimeoutExpired:
                report(f"… still building after {time.monotonic() - start:.0f} s")
    except BaseException:
        kill_tree(process.pid)
        process.wait()
        raise


def first_error(log: str) -> str:
    """Return the line of a build log that says best what went wrong."""
    lines = [line.strip() for line in log.splitlines()]
    for pattern in (r"(fatal )?error: (?!subprocess-exited|metadata-|command )", r"CMake Error", r"ERROR:"):
        for line in lines:
            if re.search(pattern, line):
                return line
    return lines[-1] if lines else "it wrote nothing."
