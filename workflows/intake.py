"""Taking in what became of runs: the journal, the dataset, the budgets, the counts.

The order in which things are made durable is what lets a killed driver resume without doing anything twice: the run's
own receipt (written by the worker), the journal, the shard, the journal again, and only then is the folder removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_wrappers.protocol import RunRequest
from surrogate.core.errors import IntegrityError, SiteError
from surrogate.core.outcome import Budget, Failure, Outcome, Success
from surrogate.core.storage import storage_error
from surrogate.data.writer import Packed
from workflows.adoption import folders, is_intact, packed_where, read_receipt, remove_run, run_folder
from workflows.budgets import Budgets, Ruling, delay_s, rule
from workflows.ensemble_records import Again, Counts, EnsembleRun, Keep, Packer, Recorder
from workflows.journal_records import Run as JournalRun
from workflows.journal_records import RunStatus

BATCH = 256


class Intake:
    """The books of one ensemble.

    Attributes:
        counts: How far it is.
        failures: Run id → last failure, of the runs that were given up or quarantined.
        node_seconds: Seconds of all executions that were taken in, times their nodes.
    """

    def __init__(
        self,
        *,
        workdir: Path,
        journal: Recorder,
        packer: Packer,
        budgets: Budgets,
        keep: Keep,
        progress: Callable[[Counts], None],
        storm: int,
    ) -> None:
        """Open the books.

        Args:
            workdir: Working directory of the campaign.
            journal: Records events.
            packer: Packs admitted runs.
            budgets: What may be tried again how often.
            keep: Whether folders of packed runs are removed.
            progress: Called with the counts when they changed.
            storm: Losses in a row after which the ensemble stops.
        """
        self.counts = Counts()
        self.failures: dict[str, Failure] = {}
        self.node_seconds = 0.0
        self._workdir, self._journal, self._packer = workdir, journal, packer
        self._budgets, self._keep, self._progress, self._storm = budgets, keep, progress, storm
        self._losses_in_a_row = 0

    def plan(self, requests: Sequence[RunRequest], known: Mapping[str, JournalRun]) -> list[Again]:
        """Sort the runs into those that are done, those that can be adopted, and those that must be executed.

        Args:
            requests: All runs of the ensemble.
            known: The journal's runs.

        Returns:
            Those that must be executed.
        """
        self._count(total=len(requests))
        packed = self._packer.packed
        runs = [EnsembleRun.of(request, known.get(request.run_id)) for request in requests]
        self._recall_shards([run for run in runs if run.request.run_id in packed])
        self._clear(packed)
        todo: list[Again] = []
        found: list[tuple[EnsembleRun, Outcome]] = []
        for run in runs:
            if self._is_settled(run, packed):
                continue
            outcome = self._left_behind(run)
            if outcome is None:
                todo.append(Again(run))
            else:
                found.append((run, outcome))
            if len(found) >= BATCH:
                todo += self.take(found, adopted=True)
                found = []
        return todo + self.take(found, adopted=True)

    def _is_settled(self, run: EnsembleRun, packed: frozenset[str]) -> bool:
        """Tell whether nothing is left to do for a run, and count it then."""
        if run.request.run_id in packed:
            self._count(finished=1)
            return True
        last = run.known.outcome() if run.known is not None else None
        if run.status in (RunStatus.DONE, RunStatus.PACKED):
            if isinstance(last, Success) and is_intact(self._workdir, last) and self._store(run, last) is None:
                self._count(finished=1)
                return True
            self._requeue(run.request.run_id, "Its run file or its shard is gone or damaged.")
        elif isinstance(last, Failure) and run.status in (RunStatus.FAILED, RunStatus.QUARANTINED):
            ruling = rule(last, run.account, self._budgets)
            if run.status is RunStatus.QUARANTINED:
                ruling = Ruling.QUARANTINED
            if ruling is not Ruling.AGAIN:
                self._close(last, ruling)
                return True
        return False

    def _left_behind(self, run: EnsembleRun) -> Outcome | None:
        """Return the outcome that lies in a run's folder and that nobody has recorded."""
        run_id = run.request.run_id
        receipt = read_receipt(self._workdir, run_id)
        if receipt is not None and (isinstance(receipt, Success) or receipt.attempt > run.recorded):
            return receipt
        if run.status is RunStatus.RUNNING and run.known is not None and run_folder(self._workdir, run_id).is_dir():
            # It was begun and never came to its end: that attempt is used up, and charged to nothing.
            run.account = replace(run.account, attempts=run.known.attempts)
        return None

    def take(self, arrivals: Iterable[tuple[EnsembleRun, Outcome]], *, adopted: bool = False) -> list[Again]:
        """Record how executions ended; return the runs that are to be executed once more.

        Args:
            arrivals: Runs and their outcomes.
            adopted: Whether they ended while nobody was listening.

        Raises:
            SiteError: If the infrastructure loses run after run.
        """
        arrivals = list(arrivals)
        if not arrivals:
            return []
        for _, outcome in arrivals:
            self._journal.append(_event(outcome))
        again: list[Again] = []
        for run, outcome in arrivals:
            self._count(**{"adopted" if adopted else "executed": 1})
            self.node_seconds += outcome.seconds * run.request.resources.nodes
            again += self._success(run, outcome) if isinstance(outcome, Success) else self._charge(run, outcome)
        self._progress(self.counts)
        return again

    def finish(self) -> None:
        """Pack what still waits."""
        try:
            packed = self._packer.flush()
        except OSError as error:
            raise storage_error(self._workdir / "dataset", error) from error
        self._record_packed(packed)
        self._progress(self.counts)

    def with_workers(self, number: int) -> None:
        """Note how many runs are with the workers."""
        self.counts = replace(self.counts, running=number)

    def _success(self, run: EnsembleRun, success: Success) -> list[Again]:
        """Take in a success; the run goes again when its file is no longer what was admitted."""
        run.account = replace(run.account, attempts=max(run.account.attempts + 1, success.attempt))
        trouble = self._store(run, success)
        if trouble is None:
            self._losses_in_a_row = 0
            self._count(finished=1)
            return []
        self._requeue(success.run_id, trouble)
        self.lose(trouble)
        return [Again(run)]

    def _charge(self, run: EnsembleRun, failure: Failure) -> list[Again]:
        """Charge a failure to its budget; return the run if it goes again."""
        run.account = run.account.charged(failure)
        if failure.budget is Budget.INFRASTRUCTURE:
            self.lose(failure.message)
        else:
            self._losses_in_a_row = 0
            self._count(solver_failures=1 if failure.budget is Budget.SOLVER else 0)
        ruling = rule(failure, run.account, self._budgets)
        if ruling is Ruling.AGAIN:
            return [Again(run, delay_s(failure, run.account))]
        self._close(failure, ruling)
        return []

    def lose(self, sentence: str, executions: int = 1) -> None:
        """Note a loss; many of them without a result between end the ensemble.

        Args:
            sentence: What was lost.
            executions: How many executions went with it.

        Raises:
            SiteError: If there were too many.
        """
        self._count(losses=executions)
        self._losses_in_a_row += 1
        if self._losses_in_a_row > self._storm:
            raise SiteError(
                f"The site failed {self._losses_in_a_row} times, one after the other, with no result between; "
                f"the ensemble stops here. The last one: {sentence} Mend that, then resume; nothing was charged."
            )

    def _close(self, failure: Failure, ruling: Ruling) -> None:
        """File a run that is not executed again."""
        self.failures[failure.run_id] = failure
        self._count(**{"quarantined" if ruling is Ruling.QUARANTINED else "failed": 1})

    def _requeue(self, run_id: str, reason: str) -> None:
        self._journal.append({"event": "run.requeued", "run_id": run_id, "reason": reason})

    def _store(self, run: EnsembleRun, success: Success) -> str | None:
        """Hand a run to the dataset; return a sentence when its file is damaged."""
        try:
            self._packer.add_run(success.run_id, self._workdir / success.path, run.stratum)
        except IntegrityError as error:
            return str(error)
        except OSError as error:
            raise storage_error(self._workdir / "dataset", error) from error
        if not self._packer.waiting:
            self._record_packed(self._packer.flush())
        return None

    def _record_packed(self, packed: Iterable[Packed]) -> None:
        """Record shards, then remove the folders that nobody needs any more."""
        for shard in packed:
            self._journal.append(
                {"event": "shards.written", "runs": list(shard.runs), "shard": shard.shard, "sha256": shard.sha256}
            )
            self._journal.commit()
            if self._keep != "all":
                for run_id in shard.runs:
                    remove_run(self._workdir, run_id)

    def _recall_shards(self, packed: Iterable[EnsembleRun]) -> None:
        """Record the shards that were written when the driver was killed, before it could record them."""
        forgotten = {
            run.request.run_id for run in packed if run.known is not None and run.status is not RunStatus.PACKED
        }
        if forgotten:
            self._record_packed(
                Packed(shard.shard, shard.sha256, tuple(run_id for run_id in shard.runs if run_id in forgotten))
                for shard in packed_where(self._workdir / "dataset", forgotten)
            )

    def _clear(self, packed: frozenset[str]) -> None:
        """Remove the folders of packed runs that a driver left which ended before it came to that."""
        if self._keep != "all":
            for run_id in [run_id for run_id in folders(self._workdir) if run_id in packed]:
                remove_run(self._workdir, run_id)

    def _count(self, **more: int) -> None:
        self.counts = replace(self.counts, **{name: getattr(self.counts, name) + by for name, by in more.items()})


def _event(outcome: Outcome) -> dict[str, Any]:
    """Return the journal's event of an outcome."""
    return {"event": "run.finished" if isinstance(outcome, Success) else "run.failed", **outcome.to_json()}
