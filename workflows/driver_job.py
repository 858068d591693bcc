"""The driver as a job: `python -m workflows.driver_job WORKDIR [--registry DIR]`, started by the script of `submit`.

Its successor waits in the queue from the first second on, so that the campaign goes on whatever ends this job: its
walltime, a lost node, kill -9. It is taken out again as soon as nothing is left for it to do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from surrogate.core.errors import IntegrityError, Interrupted, SiteError, SurrogateError
from surrogate.core.files import read_json, write_json
from workflows import jobs
from workflows.campaign import resume_campaign
from workflows.cancel import end_drivers
from workflows.journal import read_state
from workflows.progress import Lines
from workflows.submit import successor
from workflows.workspace import Workspace

GATE_FAILED = 3
# Drivers in a row that end without having brought anything forward.
_IDLE_DRIVERS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Go on with a campaign; return the exit code.

    Args:
        arguments: Words after the program's name.
    """
    parser = argparse.ArgumentParser(prog="workflows.driver_job", description="Drive a campaign from inside a job.")
    parser.add_argument("workdir", type=Path)
    parser.add_argument("--registry", type=Path, default=None)
    given = parser.parse_args(arguments)
    progress = Lines()
    try:
        workspace = Workspace.open(given.workdir)
        uid = _uid(workspace)
        _check_progress(workspace)
    except SurrogateError as error:
        progress.say(str(error))
        return error.exit_code
    later = _submit_successor(workspace, progress)
    try:
        result = resume_campaign(workspace.root, None, registry=given.registry, progress=progress)
    except Interrupted as stop:
        progress.say(str(stop))
        if later is None:
            _submit_successor(workspace, progress)
        return 0
    except SurrogateError as error:
        progress.say(str(error))
        _end(uid, progress)
        return error.exit_code
    except BaseException:
        _end(uid, progress)
        raise
    _end(uid, progress)
    progress.say(result.verdict.sentence)
    return 0 if result.verdict.passed else GATE_FAILED


def _submit_successor(workspace: Workspace, progress: Lines) -> str | None:
    """Put the next driver into the queue; where that is refused, it is tried once more at this one's end."""
    try:
        return successor(workspace)
    except SiteError as error:
        progress.say(f"The next driver cannot be submitted now: {error}")
        return None


def _end(campaign: str, progress: Lines) -> None:
    """Take the successor out of the queue."""
    try:
        end_drivers(campaign)
    except SiteError as error:
        progress.say(f"The next driver is in the queue for nothing, and SLURM does not take it out: {error}")


def _uid(workspace: Workspace) -> str:
    """Return the identity of the campaign.

    Raises:
        IntegrityError: If there is no journal.
    """
    loaded = read_state(workspace.journal)
    if loaded is None:
        raise IntegrityError(f"There is no journal in {workspace.journal}. Submit the campaign again.")
    return loaded.uid


def _check_progress(workspace: Workspace) -> None:
    """Refuse to go on for ever when driver after driver ends without having brought anything forward.

    Raises:
        SiteError: If so.
    """
    path = workspace.root / "driver" / "chain.json"
    try:
        chain = [list(entry) for entry in read_json(path)]
    except IntegrityError:
        chain = []
    mark = _mark(workspace)
    if len(chain) >= _IDLE_DRIVERS and all(entry[1] == mark for entry in chain[-_IDLE_DRIVERS:]):
        path.unlink(missing_ok=True)
        raise SiteError(
            f"{_IDLE_DRIVERS} drivers, one after the other, have ended without finishing a run, an epoch or a stage; "
            f"this one submits no other. Give the role 'drive' a longer walltime, look at {workspace.logs}, and submit "
            "again."
        )
    write_json(path, [*chain[-_IDLE_DRIVERS:], [jobs.own_job() or "", mark]])


def _mark(workspace: Workspace) -> list[int]:
    """Return how far the campaign is: executions that ended, stages that are finished, bytes of training progress."""
    loaded = read_state(workspace.journal)
    if loaded is None:
        return [0, 0, 0]
    state = loaded.state
    finished = sum(stage.status == "finished" for stage in state.stages.values())
    written = sum(path.stat().st_size for path in workspace.training.glob("*/progress.jsonl"))
    return [sum(state.ended.values()), finished, written]


if __name__ == "__main__":
    sys.exit(main())
