"""Daemons that outlive whoever starts them: known by pid and start time in a file, and by nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from surrogate.core.proctable import start_time
from tests.support import leftovers

_DOWN_S = 8.0


class Daemons:
    """The daemons of one folder.

    Attributes:
        folder: Where they are written down, in `state.json`, and where their output goes, in `log`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def known(self) -> Mapping[str, tuple[int, int]]:
        """Return name → (pid, start time) of all that were started."""
        path = self.folder / "state.json"
        if not path.exists():
            return {}
        return {name: (int(pid), int(start)) for name, (pid, start) in json.loads(path.read_text()).items()}

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Start a daemon in a session of its own, unless it lives."""
        if self.alive(name):
            return
        # Adopted by init and without the session's tag: a daemon that a test restarts is not that test's leftover.
        variables = {key: value for key, value in environment.items() if key != leftovers.TAG}
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            started = subprocess.run(
                ["sh", "-c", '"$@" </dev/null 1>&2 & echo $!', "sh", *command], env=variables, cwd=self.folder,
                stdout=subprocess.PIPE, stderr=log, start_new_session=True, check=True,
            )  # fmt: skip
        pid = int(started.stdout)
        known = {**self.known(), name: (pid, start_time(pid) or 0)}
        (self.folder / "state.json").write_text(json.dumps(known))

    def pid(self, name: str) -> int | None:
        """Return the pid of a daemon (`munged`, `slurmctld`, `n1`, …) that lives."""
        pid, start = self.known().get(name, (0, 0))
        return pid if pid and start_time(pid) == start else None

    def alive(self, name: str) -> bool:
        """Tell whether a daemon lives."""
        return self.pid(name) is not None

    def kill(self, name: str) -> None:
        """End a daemon with SIGKILL."""
        pid = self.pid(name)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.wait_for_end([name])

    def wait_for_end(self, names: list[str], seconds: float = _DOWN_S) -> bool:
        """Wait until daemons have ended; return whether they did in time."""
        deadline = time.monotonic() + seconds
        while any(self.alive(name) for name in names):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def end(self, names: list[str]) -> None:
        """Ask daemons to end, all at once, and kill those that do not.

        Raises:
            RuntimeError: If one lives even then.
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            for name in names:
                pid = self.pid(name)
                if pid is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            if self.wait_for_end(names):
                return
        raise RuntimeError(f"These daemons did not end: {', '.join(name for name in names if self.alive(name))}.")

    def forget(self) -> None:
        """Remove what was written down."""
        (self.folder / "state.json").unlink(missing_ok=True)
