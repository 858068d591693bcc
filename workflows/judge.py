"""Judging as a stage of a campaign: a version in the registry, the holdout, the verdict, the promotion, the report."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from surrogate import __version__
from surrogate.core.files import sha256_file
from surrogate.core.identity import digest
from surrogate.core.schema import SampleTable
from surrogate.data.dataset import Dataset
from surrogate.inference.artifact import MANIFEST
from surrogate.inference.compare import runtime_difference
from surrogate.inference.latency import SpeedUp, measure_latency, speed_up
from surrogate.inference.predictor import Predictor
from surrogate.registry.record import Lineage, environment
from surrogate.registry.store import Registry
from surrogate.validation.evidence import load_validation, save_validation
from surrogate.validation.validate import validate
from surrogate.validation.validation import Validation
from surrogate.validation.verdict import Verdict
from workflows.driver import Driver
from workflows.learn import Trained
from workflows.looks import known_looks, stage_record
from workflows.plan import Plan
from workflows.simulate import spent

STAGE = "validate"
REGISTER = "register"


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What came of judging.

    Attributes:
        verdict: Pass or fail with evidence.
        validation: Everything that was found.
        speed: How much faster than the simulation it is, or None when no simulation's time is known.
    """

    verdict: Verdict
    validation: Validation
    speed: SpeedUp | None


def register(driver: Driver, plan: Plan, dataset: Dataset, trained: Trained, *, registry: Registry, line: str) -> str:
    """Take the artifact into the registry and return its version; what was taken before keeps its version.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        dataset: What it was trained on.
        trained: The training.
        registry: Where versions live.
        line: How a simulation was started.

    Raises:
        IntegrityError: If the artifact is damaged.
    """
    manifest = sha256_file(trained.artifact / MANIFEST)
    key = digest("register", dataset.hash, manifest, str(registry.root))[:32]
    known = driver.done(REGISTER, key)
    if known is not None and known["version"] in registry.versions(plan.campaign.name):
        return str(known["version"])
    before = registry.find(plan.campaign.name, MANIFEST, manifest)
    if before is not None:  # the journal that knew of it was lost
        driver.finish(REGISTER, key, {"version": before, "registry": str(registry.root)})
        return before
    lineage = Lineage(
        campaign=plan.campaign.name,
        dataset_hash=dataset.hash,
        run_ids=tuple(sorted(set(dataset.index.runs.tolist()))),
        launch_lines=(line, " ".join(trained.launch_line)),
        code={**({plan.simulator.name: plan.version} if plan.version else {}), "surrogate-hpc": __version__},
        environment=environment(),
        parent=known["parent"] if known is not None and "parent" in known else registry.current(plan.campaign.name),
        facts={"identity": plan.identity, "seed": plan.campaign.seed, "training_ranks": trained.ranks},
    )
    driver.begin(REGISTER, key)
    version = registry.add(trained.artifact, lineage)
    # A registry that is lost takes the same version in again, whose name counts what it followed.
    record = {"version": version, "registry": str(registry.root), "parent": lineage.parent}
    driver.finish(REGISTER, key, record)
    return version


def judge(driver: Driver, plan: Plan, dataset: Dataset, version: str, registry: Registry) -> Judged:
    """Judge a version on the holdout and write the verdict; nothing is promoted here.

    Raises:
        ConfigError: If the gate names what there is not.
        SplitError: If the holdout is below its minimum.
        IntegrityError: If the version or the dataset is damaged.
    """
    artifact = registry.artifact(version)
    predictor = Predictor.load(artifact)
    gate = plan.campaign.gate.gate()
    key = judging_key(plan, dataset, version)
    known = known_looks(driver, plan, registry, STAGE)
    driver.begin(STAGE, key)
    driver.progress.stage("validate")
    validation = validate(
        predictor,
        dataset,
        plan.splits,
        version=version,
        holdout_record=driver.workspace.holdout_record,
        known_looks=known,
        gate=gate,
        onnx_check=lambda table: _difference(artifact, table),
        seed=plan.campaign.seed,
        progress=driver.progress.say,
    )
    verdict = validation.judge(gate)
    cost = spent(driver, plan)
    timing = measure_latency(predictor, validation.design.truth.inputs)
    speed = speed_up(timing, cost.seconds, ranks=plan.campaign.resources.request().ranks)
    if speed is not None:
        verdict.details["speed_up"] = {**speed.to_json(), "host": platform.node()}
    return Judged(verdict, validation, speed)


def conclude(driver: Driver, judged: Judged, key: str) -> None:
    """Write evidence and verdict and journal that the version was judged."""
    verdict = judged.verdict
    save_validation(driver.workspace.evidence, judged.validation)
    verdict.write(driver.workspace.verdict)
    driver.finish(STAGE, key, stage_record(verdict.version, verdict.passed, judged.validation.consultations))


def judged_before(driver: Driver) -> Judged:
    """Return what came of the last judging, from its files; the holdout is not consulted.

    Raises:
        IntegrityError: If there is none, or a file is damaged.
    """
    verdict = Verdict.read(driver.workspace.verdict)
    speed = verdict.details.get("speed_up")
    return Judged(
        verdict,
        load_validation(driver.workspace.evidence),
        SpeedUp.from_json(speed) if speed is not None else None,
    )


def judging_key(plan: Plan, dataset: Dataset, version: str) -> str:
    """Return what a verdict depends on, as hex."""
    gate = plan.campaign.gate.gate()
    return digest("judging", version, dataset.hash, plan.splits.to_json(), gate.to_json(), list(gate.beats))[:32]


def _difference(artifact: Path, table: SampleTable) -> float:
    return runtime_difference(artifact, table.inputs)
