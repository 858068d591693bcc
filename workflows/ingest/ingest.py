"""`surrogate ingest`: files of somebody else's layout become samples of a campaign that has no simulator."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surrogate.core.errors import ConfigError, DataError, Interrupted, nearest
from surrogate.data.dataset import Dataset
from surrogate.data.readers.protocol import Sketch
from surrogate.data.run_file import read_run_file
from workflows.config import CampaignConfig
from workflows.described import described, refuse_idle_axes
from workflows.driver import Driver, driving, facts, prepare, reopen
from workflows.existing_data import (
    STAGE,
    data_plan,
    is_ingested,
    plan_existing,
    refusals,
    refused_samples,
    superseded,
)
from workflows.ingest.books import Books
from workflows.ingest.layout import Layout
from workflows.ingest.ranges import common_sketch, with_ranges
from workflows.ingest.sources import find_files
from workflows.ingest.taking import DrySink, Tally, go_through
from workflows.journal import JournalState, read_state
from workflows.journal_records import RunStatus
from workflows.plan import Plan
from workflows.progress import Progress
from workflows.stopping import Stopping
from workflows.workspace import Workspace

_SITE = "laptop"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What came of an ingest.

    Attributes:
        workdir: The working directory.
        dry_run: Whether nothing was written.
        tally: What became of the files.
        samples: Samples of the dataset now; None for a dry run.
        refused: Samples that stand refused now, those of earlier ingests included; None for a dry run.
        dataset_hash: Hash of the dataset; None for a dry run, or when it is empty.
    """

    workdir: Path
    dry_run: bool
    tally: Tally
    samples: int | None = None
    refused: int | None = None
    dataset_hash: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "workdir": str(self.workdir), "dry_run": self.dry_run, **self.tally.to_json(), "samples": self.samples,
            "refused": self.refused, "dataset_hash": self.dataset_hash,
        }  # fmt: skip


def ingest(
    workdir: Path,
    paths: Sequence[Path],
    layout: Layout,
    *,
    campaign: CampaignConfig | None = None,
    progress: Progress,
    stopping: Stopping | None = None,
) -> Ingested:
    """Take files into a campaign's dataset. What was taken before is left alone, whatever was interrupted.

    Args:
        workdir: Working directory of the campaign; made when missing.
        paths: Files, and folders of files.
        layout: How they are read.
        campaign: The campaign, needed when the working directory does not exist yet.
        progress: What a person is told.
        stopping: Whether somebody asked to stop.

    Raises:
        InputError: If the campaign has a simulator, mapping and campaign do not go together, or no file can be read.
        LockError: If somebody else works in the working directory.
        StorageError: If the disk is full or refuses.
        Interrupted: If somebody asked to stop; the same command goes on.
    """
    files, plan, site = _prepared(workdir, paths, layout, campaign, progress)
    workspace = prepare(plan, workdir, site)
    stopping = stopping or Stopping()
    with stopping.listening(), driving(plan.campaign, workspace, progress, stopping) as driver:
        key = layout.digest[:32]
        earlier = superseded(driver)
        # A stage that has begun keeps what earlier ingests replaced, also through an interruption.
        begun = {"event": "stage.started", "stage": STAGE, "key": key, "record": {"superseded": sorted(earlier)}}
        driver.journal.append(begun)
        driver.journal.commit()
        progress.stage(STAGE, len(files))
        books = Books(driver, plan, layout)
        tally = go_through(
            files,
            layout,
            plan,
            books,
            elsewhere=_held_elsewhere(workspace, driver.journal.state, layout),
            progress=lambda found: progress.update(found.files, _note(found)),
            stop=stopping.event,
        )
        books.finish()
        if tally is None:
            raise Interrupted("The ingest was interrupted. Give the same command again; what it took is kept.")
        replaced = earlier | _replaced(driver, layout, files, tally)
        record = {**tally.to_json(), "superseded": sorted(replaced), "mapping": layout.where}
        record.pop("reasons")
        driver.finish(STAGE, key, record)
        dataset = Dataset.open(workspace.dataset) if driver.journal.state.shards else None
        return Ingested(
            workspace.root,
            False,
            tally,
            len(dataset) if dataset is not None else 0,
            refused_samples(refusals(driver)),
            dataset.hash if dataset is not None else None,
        )


