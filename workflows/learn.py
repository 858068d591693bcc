"""Training as a stage of a campaign: one MPI job, watched while it runs, not repeated when it is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from site_configs.fitting import check_fits
from site_configs.resources import ResourceRequest
from site_configs.site import Site
from surrogate.core.files import sha256_file
from surrogate.data.dataset import Dataset
from surrogate.inference.artifact import MANIFEST
from surrogate.registry.reader import RegistryReader
from surrogate.registry.store import resolve_registry
from surrogate.training.config import TrainConfig
from surrogate.training.job import TrainingJob, write_job
from surrogate.training.progress import explain
from workflows.driver import Driver
from workflows.plan import Plan
from workflows.training_run import run_training

STAGE = "train"


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


def learn(driver: Driver, plan: Plan, site: Site, dataset: Dataset, registry: Path | None = None) -> Trained:
    """Train on a dataset, or return the training that was finished before.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        site: Where to train.
        dataset: The admitted samples.
        registry: Where `train.from` finds a version; the default one when None.

    Raises:
        ConfigError: If `train.from` is neither a version nor the folder of an artifact.
        ResourceError: If the site can never run the training.
        TrainingError: If it ended without an artifact: why, and where its output is.
        Interrupted: If somebody asked to stop.
    """
    campaign, job = plan.campaign, _job(driver, plan, dataset, registry)
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
    check_fits(site, resources, "train")
    folder.mkdir(parents=True, exist_ok=True)
    write_job(folder / "job.json", job)
    driver.begin(STAGE, key)
    result = run_training(driver, site, folder, resources)
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


def _job(driver: Driver, plan: Plan, dataset: Dataset, registry: Path | None) -> TrainingJob:
    """Return what is to be trained."""
    campaign = plan.campaign
    start = start_folder(campaign.train.start, driver.workspace.root, registry) if campaign.train.start else None
    return TrainingJob(
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
        start=None if start is None else str(start),
        start_content=None if start is None else sha256_file(start / MANIFEST),
    )


def start_folder(name: str, workdir: Path, registry: Path | None) -> Path:
    """Return the artifact that a training is to go on from.

    Args:
        name: A version of the registry, the beginning of its name, or the folder of an artifact.
        workdir: Working directory of the campaign.
        registry: The registry; the default one when None.

    Raises:
        ConfigError: If it is neither.
    """
    folder = Path(name).expanduser()
    if (folder / MANIFEST).is_file():
        return folder.resolve()
    return RegistryReader(resolve_registry(registry, workdir)).artifact(name).resolve()


def _is_whole(folder: Path, record: dict[str, Any]) -> bool:
    """Return whether an artifact is the one that was journalled."""
    manifest = folder / "artifact" / MANIFEST
    return manifest.is_file() and sha256_file(manifest) == record["manifest_sha256"]
