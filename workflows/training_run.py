"""One training on a site: started as an MPI job, followed while it runs, begun again where its job ended under it."""

from __future__ import annotations

import concurrent.futures
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sim_wrappers.diagnose import diagnose
from sim_wrappers.folders import tail
from site_configs.resources import ResourceRequest
from site_configs.site import Site
from surrogate.core.errors import Interrupted, TrainingError
from surrogate.core.outcome import Budget, FailureKind
from surrogate.training.config import TrainConfig
from surrogate.training.progress import TOLD_AT_ONCE, read_progress
from workflows.driver import Driver
from workflows.session import Session
from workflows.tasks import Command, CommandResult

DRAINED = 75
LOG = "log.txt"
_LOOK_S = 0.25
# How long a training that was asked to stop may take for its checkpoint.
_CHECKPOINT_S = 120.0
_TAIL = 20_000


@dataclass(frozen=True, slots=True)
class _Loss:
    """An attempt that came to no end of its own.

    Attributes:
        kind: What was lost.
        sentence: Why.
    """

    kind: FailureKind
    sentence: str


def train_command(train: TrainConfig, job_file: Path, python: str = sys.executable) -> tuple[tuple[str, ...], bool]:
    """Return the program of a training and whether it speaks MPI; one rank needs no MPI."""
    program = ("-m", "surrogate.training.program", str(job_file))
    if train.ranks == 1:
        return (python, *program), False
    return (python, "-m", "mpi4py", *program), True


def run_training(driver: Driver, site: Site, folder: Path, resources: ResourceRequest) -> CommandResult:
    """Train, in as many jobs as it takes: what a job's end or a lost node cuts off goes on from its checkpoint.

    Args:
        driver: Holds the campaign.
        site: Where to train.
        folder: Folder of the training, with its `job.json`.
        resources: What it asks for.

    Returns:
        How the program itself ended.

    Raises:
        TrainingError: If nothing can be done before a person mends the site, or the infrastructure lost the training
            more often than the campaign allows.
        Interrupted: If somebody asked to stop.
    """
    driver.progress.stage("train", driver.campaign.model.members)
    attempts = _Attempts(driver, site, folder, resources)
    losses, allowed = 0, driver.campaign.failures.infrastructure
    while True:
        epochs = attempts.epochs
        ended = attempts.once()
        if isinstance(ended, CommandResult) and ended.returncode != DRAINED:
            return ended
        if isinstance(ended, CommandResult):
            ended = _Loss(FailureKind.WALLTIME, "The job of the training is about to end.")
        record = {"kind": ended.kind.value, "budget": ended.kind.budget.value, "message": ended.sentence}
        driver.journal.append({"event": "training.lost", **record})
        if driver.stopping.draining.is_set():
            raise Interrupted("The training was stopped; it goes on from its last checkpoint.")
        # A job that brought it forward has cost nothing.
        losses = 0 if attempts.epochs > epochs else losses + 1
        if losses > allowed:
            raise TrainingError(
                f"The training was lost {losses} times without an epoch between. {ended.sentence} "
                f"Go on with `surrogate resume {driver.workspace.root}` when that is mended."
            )
        driver.progress.say(f"{ended.sentence} The training goes on from its last checkpoint.")


class _Attempts:
    """The attempts at one training."""

    def __init__(self, driver: Driver, site: Site, folder: Path, resources: ResourceRequest) -> None:
        self.epochs = 0
        self._driver, self._site, self._folder, self._resources = driver, site, folder, resources
        self._offset = 0

    def once(self) -> CommandResult | _Loss:
        """Start the training in a session of its own and follow it to its end."""
        driver, site = self._driver, self._site
        argv, mpi = train_command(driver.campaign.train, self._folder / "job.json", site.python("train"))
        with Session(
            site, driver.workspace.root, self._resources, campaign=driver.journal.uid, role="train"
        ) as session:
            command = Command(
                argv,
                self._resources,
                str(self._folder),
                str(self._folder / LOG),
                session.launcher,
                mpi,
                tuple(sorted(site.variables("train").items())),
                warn=True,
            )
            future = session.submit_command(command)
            lost = self._watch(session, future)
            if lost is not None:
                return lost
            error = future.exception()
            if error is None:
                return self._judge(CommandResult.from_text(future.result()))
            broken, loss = session.broken(), session.lost(error)
            if broken is None and loss is not None:
                return _Loss(*loss)
            raise TrainingError(broken or f"The training could not be started: {error}.") from error

    def _watch(self, session: Session, future: concurrent.futures.Future[str]) -> _Loss | None:
        """Follow the training until its future is done, its workers are gone, or somebody asks to stop."""
        driver, deadline = self._driver, float("inf")
        while True:
            done, _ = concurrent.futures.wait([future], timeout=_LOOK_S)
            self._follow()
            if done:
                return None
            if driver.stopping.event.is_set() or time.monotonic() > deadline:
                raise Interrupted("The training was interrupted; it goes on from its last checkpoint.")
            if driver.stopping.draining.is_set() and deadline == float("inf"):
                deadline = time.monotonic() + (_CHECKPOINT_S if session.warn() else 0.0)
            broken = session.broken()
            if broken is not None:
                raise TrainingError(f"{broken} Go on with `surrogate resume {driver.workspace.root}`.")
            if not session.alive():
                return _Loss(FailureKind.NODE_LOST, "The process that hands out work (Parsl's interchange) ended.")

    def _judge(self, result: CommandResult) -> CommandResult | _Loss:
        """Tell a training that failed from one whose job or node was taken from it."""
        if result.returncode in (0, DRAINED) or self._site.scheduler == "local":
            return result
        found = diagnose(result.returncode, result.timed_out, tail(self._folder / LOG, _TAIL))
        if found.kind.budget is Budget.INFRASTRUCTURE and found.retryable:
            return _Loss(found.kind, found.message)
        return result

    def _follow(self) -> None:
        """Show what the training has written since the last look."""
        events, self._offset = read_progress(self._folder, self._offset)
        progress = self._driver.progress
        for event in events:
            kind = event["event"]
            if kind in TOLD_AT_ONCE:
                progress.say(str(event.get("sentence", "")))
            elif kind == "epoch":
                self.epochs += 1
                loss = event.get("tune_loss", event.get("loss"))
                note = f"epoch {event.get('epoch')}" + (f", tune loss {loss:.3g}" if isinstance(loss, float) else "")
                progress.update(int(event.get("member", 0)), note)
            elif kind == "member_finished":
                progress.update(int(event.get("member", 0)) + 1)
