"""Faults that a campaign must survive: kills, stops, full disks, a clock set back. Each knows how to strike once."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import psutil

from site_configs.parsl_config import HEARTBEAT_THRESHOLD_S
from surrogate.training.progress import read_progress
from tests.support.clock import Clock
from tests.support.fault_scene import INTERCHANGE, MANAGER, PROGRAM, TRAINER, Scene
from tests.support.small_disk import PAGE, SmallDisk, small_disk

HOUR_S = 3600
LATE = 6
MIB = 2**20
# For which a disk stays full when nobody meets it.
LONGEST_S = 20.0


class Fault(Protocol):
    """One way to disturb a campaign.

    Attributes:
        values: What its campaign needs to be different.
        pause: Shortest and longest time between two strikes, seconds.
        patience: How many times longer it waits in a campaign that goes on to its verdict.
        late: Whether it strikes what comes after the dataset.
        goal: How far its campaigns go at most.
    """

    values: dict[str, Any]
    pause: tuple[float, float]
    patience: float
    late: bool
    goal: str

    def around(self, scene: Scene) -> contextlib.AbstractContextManager[None]:
        """Prepare a campaign whose driver has not been started yet."""
        ...

    def strike(self, scene: Scene) -> str | None:
        """Do it; return what was done, or None when there was nothing to be hit."""
        ...


@dataclass(kw_only=True)
class Quiet:
    """What a fault is unless it says otherwise: its campaigns need nothing, and go on to their verdict."""

    values: dict[str, Any] = field(default_factory=dict)
    pause: tuple[float, float] = (0.1, 2.0)
    patience: float = 1.0
    late: bool = False
    goal: str = "verdict"

    def around(self, scene: Scene) -> contextlib.AbstractContextManager[None]:
        del scene
        return contextlib.nullcontext()


@dataclass
class Kill(Quiet):
    """Ends one process by SIGKILL."""

    what: str
    find: Callable[[Scene], list[psutil.Process]]

    def strike(self, scene: Scene) -> str | None:
        victims = self.find(scene)
        if not victims:
            return None
        victim = scene.chance.choice(victims)
        try:
            os.kill(victim.pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return f"kill -9 of {self.what}"


@dataclass
class Stop(Quiet):
    """Stops a worker, its manager (whose heartbeat it is), or both and the other workers, for too long."""

    pause: tuple[float, float] = field(default=(0.1, 3.0), kw_only=True)

    def strike(self, scene: Scene) -> str | None:
        workers = scene.workers()
        if not workers:
            return None
        victims: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            manager = workers[0].parent()
            assert manager is not None
            pool = [manager, *manager.children()]
            what, victims = scene.chance.choice(
                [("the manager", [manager]), ("the manager and its workers", pool), ("a worker", workers[:1])]
            )
        if not victims:
            return None
        seconds = HEARTBEAT_THRESHOLD_S + scene.chance.uniform(1.0, 4.0)
        try:
            for process in victims:
                with contextlib.suppress(psutil.Error):
                    process.suspend()
            time.sleep(seconds)
        finally:
            for process in victims:
                with contextlib.suppress(psutil.Error):
                    process.resume()
        return f"SIGSTOP of {what} for {seconds:.1f} s"


@dataclass
class FullDisk(Quiet):
    """Fills the disk under one folder of the working directory, at the driver's and the workers' back.

    Attributes:
        part: The folder; a disk of `size` bytes is mounted there.
        felt: Number that grows when the campaign meets the full disk, which stays full until then and a moment longer.
            The driver's end always tells. A strike that nobody has felt does not count.
        busy: It strikes while there is a process with one of these words in its command line.
    """

    part: str
    felt: Callable[[Scene], int]
    size: int = 4 * MIB
    busy: tuple[str, ...] = (PROGRAM,)
    disk: SmallDisk | None = None

    @contextlib.contextmanager
    def around(self, scene: Scene) -> Iterator[None]:
        # Nobody begins a campaign in a folder that is not empty.
        scene.prepare()
        with small_disk(scene.workdir / self.part, self.size) as self.disk:
            yield

    def strike(self, scene: Scene) -> str | None:
        if not scene.processes(*self.busy):
            return None
        assert self.disk is not None
        before = self.felt(scene)
        left = self.disk.fill(PAGE * scene.chance.choice([0, 0, 1, 2]))
        begin, until, felt = time.monotonic(), time.monotonic() + LONGEST_S, False
        while (ended := scene.ended(0.1)) is None and time.monotonic() < until:
            if not felt and self.felt(scene) > before:
                felt, until = True, time.monotonic() + scene.chance.uniform(0.0, 2.0)
        took = time.monotonic() - begin
        self.disk.empty()
        if ended is None and not felt:
            return None
        end = "" if ended is None else ", which ended the driver"
        return f"the disk of {self.part} full for {took:.1f} s but for {left} bytes{end}"


@dataclass
class ClockBack(Quiet):
    """Sets the clock back, for every process of the campaign at once; sometimes one of them is killed right after."""

    pause: tuple[float, float] = field(default=(0.1, 3.0), kw_only=True)
    clock: Clock | None = None

    @contextlib.contextmanager
    def around(self, scene: Scene) -> Iterator[None]:
        self.clock = Clock(scene.folder / "clock")
        scene.environment |= self.clock.environment
        yield

    def strike(self, scene: Scene) -> str | None:
        if not scene.processes(PROGRAM, TRAINER):
            return None
        back = scene.chance.choice([30, HOUR_S, 24 * HOUR_S, 400 * 24 * HOUR_S])
        assert self.clock is not None
        self.clock.set(self.clock.shift - back)
        what = scene.chance.choice(["", "the driver", "the manager of the workers"])
        if not what:
            return f"clock set back by {back} s"
        time.sleep(scene.chance.uniform(0.0, 0.5))
        victims = the_driver(scene) if what == "the driver" else scene.processes(MANAGER)
        for victim in victims:
            with contextlib.suppress(psutil.Error):
                victim.kill()
        return f"clock set back by {back} s, then kill -9 of {what}"


def full_disks(scene: Scene) -> int:
    """Return how often the journal says that a run met a full disk."""
    state = scene.state()
    return state.failures.get("disk_full", 0) if state is not None else 0


def lag(scene: Scene) -> int:
    """Return 1 when more executions have ended than the journal could be a little late with, else 0."""
    state = scene.state()
    known = sum(state.ended.values()) if state is not None else 0
    return int(sum(word == "end" for what in scene.executions().values() for _, word in what) - known >= LATE)


def nothing(scene: Scene) -> int:
    """Return 0: only the driver's end tells that the disk was full."""
    del scene
    return 0


