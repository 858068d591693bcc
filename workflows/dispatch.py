"""The loop of an ensemble: hands runs to workers and waits for what comes back, woken by it and by no clock."""

from __future__ import annotations

import heapq
import itertools
import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path

from surrogate.core.errors import SiteError
from surrogate.core.outcome import Failure, FailureKind, Outcome, Success, outcome_from_json
from workflows.adoption import is_worked_on, read_receipt, run_folder
from workflows.ensemble_records import Again, EnsembleRun, Recorder
from workflows.intake import BATCH, Intake
from workflows.pace import Pace
from workflows.session import Session
from workflows.tasks import refusing_block

TICK_S = 0.5
LOOK_AGAIN_S = 0.25
ORPHAN_WAIT_S = 30.0


class Dispatcher:
    """Executes runs on one Parsl until none is left."""

    def __init__(self, session: Session, intake: Intake, journal: Recorder, workdir: Path) -> None:
        """Bring the parts together.

        Args:
            session: A Parsl; started when there is work.
            intake: Takes outcomes in.
            journal: Records what is started.
            workdir: Working directory of the campaign.
        """
        self._session, self._intake, self._journal, self._workdir = session, intake, journal, workdir
        self._ready: deque[EnsembleRun] = deque()
        self._later: list[tuple[float, int, EnsembleRun, Failure | None]] = []
        self._outstanding: dict[str, EnsembleRun] = {}
        self._arrived: queue.SimpleQueue[tuple[int, str, Future[str]]] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._generation = 0
        self._pace = Pace()
        self._closed = False

    def run(self, todo: Iterable[Again], stop: threading.Event, drain: threading.Event | None = None) -> bool:
        """Execute runs, again where their budgets allow it, until each has come to its end.

        Args:
            todo: The runs.
            stop: Set it to leave; what is with the workers then is the caller's to end.
            drain: Set it to begin nothing more, and to leave when what is with the workers has ended.

        Returns:
            Whether everything came to its end; False when it was stopped.

        Raises:
            SiteError: If the site loses run after run, its workers cannot start, or one fails in our own code.
        """
        self._add(todo)
        while self._ready or self._later or self._outstanding:
            draining = drain is not None and drain.is_set()
            if stop.is_set() or (draining and not self._outstanding):
                return False
            self._closed = draining
            self._session.start()
            taken = self._due()
            self._submit()
            arrived = self._wait(patient=not taken)
            for run, future in arrived:
                outcome = self._outcome(run, future)
                if outcome is not None:
                    taken.append((run, outcome))
            # The workers get their next runs before this batch is recorded.
            self._submit()
            self._add(self._intake.take(taken))
            if not arrived and self._outstanding and not self._session.alive():
                self._recover()
        return True

    def _add(self, todo: Iterable[Again]) -> None:
        for again in todo:
            if again.delay_s > 0.0:
                self._later_on(again.run, None, again.delay_s)
            else:
                self._ready.append(again.run)

    def _later_on(self, run: EnsembleRun, failure: Failure | None, seconds: float) -> None:
        """Come back to a run after a while: to execute it, or to see whether its lost execution has ended."""
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._numbers), run, failure))

    def _due(self) -> list[tuple[EnsembleRun, Outcome]]:
        """Come back to the runs whose time has come."""
        settled: list[tuple[EnsembleRun, Outcome]] = []
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            _, _, run, failure = heapq.heappop(self._later)
            if failure is None:
                self._ready.append(run)
            elif (outcome := self._after_loss(run, failure)) is not None:
                settled.append((run, outcome))
        return settled

    def _submit(self) -> None:
        """Hand out runs until the workers and a short queue before them are full."""
        window = 2 * self._session.workers + 2
        requests = []
        while self._ready and not self._closed and len(self._outstanding) < window:
            run = self._ready.popleft()
            request = run.account.request(run.request)
            self._outstanding[request.run_id] = run
            requests.append(request)
        self._intake.with_workers(len(self._outstanding))
        if not requests:
            return
        for request in requests:
            self._journal.append({"event": "run.started", "run_id": request.run_id, "attempt": request.attempt})
            self._session.submit_run(request, self._pace.needs_s(request.resources)).add_done_callback(
                self._callback(request.run_id)
            )

    def _callback(self, run_id: str) -> Callable[[Future[str]], None]:
        """Return what puts a finished future into the queue; results of a Parsl that was given up are told apart."""
        generation = self._generation
        return lambda future: self._arrived.put((generation, run_id, future))

    def _wait(self, *, patient: bool) -> list[tuple[EnsembleRun, Future[str]]]:
        """Sleep until a result arrives or a delay ends; return all results that are there."""
        wait = TICK_S if patient else 0.0
        if self._later:
            wait = min(wait, max(0.0, self._later[0][0] - time.monotonic()))
        arrived: list[tuple[EnsembleRun, Future[str]]] = []
        while len(arrived) < BATCH:
            try:
                generation, run_id, future = self._arrived.get(timeout=0.0 if arrived else wait)
            except queue.Empty:
                break
            if generation == self._generation and run_id in self._outstanding:
                arrived.append((self._outstanding.pop(run_id), future))
        return arrived

    def _outcome(self, run: EnsembleRun, future: Future[str]) -> Outcome | None:
        """Return how an execution ended, or None when it has to be looked at again later.

        Raises:
            SiteError: If a worker failed in our own code, or no worker can work.
        """
        error = future.exception()
        if error is None:
            return self._answer(run, future.result())
        words = self._session.broken()
        if words is not None:
            raise SiteError(words) from error
        loss = self._session.lost(error)
        if loss is None:
            raise SiteError(
                f"A worker failed in our own code while it executed the run {run.request.run_id}: "
                f"{type(error).__name__}: {error}. Its log is below {self._session.logs}."
            ) from error
        return self._after_loss(run, _lost(run, *loss))

    def _answer(self, run: EnsembleRun, text: str) -> Outcome | None:
        """Return an Outcome; None when the worker's job ends too soon for the run, which goes to another one then."""
        block = refusing_block(text)
        if block is not None:
            self._session.retire(block)
            self._journal.append(
                {
                    "event": "run.requeued",
                    "run_id": run.request.run_id,
                    "reason": "The job it was sent to ends too soon.",
                }
            )
            self._later_on(run, None, LOOK_AGAIN_S)
            return None
        outcome = outcome_from_json(json.loads(text))
        if isinstance(outcome, Success):
            self._pace.learn(run.request.resources, outcome.seconds)
        return outcome

    def _after_loss(self, run: EnsembleRun, failure: Failure) -> Outcome | None:
        """Return what became of a run whose worker is said to be lost; None as long as somebody still works on it."""
        if is_worked_on(self._workdir, failure.run_id):
            self._later_on(run, failure, LOOK_AGAIN_S)
            return None
        receipt = read_receipt(self._workdir, failure.run_id)
        return receipt if receipt is not None and receipt.attempt == failure.attempt else failure

    def _recover(self) -> None:
        """Begin again with a new Parsl when the interchange of this one is gone."""
        sentence = "The process that hands out runs (Parsl's interchange) ended."
        self._generation += 1
        runs = list(self._outstanding.values())
        self._outstanding.clear()
        self._session.wind_up(ORPHAN_WAIT_S, [run.request.run_id for run in runs])
        taken: list[tuple[EnsembleRun, Outcome]] = []
        for run in runs:
            outcome = self._after_loss(run, _lost(run, FailureKind.NODE_LOST, sentence))
            if isinstance(outcome, Failure) and not run_folder(self._workdir, run.request.run_id).is_dir():
                self._ready.append(run)
            elif outcome is not None:
                taken.append((run, outcome))
        if not taken:
            self._intake.lose(sentence, executions=0)
        self._add(self._intake.take(taken))


def _lost(run: EnsembleRun, kind: FailureKind, sentence: str) -> Failure:
    """Return the failure of a run whose worker is gone."""
    return Failure(run.request.run_id, kind, sentence, attempt=run.account.attempts + 1)
