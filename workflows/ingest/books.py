"""Taking judged pieces into a campaign: run files, the journal, the shards, the quarantine.

A piece becomes a run, as if a simulator had been asked. Its samples that cannot be used become refused runs of their
own, so that counts, card and quarantine speak of samples.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.folders import RUN_FILE, flushed
from sim_wrappers.protocol import RunRequest
from surrogate.core.errors import IntegrityError
from surrogate.core.files import sha256_file
from surrogate.core.outcome import Failure, Outcome, Success
from surrogate.core.storage import storage_error
from surrogate.data.admission import admit
from surrogate.data.quarantine import Quarantine, Refused
from surrogate.data.readers.protocol import Piece
from surrogate.data.run_file import RunFile, write_run_file
from workflows.adoption import run_folder
from workflows.driver import Driver
from workflows.ensemble_records import EnsembleRun
from workflows.existing_data import NAME
from workflows.ingest.layout import Layout
from workflows.ingest.sift import RefusedSamples, Sifted
from workflows.ingest.sources import SourceFile
from workflows.intake import Intake
from workflows.journal_records import RunStatus
from workflows.plan import DESIGN_STRATUM, Plan
from workflows.reconcile import open_dataset


class Books:
    """Where an ingest writes what it takes and what it refuses (see `workflows.ingest.taking.Sink`)."""

    def __init__(self, driver: Driver, plan: Plan, layout: Layout) -> None:
        """Open the books; what an interrupted ingest had taken and not packed is taken up first.

        Raises:
            DataError: If the dataset has other columns than the campaign.
            IntegrityError: If a shard is damaged.
        """
        self._driver, self._plan, self._layout = driver, plan, layout
        self._quarantine = Quarantine(driver.workspace.dataset)
        self._intake = Intake(
            workdir=driver.workspace.root,
            journal=driver.journal,
            packer=open_dataset(driver, plan)[0],
            budgets=plan.campaign.failures.budgets(),
            keep=plan.campaign.failures.keep,
            progress=lambda _: None,
            storm=plan.campaign.failures.storm,
        )
        waiting = [run.run_id for run in driver.journal.state.with_status(RunStatus.DONE)]
        for run_id in waiting:
            self._intake.plan([_request(run_id)], driver.journal.state.runs)

    def known(self, source: SourceFile, piece: Piece) -> int | None:
        """Return how many samples are known of a piece (see `Sink.known`)."""
        run_id = source.run_id(piece)
        runs = self._driver.journal.state.runs
        run = runs.get(run_id)
        if run is None or run.status is RunStatus.PLANNED:
            return None
        if self._intake.plan([_request(run_id)], runs):
            return None
        return runs[run_id].samples

    def put(self, source: SourceFile, piece: Piece, sifted: Sifted) -> None:
        """Take in a judged piece (see `Sink.put`).

        Raises:
            StorageError: If the disk is full or refuses.
        """
        run_id = source.run_id(piece)
        for entry in sifted.refused:
            row = entry.row
            self._refuse(run_id if row is None else source.run_id(piece, row), source.path, source, entry)
        if sifted.kept is None:
            return
        inputs = _only_point(sifted.kept, self._plan) if sifted.kept.samples == 1 else {}
        run = self._planned(run_id, inputs)
        again = self._intake.take([(run, self._write(run, source, piece, sifted, sifted.kept))])
        if again:
            raise IntegrityError(
                f"The run file of {source.path} does not read back as it was written; the disk below "
                f"{self._driver.workspace.runs} is not to be trusted."
            )

    def unreadable(self, path: Path, source: SourceFile | None, refused: RefusedSamples) -> None:
        """Take in that a file cannot be read (see `Sink.unreadable`)."""
        named = source or SourceFile(path, "", {"name": str(path)}, self._layout.digest)
        self._refuse(named.run_id(None), path, source, refused)

    def finish(self) -> None:
        """Pack what waits."""
        self._intake.finish()
        self._driver.journal.commit()

    def _planned(self, run_id: str, inputs: Mapping[str, Any]) -> EnsembleRun:
        """Journal that there is such a run, and return it."""
        runs = self._driver.journal.state.runs
        if run_id not in runs:
            record = {"run_id": run_id, "inputs": dict(inputs), "stratum": DESIGN_STRATUM}
            self._driver.journal.append({"event": "runs.planned", "runs": [record]})
        return EnsembleRun.of(_request(run_id), runs[run_id])

    def _refuse(self, run_id: str, path: Path, source: SourceFile | None, entry: RefusedSamples) -> None:
        """File samples that cannot be used; what is filed already stays as it is."""
        run = self._planned(run_id, entry.inputs)
        reason = entry.reason if str(path) in entry.reason else f"{path}: {entry.reason}"
        self._quarantine.add(Refused(run_id, entry.kind, reason, dict(entry.inputs), str(path)))
        if run.status in (RunStatus.FAILED, RunStatus.QUARANTINED):
            return
        details = {
            "samples": entry.samples,
            "file": str(path),
            "content": source.content if source is not None else "",
            "mapping": self._layout.digest,
        }
        remedy = "Correct the file or the mapping, and ingest again."
        failure = Failure(
            run_id,
            entry.kind,
            reason,
            retryable=False,
            remedy_text=remedy,
            host=platform.node(),
            details=details,
        )
        self._intake.take([(run, failure)])

    def _write(self, run: EnsembleRun, source: SourceFile, piece: Piece, sifted: Sifted, kept: RunFile) -> Outcome:
        """Write the run file of a piece and let admission judge it once more, as it is on disk."""
        run_id, root = run.request.run_id, self._driver.workspace.root
        path = run_folder(root, run_id) / RUN_FILE
        provenance = {
            "simulator": NAME,
            "run_id": run_id,
            "source": {"file": str(source.path), "sha256": source.sha256, "tags": dict(source.tags)},
            "samples": {"start": piece.start, "stop": piece.stop, "left_out": list(sifted.left_out)},
            "mapping": {"sha256": self._layout.digest, "format": self._layout.reader.name},
            "content": source.content,
        }
        try:
            write_run_file(path, kept.schema, kept.columns, kept.groups, provenance, durable=False)
            admission = admit(path, self._plan.schema)
            if not admission.ok:
                raise IntegrityError(f"{path} was written from {source.path} and is refused: {admission.reason}")
            status = flushed(path)
            return Success(
                run_id=run_id,
                path=str(path.relative_to(root)),
                size=status.st_size,
                sha256=sha256_file(path),
                mtime_ns=status.st_mtime_ns,
                samples=admission.samples,
                seconds=0.0,
                host=platform.node(),
                launch_line=(),
                attempt=run.account.attempts + 1,
            )
        except OSError as error:
            raise storage_error(path, error) from error


def _request(run_id: str) -> RunRequest:
    return RunRequest(run_id, NAME, {}, {})


def _only_point(run: RunFile, plan: Plan) -> dict[str, Any]:
    """Return the point of a run of one sample, where its inputs are single values."""
    values = {column.name: run.columns[column.name] for column in plan.schema.inputs}
    if any(getattr(value, "ndim", 2) != 1 for value in values.values()):
        return {}
    return {name: value[0].item() for name, value in values.items()}