def the_driver(scene: Scene) -> list[psutil.Process]:
    """Return the driver while it works."""
    assert scene.driver is not None
    return [psutil.Process(scene.driver.pid)] if scene.ended() is None else []


class TrainersRanks:
    """Finds the ranks of the training: for every other strike or so as soon as they are there, else in some epoch."""

    def __init__(self) -> None:
        self._epoch, self._strike = 0, -1

    def __call__(self, scene: Scene) -> list[psutil.Process]:
        if self._strike != len(scene.moments):
            self._strike = len(scene.moments)
            self._epoch = scene.chance.choice([0, scene.chance.randrange(EPOCHS * 3 // 4)])
        return scene.processes(TRAINER) if not self._epoch or epoch_of(scene) >= self._epoch else []


def epoch_of(scene: Scene) -> int:
    """Return the epoch that the training has reached in its latest attempt, 0 before its first."""
    for folder in (scene.workdir / "training").glob("*/"):
        events, _ = read_progress(folder)
        epochs = [0]
        for event in events:
            epochs = [0] if event["event"] == "started" else [*epochs, int(event.get("epoch", 0))]
        return max(epochs)
    return 0


# Long enough to be hit, with many checkpoints.
EPOCHS = 2_000
LONG_TRAINING = {"seconds": 0.0, "epochs": EPOCHS, "train": "checkpoint_every_s = 0.2\nsteps_per_call = 50"}
FAULTS: dict[str, Callable[[], Fault]] = {
    "driver": lambda: Kill("the driver", the_driver, pause=(0.5, 8.0), patience=3.0),
    "worker": lambda: Kill("a worker", lambda scene: scene.workers()),
    "interchange": lambda: Kill(
        "the interchange", lambda scene: scene.processes(INTERCHANGE), pause=(0.5, 5.0), patience=2.0
    ),
    "rank": lambda: Kill("an MPI rank", lambda scene: scene.processes(PROGRAM), values={"options": "mpi = true"}),
    "trainer": lambda: Kill(
        "a rank of the trainer", TrainersRanks(), values={**LONG_TRAINING, "ranks": 2}, pause=(0.1, 5.0), late=True
    ),
    "disk_run_file": lambda: FullDisk("runs", full_disks),
    # Many samples make many shards, and a Gaussian process among the verdict's baselines slow.
    "disk_shard": lambda: FullDisk(
        "dataset", nothing, values={"options": "samples = 64"}, pause=(0.1, 4.0), goal="dataset"
    ),
    "disk_checkpoint": lambda: FullDisk(
        "training", nothing, 32 * MIB, values=LONG_TRAINING, pause=(0.5, 6.0), late=True, busy=(TRAINER,)
    ),
    "disk_journal": lambda: FullDisk("journal", lag),
    "stopped": Stop,
    "clock": ClockBack,
}  # fmt: skip
"""Name → a new fault of that kind."""