def dry_run(
    workdir: Path,
    paths: Sequence[Path],
    layout: Layout,
    *,
    campaign: CampaignConfig | None = None,
    progress: Progress,
) -> Ingested:
    """Say what `ingest` would take and what not; nothing is written.

    Args:
        workdir: As for `ingest`; it need not exist.
        paths: As for `ingest`.
        layout: As for `ingest`.
        campaign: As for `ingest`.
        progress: What a person is told.

    Raises:
        InputError: As `ingest`.
    """
    files, plan, _ = _prepared(workdir, paths, layout, campaign, progress)
    workspace = Workspace(workdir.resolve())
    loaded = read_state(workspace.journal)
    runs: dict[str, int] = {}
    elsewhere: frozenset[str] = frozenset()
    if loaded is not None:
        runs = {run.run_id: run.samples for run in loaded.state.runs.values()}
        elsewhere = _held_elsewhere(workspace, loaded.state, layout)
    progress.stage("dry run", len(files))
    tally = go_through(
        files,
        layout,
        plan,
        DrySink(runs),
        elsewhere=elsewhere,
        progress=lambda found: progress.update(found.files, _note(found)),
    )
    return Ingested(workdir.resolve(), True, tally or Tally())


def _prepared(
    workdir: Path, paths: Sequence[Path], layout: Layout, campaign: CampaignConfig | None, progress: Progress
) -> tuple[list[Path], Plan, str]:
    """Return the files, the plan and the site, after everything was checked that can be checked at once."""
    files = find_files(paths, layout.reader.suffixes, progress.say)
    workspace = Workspace(workdir.resolve())
    site = _SITE
    if workspace.facts_file.is_file():
        own, _ = reopen(workdir)
        campaign, site = campaign or own, str(facts(workspace)["site"])
    if campaign is None:
        raise ConfigError(
            f"{workdir} is not the working directory of a campaign yet. Say which one it is to be with --campaign FILE."
        )
    if not is_ingested(campaign):
        raise ConfigError(
            f"{campaign.where} has a simulator, and data are ingested into campaigns that have [data] instead of "
            "[simulator] and [design]."
        )
    if workspace.facts_file.is_file() and facts(workspace).get("data") is not None:
        plan = plan_existing(campaign, workdir)
        with contextlib.suppress(DataError):  # files that cannot be read are refused one by one
            _check_names(plan, _told(common_sketch(files, layout), progress), layout)
        return files, plan, site
    sketch = with_ranges(campaign, _told(common_sketch(files, layout), progress), files, layout, progress.say)
    description = described(campaign, sketch)
    refuse_idle_axes(description, layout.where)
    return files, data_plan(campaign, description), site


def _told(sketch: Sketch, progress: Progress) -> Sketch:
    """Tell what the reader assumes, and return the sketch."""
    for sentence in sketch.sentences:
        progress.say(sentence)
    return sketch


def _check_names(plan: Plan, sketch: Sketch, layout: Layout) -> None:
    """Refuse a mapping that has other inputs and outputs than the campaign."""
    names = {"inputs": list(sketch.inputs), "outputs": [column.name for column in sketch.outputs]}
    if sketch.space is not None:
        names["inputs"] = [column.name for column in sketch.space.columns]
    wanted = {"inputs": plan.schema.inputs, "outputs": (*plan.schema.outputs, *plan.schema.facts)}
    for table, columns in wanted.items():
        known = [column.name for column in columns]
        for name in names[table]:
            if name not in known:
                raise ConfigError(
                    f"In {layout.where}, '{table}.{name}' is none of the campaign's {table}; they are "
                    f"{', '.join(known)}.{nearest(name, known)}"
                )
        for name in known:
            if name not in names[table]:
                raise ConfigError(
                    f"In {layout.where}, '{table}.{name}' is missing: the campaign's samples have it."
                    f"{nearest(name, names[table])}"
                )


def _held_elsewhere(workspace: Workspace, state: JournalState, layout: Layout) -> frozenset[str]:
    """Return the contents that the dataset holds by another mapping."""
    found: list[dict[str, Any]] = []
    if state.shards:
        found += Dataset.open(workspace.dataset).provenance().values()
    for run in state.with_status(RunStatus.DONE):
        path = workspace.root / run.file.path if run.file is not None else None
        if path is not None and path.is_file():
            found.append(read_run_file(path).provenance)
    return frozenset(
        str(record["content"]) for record in found if record.get("mapping", {}).get("sha256") != layout.digest
    )


def _replaced(driver: Driver, layout: Layout, files: Sequence[Path], tally: Tally) -> frozenset[str]:
    """Return refused runs of earlier ingests whose files were gone through again, changed or by another mapping."""
    now, contents = {str(path) for path in files}, tally.contents
    held = set(contents.values())
    replaced = []
    for run_id, note in refusals(driver):
        details = note.details or {}
        file, content = str(details.get("file", "")), str(details.get("content", ""))
        same = details.get("mapping") == layout.digest and contents.get(file, "") == content
        if (file in now or content in held) and not same:
            replaced.append(run_id)
    return frozenset(replaced)


def _note(tally: Tally) -> str:
    """Return what a person wants to know beside the bar."""
    parts = [f"{tally.taken:,} samples"]
    parts += [f"{tally.known:,} known"] if tally.known else []
    parts += [f"{tally.refused:,} refused"] if tally.refused else []
    return ", ".join(parts)
