"""Dataset and journal brought to agree: what one of them has lost is taken up again from the other.

A shard that the journal does not know holds the provenance of its runs, so a lost journal costs no execution. A run
that the journal calls packed and that no shard holds has to be executed again.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from surrogate.core.errors import IntegrityError
from surrogate.core.outcome import Success
from surrogate.data import shards
from surrogate.data.columns import read_array
from surrogate.data.manifest import NAME, Manifest
from surrogate.data.sealed import open_sealed
from surrogate.data.shards import ShardRecord
from surrogate.data.writer import DatasetWriter
from workflows.driver import Driver
from workflows.journal import JournalState, RunStatus
from workflows.plan import Plan

PLANNED_AT_ONCE = 1000
_ADMITTED = (RunStatus.DONE, RunStatus.PACKED)


def plan_runs(driver: Driver, records: list[dict[str, Any]]) -> None:
    """Journal durably that runs are planned, in events of bearable size."""
    rest = iter(records)
    while chunk := list(islice(rest, PLANNED_AT_ONCE)):
        driver.journal.append({"event": "runs.planned", "runs": chunk})
    if records:
        driver.journal.commit()


def open_dataset(driver: Driver, plan: Plan) -> tuple[DatasetWriter, int]:
    """Open the dataset for writing, and bring it and the journal to agree.

    Args:
        driver: Holds the campaign; the runs of its plan are journalled.
        plan: The campaign and its design.

    Returns:
        The writer, and how many runs were lost from the dataset and are to be executed again.

    Raises:
        IntegrityError: If a shard is damaged, or the whole dataset is gone.
        DataError: If the dataset has other columns than the campaign.
    """
    folder, state = driver.workspace.dataset, driver.journal.state
    _refuse_if_gone(folder, state, driver.workspace.root)
    writer = DatasetWriter(folder, plan.schema)
    found = _take_up(driver, folder)
    if found:
        driver.progress.say(f"{found} runs of the dataset were not in the journal; they were taken up again.")
    packed = writer.packed
    lost = [run for run in state.with_status(RunStatus.PACKED) if run.run_id not in packed]
    for run in lost:
        reason = f"The shard {run.shard} that held it is gone."
        driver.journal.append({"event": "run.requeued", "run_id": run.run_id, "reason": reason, "shard": run.shard})
    if lost:
        driver.journal.commit()
        driver.progress.say(f"{len(lost)} runs that were packed are in no shard any more; they are to be done again.")
    return writer, len(lost)


def _refuse_if_gone(folder: Path, state: JournalState, workdir: Path) -> None:
    """Refuse to do everything again when the dataset's folder is simply not there, as on a disk that is not mounted."""
    packed = state.counts[RunStatus.PACKED]
    if packed and not (folder / shards.FOLDER).is_dir():
        raise IntegrityError(
            f"{packed} runs were packed into shards below {folder / shards.FOLDER}, and there is no such folder. Mount "
            "its disk, or restore it from a copy, then resume. To have the runs done again instead: "
            f"mkdir -p {shlex.quote(str(folder / shards.FOLDER))} && surrogate resume {shlex.quote(str(workdir))}"
        )


def _take_up(driver: Driver, folder: Path) -> int:
    """Journal the shards that the journal does not know; return how many of their runs it did not know as admitted."""
    if not (folder / NAME).is_file():
        return 0
    journal, found = driver.journal, 0
    for record in Manifest.read(folder).shards:
        known = journal.state.shards.get(record.file)
        if known is not None and known.sha256 == record.sha256:
            continue
        entries = list(_entries(folder / shards.FOLDER / record.file, record, driver.workspace.root))
        runs = journal.state.runs
        plan_runs(driver, [planned for planned, _ in entries if planned["run_id"] not in runs])
        for _, success in entries:
            if runs[success.run_id].status not in _ADMITTED:
                journal.append({"event": "run.finished", **success.to_json()})
                found += 1
        names = [success.run_id for _, success in entries]
        journal.append({"event": "shards.written", "runs": names, "shard": record.file, "sha256": record.sha256})
        journal.commit()
    return found


def _entries(path: Path, record: ShardRecord, workdir: Path) -> Iterator[tuple[dict[str, Any], Success]]:
    """Yield each run of a shard as it would have been planned, and its success."""
    with open_sealed(path, shards.KIND, shards.FORMAT_VERSION, shards.WAY_OUT, verify=False) as (file, _):
        provenance = shards.read_provenance(file)
        strata = [str(stratum) for stratum in read_array(file["runs/stratum"])]
        samples = np.bincount(file["samples/run"][()], minlength=len(strata)).tolist()
    for (run_id, facts), stratum, count in zip(provenance.items(), strata, samples, strict=True):
        yield (
            {"run_id": run_id, "inputs": dict(facts.get("inputs") or {}), "stratum": stratum},
            Success(
                run_id,
                os.path.relpath(path, workdir),
                record.size,
                record.sha256,
                record.mtime_ns,
                samples=count,
                seconds=float(facts.get("seconds") or 0.0),
                host=str(facts.get("host") or ""),
                launch_line=tuple(str(word) for word in facts.get("launch_line") or ()),
                attempt=int(facts.get("attempt") or 1),
            ),
        )
