"""Filling a campaign's report: what was judged, what it cost, what it was made from."""

from __future__ import annotations

from datetime import UTC, datetime

from surrogate import __version__
from surrogate.core.files import read_json
from surrogate.core.schema import SampleTable
from surrogate.data.dataset import Dataset
from surrogate.inference.artifact import RECORD
from surrogate.models.panels import HasPanels, Panel
from surrogate.models.protocols import Prediction
from surrogate.registry.store import Registry
from surrogate.validation.report import ReportData, StageCost, write_report
from workflows.driver import Driver
from workflows.journal import Stage
from workflows.judge import STAGE as VALIDATE
from workflows.judge import Judged, judged_before
from workflows.learn import STAGE as TRAIN
from workflows.learning_checks import find_family
from workflows.plan import Plan
from workflows.promotion import standing
from workflows.simulate import STAGE as SIMULATE
from workflows.simulate import spent

_HOW = (
    "Node-seconds are wall-clock seconds times nodes, by the clocks of the workers: of the last execution of every "
    "run, and of the training. Wall-clock seconds are those between the journal's entries for the stage's begin and "
    "end; the validation's ends when this report is written."
)


def write_campaign_report(driver: Driver, plan: Plan, dataset: Dataset, judged: Judged, registry: Registry) -> None:
    """Write the report of a judged surrogate.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        dataset: All admitted samples.
        judged: What came of judging.
        registry: Where the version lives.

    Raises:
        IntegrityError: If the version or the data card is damaged.
        MissingExtraError: If the packages for pictures are not installed.
    """
    workspace, campaign, verdict = driver.workspace, plan.campaign, judged.verdict
    artifact = registry.artifact(verdict.version, campaign.name)
    design = judged.validation.design
    current = registry.current(campaign.name)
    data = ReportData(
        campaign=campaign.title or campaign.name,
        validation=judged.validation,
        verdict=verdict,
        surrogate=read_json(artifact / RECORD),
        space=plan.space,
        outcome=_outcome(verdict.version, current, standing(plan, verdict, registry).awaiting),
        description=campaign.description.strip(),
        card=read_json(workspace.card) if workspace.card.is_file() else None,
        stages=_costs(driver, plan),
        stages_how=_HOW,
        speed_up=judged.speed,
        lineage=_lineage(plan, dataset, registry, verdict.version),
        panels=_panels(plan, design.truth, design.prediction),
        commands={
            "Predict points": f"surrogate predict {workspace.root} --input points.csv --output predictions.h5",
            "Judge again": f"surrogate validate {workspace.root}",
            "Lineage": f"surrogate lineage {workspace.root}",
        },
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        program=f"surrogate-hpc {__version__}",
    )
    write_report(workspace.report, data)


def renew_report(driver: Driver, plan: Plan, registry: Registry) -> None:
    """Write the report of the last judging again, from its files; the holdout is not consulted.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        registry: Where the version lives.

    Raises:
        IntegrityError: If a file is damaged or missing.
        MissingExtraError: If the packages for pictures are not installed.
    """
    dataset = Dataset.open(driver.workspace.dataset)
    write_campaign_report(driver, plan, dataset, judged_before(driver), registry)


def _outcome(version: str, current: str | None, awaiting: bool) -> str:
    if version == current:
        return f"Version {version} is the current one in the registry."
    kept = f"version {current} stays current" if current else "no version is current"
    if awaiting:
        return f"Version {version} has passed and waits for a person's approval; until then {kept}."
    return f"Version {version} was not promoted; {kept}."


def _panels(plan: Plan, truth: SampleTable, prediction: Prediction) -> tuple[Panel, ...]:
    family = find_family(plan.campaign)
    return tuple(family.panels(truth, prediction)) if isinstance(family, HasPanels) else ()


def _lineage(plan: Plan, dataset: Dataset, registry: Registry, version: str) -> dict[str, object]:
    record = registry.show(version, plan.campaign.name)["record"]
    return {
        "Version": version,
        "Dataset": f"{dataset.hash} ({len(dataset)} samples)",
        "Simulator": f"{plan.simulator.name} {plan.version}".strip(),
        "Campaign": f"{plan.campaign.name} ({plan.identity[:16]}…)",
        **{
            label: record[key]
            for label, key in (
                ("Parent", "parent"),
                ("Launch lines", "launch_lines"),
                ("Code", "code"),
                ("Environment", "environment"),
            )
            if record.get(key)
        },
    }


def _costs(driver: Driver, plan: Plan) -> tuple[StageCost, ...]:
    """Return what each stage cost, from the journal."""
    stages = driver.journal.state.stages
    cost = spent(driver, plan)
    resources = plan.campaign.resources.request()
    runs = f"{len(plan.runs)} runs on {resources.ranks} rank{'s' if resources.ranks > 1 else ''} each"
    found = []
    if SIMULATE in stages:
        stage = stages[SIMULATE]
        found.append(StageCost(SIMULATE, cost.node_seconds, _elapsed(stage, stage.ended_at), runs))
    if TRAIN in stages and stages[TRAIN].record:
        stage, train = stages[TRAIN], plan.campaign.train
        seconds = float(stage.record["seconds"]) * train.nodes
        detail = f"{plan.campaign.model.members} members on {train.ranks} rank{'s' if train.ranks > 1 else ''}"
        found.append(StageCost(TRAIN, seconds, _elapsed(stage, stage.ended_at), detail))
    if VALIDATE in stages:
        ended = stages[VALIDATE].ended_at
        wall = _elapsed(stages[VALIDATE], ended or datetime.now(UTC).timestamp())
        found.append(StageCost(VALIDATE, wall, wall, "holdout, baselines, latency; on the driver's node"))
    return tuple(found)


def _elapsed(stage: Stage, until: float) -> float:
    """Return the seconds from a stage's start to a moment; 0 when the clock was set back between."""
    return max(0.0, until - stage.started_at)
