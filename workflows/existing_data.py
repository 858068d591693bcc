"""Campaigns whose data exist already: what their columns are, and the plan in which nothing is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest
from surrogate.core.errors import ConfigError, DataError, SpaceError
from surrogate.core.schema import Schema
from surrogate.data.dataset import Dataset
from surrogate.data.manifest import NAME as MANIFEST
from surrogate.data.quarantine import NAME as QUARANTINE
from surrogate.data.split import SPLITS
from surrogate.design.samplers import Design
from surrogate.design.space import InputSpace
from workflows.config import CampaignConfig, data_parts
from workflows.described import Description, described, sketch_of
from workflows.driver import FINISHED, Driver, facts
from workflows.journal_records import FailureNote, RunStatus
from workflows.plan import Plan
from workflows.workspace import Workspace

NAME = "existing data"
STAGE = "ingest"
BEGIN = "Begin with: surrogate ingest {workdir} PATH... --mapping mapping.toml"


class ExistingData:
    """Stands where a simulator would (see `sim_wrappers.protocol.Simulator`); nothing can be asked of it."""

    name = NAME
    known_errors: tuple[KnownError, ...] = ()

    def __init__(self, description: Description) -> None:
        """Keep what the data are."""
        self._description = description

    def found(self) -> str | None:
        """Return None: nothing has to be installed."""
        return None

    def version(self, options: Mapping[str, Any]) -> str:
        """Return an empty text: the sources and their hashes are in each run's provenance."""
        del options
        return ""

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options; there are none."""
        return dict(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options; there are none."""
        return dict(options)

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return the inputs."""
        del options
        return self._description.space

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return the outputs and coordinates."""
        del options
        schema = self._description.schema
        return Schema((*schema.outputs, *schema.facts), schema.coordinates)

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Refuse."""
        del request, folder
        raise _nothing_to_ask()

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Refuse."""
        del request, folder
        raise _nothing_to_ask()

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Refuse."""
        del request, folder, stdout
        raise _nothing_to_ask()


def _nothing_to_ask() -> ConfigError:
    return ConfigError("This campaign has data that exist already and no simulator, so that nothing can be simulated.")


def is_ingested(campaign: CampaignConfig) -> bool:
    """Return whether a campaign's data exist already, so that they are ingested and not simulated."""
    return campaign.data is not None


def data_plan(campaign: CampaignConfig, description: Description) -> Plan:
    """Return the plan of a campaign whose data exist already: columns and splits, and no run.

    Args:
        campaign: A campaign with `[data]`.
        description: What its data are.
    """
    return Plan(
        campaign=campaign,
        simulator=ExistingData(description),
        version="",
        options={},
        space=description.space,
        schema=description.schema,
        splits=campaign.splits,
        design=Design((), 0, 0, 0),
        runs=(),
        parts=data_parts(campaign, description.space, description.schema),
        data=description.to_json(),
    )


def recorded_description(record: Mapping[str, Any] | None, workdir: Path) -> Description:
    """Return what a working directory's data are.

    Args:
        record: What the working directory's facts hold under `data`, or None.
        workdir: The working directory, for sentences.

    Raises:
        ConfigError: If nothing has been ingested there yet.
        IntegrityError: If the record is damaged.
    """
    if record is None:
        raise ConfigError(
            f"The campaign has [data] and no simulator, and nothing was ingested into {workdir} yet. "
            + BEGIN.format(workdir=workdir)
        )
    try:
        return Description.from_json(record)
    except (DataError, SpaceError) as error:
        raise ConfigError(f"{workdir} does not say what its data are: {error}") from error


def superseded(driver: Driver) -> frozenset[str]:
    """Return the refused runs whose sources were ingested again since, in a better form or by a better mapping."""
    stage = driver.journal.state.stages.get(STAGE)
    return frozenset(stage.record.get("superseded", ())) if stage is not None else frozenset()


def plan_existing(campaign: CampaignConfig, workdir: Path | None) -> Plan:
    """Return the plan of a campaign whose data exist already, as its working directory knows them.

    What the campaign's file says of inputs and outputs is held against what was fixed at the first ingest: a change
    makes it another campaign, which `workflows.driver.prepare` refuses.

    Args:
        campaign: A campaign with `[data]`.
        workdir: Its working directory.

    Raises:
        ConfigError: If nothing has been ingested yet, or the campaign's file contradicts what was.
    """
    root = workdir or Path(campaign.name)
    workspace = Workspace(root.resolve())
    record = facts(workspace).get("data") if workspace.facts_file.is_file() else None
    found = recorded_description(record, root)
    return data_plan(campaign, described(campaign, sketch_of(found)))


def ingested(driver: Driver, plan: Plan) -> Dataset:
    """Open the dataset of what was ingested.

    Raises:
        ConfigError: If nothing was taken, or the last ingest did not come to its end.
        DataError: If more was refused than the campaign allows.
        IntegrityError: If a shard is damaged.
    """
    workspace = driver.workspace
    stage = driver.journal.state.stages.get(STAGE)
    if stage is not None and stage.status != FINISHED:
        raise ConfigError(
            f"The last ingest into {workspace.root} did not come to its end. Give the same `surrogate ingest` command "
            "again; what it took already is kept."
        )
    if not workspace.dataset.is_dir() or not driver.journal.state.shards:
        raise ConfigError(f"No sample was taken into {workspace.root} yet. " + BEGIN.format(workdir=workspace.root))
    dataset = Dataset.open(workspace.dataset, verify="hash")
    _check_share(driver, plan, len(dataset))
    return dataset


def refusals(driver: Driver) -> list[tuple[str, FailureNote]]:
    """Return run id and reason of what was refused and not ingested in a better form since."""
    replaced = superseded(driver)
    return [
        (run.run_id, run.failure)
        for run in driver.journal.state.with_status(RunStatus.FAILED, RunStatus.QUARANTINED)
        if run.failure is not None and run.run_id not in replaced
    ]


def refused_samples(notes: Iterable[tuple[str, FailureNote]]) -> int:
    """Return how many samples these refusals stand for."""
    return sum(int((note.details or {}).get("samples", 1)) for _, note in notes)


def _check_share(driver: Driver, plan: Plan, taken: int) -> None:
    """Refuse to go on when too many samples were refused."""
    refused = refusals(driver)
    count = refused_samples(refused)
    allowed = plan.campaign.failures.allowed_share
    if count <= allowed * (count + taken):
        return
    first = refused[0][1].message
    raise DataError(
        f"{count} of {count + taken} samples were refused when they were ingested, and 'failures.allowed_share' is "
        f"{allowed:g}. The first was refused because: {first} All are listed in "
        f"{driver.workspace.dataset / QUARANTINE}. Correct the files or the mapping and ingest again; or allow a "
        "larger share."
    )


def counted(workspace: Workspace, plan: Plan) -> dict[str, Any]:
    """Return what of a plan's summary only the dataset knows: runs, samples, and how they are divided.

    Raises:
        IntegrityError: If a shard is damaged.
    """
    if not (workspace.dataset / MANIFEST).is_file():
        return {"runs": 0, "samples": 0}
    dataset = Dataset.open(workspace.dataset)
    counts = dataset.counts(plan.splits)
    splits = {split: counts[split].samples for split in SPLITS}
    return {"runs": len(set(dataset.index.runs.tolist())), "samples": len(dataset), "splits": splits}
