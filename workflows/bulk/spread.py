"""Sharing the parts of a prediction among the workers of a site."""

from __future__ import annotations

import concurrent.futures
import json
from collections import Counter, deque
from concurrent.futures import Future

from site_configs.resources import ResourceRequest
from site_configs.site import Site
from surrogate.core.errors import InputError, Interrupted, SiteError, SurrogateError
from surrogate.design.points_chunks import PointsFile
from surrogate.inference.predictor import Predictor
from workflows.bulk.parts_folder import PartsFolder
from workflows.prediction_part import PartTask
from workflows.progress import Progress
from workflows.session import Session
from workflows.stopping import Stopping

LOSSES = 3
"""Losses of one part, and restarts of Parsl in a row without a finished part, after which the site is given up."""

RESOURCES = ResourceRequest(walltime_s=3600)
_LOOK_S = 0.5


def spread(
    predictor: Predictor,
    found: PointsFile,
    folder: PartsFolder,
    *,
    site: Site,
    runtime: str,
    progress: Progress,
    stopping: Stopping,
) -> int:
    """Have every part predicted that is not there yet.

    Args:
        predictor: The surrogate.
        found: The points.
        folder: Where the parts go.
        site: Where the workers are.
        runtime: What executes the networks.
        progress: What a person is told.
        stopping: Whether somebody asked to stop.

    Returns:
        How many parts an earlier call had finished.

    Raises:
        InputError: If a point cannot be used.
        SiteError: If the workers cannot work, or get lost again and again.
        Interrupted: If somebody asked to stop.
    """
    count = len(found.chunks)
    todo = folder.lacking(count)
    adopted = count - len(todo)
    if adopted:
        progress.say(f"{adopted} of {count} parts were predicted before; they are kept.")
    progress.update(adopted)
    if todo:
        session = Session(site, folder.root, RESOURCES, campaign=folder.tag)
        try:
            _Spreading(session, predictor, found, folder, runtime).run(todo, progress, stopping)
        finally:
            session.close()
    return adopted


class _Spreading:
    """The loop that keeps the workers busy; a few parts wait before each of them, so that memory stays flat."""

    def __init__(
        self, session: Session, predictor: Predictor, found: PointsFile, folder: PartsFolder, runtime: str
    ) -> None:
        self._session, self._predictor, self._found = session, predictor, found
        self._folder, self._runtime = folder, runtime
        self._losses: Counter[int] = Counter()
        self._restarts = 0
        self._done = 0

    def run(self, todo: list[int], progress: Progress, stopping: Stopping) -> None:
        """Predict the parts `todo`."""
        ready, running = deque(todo), dict[Future[str], int]()
        before = len(self._found.chunks) - len(todo)
        while ready or running:
            if stopping.event.is_set():
                raise Interrupted(
                    "The prediction was interrupted; what is finished is kept. Give the same command again to go on."
                )
            self._session.start()
            while ready and len(running) < 2 * self._session.workers + 2:
                number = ready.popleft()
                running[self._session.submit_part(self._task(number))] = number
            done, _ = concurrent.futures.wait(running, timeout=_LOOK_S, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                number = running.pop(future)
                if not self._take(number, future):
                    ready.append(number)
            if done:
                progress.update(before + self._done)
            elif not self._session.alive():
                ready.extendleft(sorted(running.values(), reverse=True))
                running.clear()
                self._restart(progress)

    def _task(self, number: int) -> PartTask:
        return PartTask(
            str(self._predictor.artifact.folder.resolve()),
            self._predictor.artifact.content,
            self._runtime,
            str(self._found.path.resolve()),
            self._found.names,
            self._found.chunks[number],
            str(self._folder.part(number)),
        )

    def _take(self, number: int, future: Future[str]) -> bool:
        """Take in how a part ended; return False when it goes again.

        Raises:
            InputError, SurrogateError: If a worker says that it cannot be predicted.
            SiteError: If it was lost too often, or a worker failed in our own code.
        """
        error = future.exception()
        if error is None:
            record = json.loads(future.result())
            if "error" in record:
                kind = InputError if record["exit_code"] == InputError.exit_code else SurrogateError
                raise kind(record["error"])
            self._done += 1
            self._restarts = 0
            return True
        broken = self._session.broken()
        lost = self._session.lost(error)
        if broken is not None or lost is None:
            raise SiteError(
                f"The workers of the site cannot predict: {broken or f'{type(error).__name__}: {error}'}. "
                f"Their logs are below {self._session.logs}. Mend that and give the same command again."
            ) from error
        self._losses[number] += 1
        if self._losses[number] > LOSSES:
            raise SiteError(
                f"Part {number} of the prediction was lost {self._losses[number]} times. The last time: {lost[1]} "
                "Give the same command again to go on; a smaller --rows-per-chunk takes less memory."
            ) from error
        return False

    def _restart(self, progress: Progress) -> None:
        """Begin again with a new Parsl."""
        self._restarts += 1
        if self._restarts > LOSSES:
            raise SiteError(
                f"The process that hands out parts (Parsl's interchange) ended {self._restarts} times, with no part "
                f"finished between. Its logs are below {self._session.logs}. Give the same command again to go on."
            )
        progress.say("The process that hands out parts (Parsl's interchange) ended; another one is started.")
        self._session.close()
