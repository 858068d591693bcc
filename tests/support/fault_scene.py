"""A small campaign on which faults are tried: its drivers, its processes, and what was seen of it on the way."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from surrogate.core.errors import SurrogateError
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged, kill_tagged
from tests.support.campaigns import command, write_campaign
from workflows.campaign import plan_campaign
from workflows.config import load_campaign
from workflows.driver import prepare
from workflows.journal import JournalState, RunStatus, read_state

PROGRAM, TRAINER = "sim_wrappers.scripted.program", "surrogate.training.program"
INTERCHANGE, MANAGER = "site_configs.interchange", "site_configs.worker_pool"
# Losses that are meant to be survived may not use up an allowance: how much is allowed is tested elsewhere.
FAILURES = "[failures]\ninfrastructure = 1000\nsolver = 1000\nstorm = 1000\n[resources]"
_LOOK_S = 0.2


@dataclass
class Scene:
    """One campaign with its driver.

    Attributes:
        folder: Holds the campaign file, the ledger, what the drivers said, and the working directory `w`.
        chance: Where all randomness comes from.
        until: How far the drivers go: to the `dataset`, which costs least, to the `training`, or to the `verdict`.
        moments: What was done to it, one line each.
        environment: Further variables of the drivers.
        driver: The latest driver.
        admitted: Run → the attempt that was admitted, as soon as the journal said so.
        withdrawn: What was seen of admitted runs that were admitted no more, or by another attempt, as sentences.
    """

    folder: Path
    chance: random.Random
    until: str = "verdict"
    moments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    driver: subprocess.Popen[bytes] | None = None
    admitted: dict[str, int] = field(default_factory=dict)
    withdrawn: list[str] = field(default_factory=list)
    begun: float = 0.0
    _looked: float = 0.0

    @property
    def workdir(self) -> Path:
        """The working directory."""
        return self.folder / "w"

    @property
    def file(self) -> Path:
        """The campaign file."""
        return self.folder / "small.toml"

    @property
    def said(self) -> str:
        """What the drivers wrote."""
        path = self.folder / "stderr.txt"
        return path.read_text() if path.is_file() else ""

    def write(self, **values: Any) -> None:
        """Write the campaign file."""
        train = values.pop("train", "")
        path = write_campaign(self.folder, **values)
        text = path.read_text().replace("[resources]", FAILURES).replace("[train]", f"[train]\n{train}")
        path.write_text(text.replace("ranks = 1\nwalltime", f"ranks = {2 if 'mpi' in text else 1}\nwalltime"))

    def prepare(self) -> None:
        """Make the working directory as a driver does that has not begun anything yet."""
        prepare(plan_campaign(load_campaign(self.file), self.workdir), self.workdir, "laptop")

    def start(self) -> None:
        """Start a driver, or the next one."""
        again = (self.workdir / "workspace.json").is_file()
        words: list[str | Path] = ["resume"] if again else ["run", self.file]
        if self.until == "verdict":
            line = command(*words, *([] if again else ["--workdir"]), self.workdir)
        else:
            line = [sys.executable, "-m", "tests.support.campaign_head", self.until, *map(str, [*words, self.workdir])]
        with (self.folder / "stderr.txt").open("ab") as sink:
            self.driver = subprocess.Popen(
                line, stdout=subprocess.DEVNULL, stderr=sink, start_new_session=True,
                env={**os.environ, **self.environment},
            )  # fmt: skip
        self.begun = self.begun or time.monotonic()

    def ended(self, within_s: float = 0.0) -> int | None:
        """Return the driver's exit code, or None while it works."""
        assert self.driver is not None
        try:
            return self.driver.wait(timeout=within_s) if within_s else self.driver.poll()
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """End the driver and all that it started, when it has come to no end of its own."""
        if self.driver is not None and self.driver.poll() is None:
            self.driver.kill()
            self.driver.wait()
            state = self.state()
            for uid in state.uids if state is not None else ():
                kill_tagged(CAMPAIGN_VARIABLE, uid)

    def note(self, words: str) -> None:
        """Log a moment."""
        self.moments.append(f"{time.monotonic() - self.begun:.2f} s: {words}; {self._stage()}")

    def state(self) -> JournalState | None:
        """Return the journal's state, or None where there is none to be read at this moment."""
        try:
            loaded = read_state(self.workdir / "journal")
        except (SurrogateError, OSError):
            return None
        return None if loaded is None else loaded.state

    def watch(self, *, now: bool = False) -> None:
        """Look, now and then, which runs are admitted: none of them may ever be executed again."""
        if not now and time.monotonic() - self._looked < _LOOK_S:
            return
        self._looked = time.monotonic()
        state = self.state()
        if state is None:
            return
        found = {run.run_id: run.attempts for run in state.with_status(RunStatus.DONE, RunStatus.PACKED)}
        for run, attempt in self.admitted.items():
            if found.get(run) != attempt:
                self.withdrawn.append(f"Run {run} was admitted by attempt {attempt}, then by {found.get(run)}.")
        self.admitted |= found

    def _stage(self) -> str:
        """Return how far the campaign is."""
        state = self.state()
        if state is None:
            return "no journal to be read"
        done = state.counts[RunStatus.DONE] + state.counts[RunStatus.PACKED]
        stages = ", ".join(f"{name} {stage.status}" for name, stage in state.stages.items())
        return f"{done} runs done; {stages}"

    def processes(self, *words: str) -> list[psutil.Process]:
        """Return the campaign's Python processes with one of these words in their command line, oldest first."""
        state = self.state()
        found = []
        for pid in find_tagged(CAMPAIGN_VARIABLE, state.uids[-1]) if state and state.uids else []:
            try:
                process = psutil.Process(pid)
                line = process.cmdline()
                if "python" in line[0] and any(word in " ".join(line) for word in words):
                    found.append((process.create_time(), process))
            except (psutil.Error, IndexError):
                continue
        return [process for _, process in sorted(found, key=lambda pair: pair[0])]

    def workers(self) -> list[psutil.Process]:
        """Return the workers that execute something: children of a manager that have a program below them."""
        found = {}
        managers = {process.pid for process in self.processes(MANAGER)}
        for process in self.processes(PROGRAM, TRAINER):
            with contextlib.suppress(psutil.Error):
                for worker in process.parents():
                    if worker.ppid() in managers:
                        found[worker.pid] = worker
        return list(found.values())

    def executions(self) -> dict[str, list[tuple[int, str]]]:
        """Return run id → (attempt, `start` or `end`) in the order in which they happened."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        ledger = self.folder / "ledger.txt"
        for line in ledger.read_text().splitlines() if ledger.is_file() else ():
            run, attempt, word = line.split()
            found[run].append((int(attempt), word))
        return dict(found)
