"""An ensemble: the runs of one design, executed, taken in, and packed into the dataset."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim_wrappers.protocol import RunRequest
from site_configs.site import Site
from surrogate.core.outcome import Failure
from surrogate.core.process import sweep_shared_memory
from surrogate.core.schema import Schema
from workflows.adoption import prune
from workflows.budgets import Budgets
from workflows.dispatch import Dispatcher
from workflows.ensemble_records import Counts, Keep, Packer, Recorder
from workflows.intake import Intake
from workflows.journal_records import Run as JournalRun
from workflows.session import Session

__all__ = ["Budgets", "Counts", "EnsembleResult", "run_ensemble"]


@dataclass(frozen=True, slots=True)
class EnsembleResult:
    """What became of an ensemble.

    Attributes:
        counts: Counts at the end.
        failures: Run id → last failure, of the runs that were given up or quarantined.
        interrupted: Whether it was stopped on request, with runs left to do.
        node_seconds: Seconds of all executions that were taken in, times their nodes.
        seconds: Wall-clock seconds.
    """

    counts: Counts
    failures: dict[str, Failure]
    interrupted: bool
    node_seconds: float
    seconds: float


def run_ensemble(
    requests: Sequence[RunRequest],
    *,
    workdir: Path,
    site: Site,
    campaign: str,
    schema: Schema,
    journal: Recorder,
    dataset_writer: Packer,
    budgets: Budgets | None = None,
    known: Mapping[str, JournalRun] | None = None,
    keep: Keep = "failed",
    progress: Callable[[Counts], None] | None = None,
    stop: threading.Event | None = None,
    drain: threading.Event | None = None,
    session: Session | None = None,
) -> EnsembleResult:
    """Bring every run of a design to its end, wherever an earlier session left it.

    Runs that are in the dataset or in the journal are not executed again, and what was finished while nobody was
    listening is adopted. A run that fails never stops the others.

    Args:
        requests: All runs of the design; their attempts and remedies are set here.
        workdir: Working directory of the campaign.
        site: Where to run.
        campaign: Identity of the campaign, carried by every process.
        schema: Inputs and outputs of a run file.
        journal: Records events; the caller holds the campaign's lock.
        dataset_writer: Packs admitted runs.
        budgets: What may be tried again how often.
        known: The journal's runs by id: where each stands, what it was charged, its stratum.
        keep: Whether folders of packed runs are removed (`failed`) or stay (`all`).
        progress: Called with the counts whenever they changed.
        stop: Set it to end the ensemble; every program is ended within seconds.
        drain: Set it to begin nothing more and to leave when everything that was begun has ended.
        session: A running Parsl to use; one is started and ended here when None and there is work.

    Returns:
        What became of it. When it was interrupted, calling again goes on.

    Raises:
        ResourceError: If a run can never fit the site, or this site takes one size only and there are several.
        SiteError: If the site loses run after run, its workers cannot start, or a worker fails in our own code.
    """
    begin = time.monotonic()
    owned = session is None
    if session is None and requests:
        sizes = list(dict.fromkeys(request.resources for request in requests))
        session = Session(site, workdir, sizes, campaign=campaign, schema=schema)
    budgets = budgets or Budgets()
    intake = Intake(
        workdir=workdir.resolve(),
        journal=journal,
        packer=dataset_writer,
        budgets=budgets,
        keep=keep,
        progress=progress or (lambda _: None),
        storm=budgets.storm + 2 * (session.workers if session is not None else 0),
    )
    complete = True
    try:
        todo = intake.plan(requests, known or {})
        if session is not None and todo:
            dispatcher = Dispatcher(session, intake, journal, workdir.resolve())
            complete = dispatcher.run(todo, stop or threading.Event(), drain)
    except BaseException:
        if session is not None:
            session.close()
        raise
    if session is not None and (owned or not complete):
        session.close()
    if complete:
        intake.finish()
        prune(workdir)
        sweep_shared_memory()
    return EnsembleResult(
        counts=intake.counts,
        failures=intake.failures,
        interrupted=not complete,
        node_seconds=intake.node_seconds,
        seconds=time.monotonic() - begin,
    )
