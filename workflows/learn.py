"""Training as a stage of a campaign: one MPI job, watched while it runs, not repeated when it is done."""

from __future__ import annotations

import concurrent.futures
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from site_configs.resources import ResourceRequest
from site_configs.site import Site, check_fits
from surrogate.core.errors import Interrupted, TrainingError
from surrogate.core.files import sha256_file
from surrogate.data.dataset import Dataset
from surrogate.inference.artifact import MANIFEST
from surrogate.training.config import TrainConfig
from surrogate.training.job import TrainingJob, write_job
from surrogate.training.progress import explain, read_progress
from workflows.apps import Command, CommandResult
from workflows.driver import Driver
from workflows.plan import Plan
from workflows.session import Session

STAGE = "train"
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished training.

    Attributes:
        artifact: Folder of the artifact.
        launch_line: The command that trained it.
        seconds: Wall-clock seconds.
        ranks: MPI ranks.
        nodes: Nodes.
        host: Where it ran.
    """

    artifact: Path
    launch_line: tuple[str, ...]
    seconds: float
    ranks: int
    nodes: int
    host: str


def training_resources(train: TrainConfig) -> ResourceRequest:
    """Return what a training asks of a machine.

    Raises:
        ResourceError: If its ranks do not divide over its nodes.
    """
    return ResourceRequest.resolve(
        nodes=train.nodes,
        ranks=train.ranks,
        cores_per_rank=train.cores_per_rank,
        gpus_per_rank=train.gpus_per_rank,
        walltime_s=train.walltime_s,
    )


def train_command(train: TrainConfig, job_file: Path) -> tuple[tuple[str, ...], bool]:
    """Return the program of a training and whether it speaks MPI; one rank needs no MPI."""
    program = ("-m", "surrogate.training.program", str(job_file))
    if train.ranks == 1:
        return (sys.executable, *program), False
    return (sys.executable, "-m", "mpi4py", *program), True


def learn(driver: Driver, plan: Plan, site: Site, dataset: Dataset) -> Trained:
    """Train on a dataset, or return the training that was finished before.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        site: Where to train.
        dataset: The admitted samples.

    Raises:
        ResourceError: If the site can never run the training.
        TrainingError: If it ended without an artifact: why, and where its output is.
        Interrupted: If somebody asked to stop.
    """
    campaign = plan.campaign
    job = TrainingJob(
        dataset=os.path.relpath(driver.workspace.dataset, driver.workspace.training / "x"),
        dataset_hash=dataset.hash,
        split=campaign.splits.to_json(),
        family=campaign.model.family,
        options=campaign.model.options,
        members=campaign.model.members,
        train=campaign.train,
        seed=campaign.seed,
        world_size=campaign.train.ranks,
        space=plan.space.to_json(),
    )
    key = job.key()
    folder = driver.workspace.training / key[:16]
    known = driver.done(STAGE, key)
    if known is not None and _is_whole(folder, known):
        return Trained(
            folder / "artifact",
            tuple(known["launch_line"]),
            known["seconds"],
            campaign.train.ranks,
            campaign.train.nodes,
            known["host"],
        )
    resources = training_resources(campaign.train)
    check_fits(site, resources)
    folder.mkdir(parents=True, exist_ok=True)
    write_job(folder / "job.json", job)
    driver.begin(STAGE, key)
    result = _run(driver, site, folder, resources, campaign.model.members)
    if result.returncode != 0 or not (folder / "artifact" / MANIFEST).is_file():
        raise explain(folder, result.returncode)
    record = {
        "artifact": str((folder / "artifact").relative_to(driver.workspace.root)),
        "manifest_sha256": sha256_file(folder / "artifact" / MANIFEST),
        "seconds": result.seconds,
        "launch_line": list(result.launch_line),
        "host": result.host,
    }
    driver.finish(STAGE, key, record)
    return Trained(
        folder / "artifact",
        result.launch_line,
        result.seconds,
        resources.ranks,
        resources.nodes,
        result.host,
    )


def _is_whole(folder: Path, record: dict[str, Any]) -> bool:
    """Return whether an artifact is the one that was journalled."""
    manifest = folder / "artifact" / MANIFEST
    return manifest.is_file() and sha256_file(manifest) == record["manifest_sha256"]


def _run(driver: Driver, site: Site, folder: Path, resources: ResourceRequest, members: int) -> CommandResult:
    """Start the training and follow it to its end."""
    argv, mpi = train_command(driver.campaign.train, folder / "job.json")
    driver.progress.stage("train", members)
    with Session(site, driver.workspace.root, resources, campaign=driver.journal.uid, role="train") as session:
        command = Command(
            argv,
            resources,
            str(folder),
            str(folder / "log.txt"),
            session.launcher,
            mpi,
            tuple(sorted(site.variables("train").items())),
        )
        future = session.submit_command(command)
        offset = 0
        while True:
            done, _ = concurrent.futures.wait([future], timeout=_LOOK_S)
            offset = _follow(driver, folder, offset)
            if done:
                break
            if driver.stopping.event.is_set():
                raise Interrupted("The training was interrupted; it goes on from its last checkpoint.")
            broken = session.broken()
            if broken or not session.alive():
                raise TrainingError(
                    f"The training's workers are gone{': ' + broken if broken else ''}. "
                    f"Go on with `surrogate resume {driver.workspace.root}`."
                )
        try:
            return CommandResult.from_text(future.result())
        except Exception as error:
            raise TrainingError(f"The training could not be started: {error}.") from error


def _follow(driver: Driver, folder: Path, offset: int) -> int:
    """Show what the training has written since the last look."""
    events, offset = read_progress(folder, offset)
    for event in events:
        kind = event["event"]
        if kind == "note":
            driver.progress.say(str(event.get("sentence", "")))
        elif kind == "epoch":
            loss = event.get("tune_loss", event.get("loss"))
            note = f"epoch {event.get('epoch')}" + (f", tune loss {loss:.3g}" if isinstance(loss, float) else "")
            driver.progress.update(int(event.get("member", 0)), note)
        elif kind == "member_finished":
            driver.progress.update(int(event.get("member", 0)) + 1)
    return offset
