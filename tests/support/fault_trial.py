"""The trial of a campaign by one fault: struck at random moments, resumed to its end, and judged.

What must hold: the campaign comes to its end; no run that was admitted is ever executed again, and every execution is
an attempt that the journal knows; the dataset has the hash of an undisturbed one; nothing is left behind.
"""

from __future__ import annotations

import contextlib
import random
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from sim_wrappers.protocol import RunData
from sim_wrappers.rows import run_columns
from sim_wrappers.scripted.formulas import level, wave
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged
from surrogate.data.dataset import Dataset, DatasetWriter
from surrogate.data.run_file import write_run_file
from tests.support.fault_scene import Scene
from tests.support.faults import FAULTS, Fault
from tests.support.leftovers import shared_segments, unmapped
from workflows.config import load_campaign
from workflows.journal import RunStatus
from workflows.plan import find_simulator, make_plan
from workflows.session import scratch_prefix

RUNS = 40
ENDS_WITHIN_S = 600.0
_GRACE_S = 5.0
# A campaign may be over before it was struck.
_FURTHER = 3


@dataclass
class Trial:
    """What came of the trial by one fault.

    Attributes:
        fault: Its name.
        seed: Where all its moments come from.
        moments: What was done, when, and how far the campaign was; one line each.
        campaigns: How many campaigns it took.
        finished: Whether all of them came to their end.
        ledger_exact: Whether no admitted run was executed again, and the journal knows every execution.
        same_hash: Whether all datasets have the hash that they must have.
        left_behind: Processes, shared memory and files that were left, as sentences.
        executed_again: Executions beyond one a run: in flight when the fault struck, or undone by it.
        problems: What did not hold, as sentences.
    """

    fault: str
    seed: int
    moments: list[str] = field(default_factory=list)
    campaigns: int = 0
    finished: bool = True
    ledger_exact: bool = True
    same_hash: bool = True
    left_behind: list[str] = field(default_factory=list)
    executed_again: int = 0
    problems: list[str] = field(default_factory=list)


def try_fault(name: str, seed: int, moments: int, folder: Path, *, whole: bool, seconds: float = 0.2) -> Trial:
    """Let a fault strike campaigns at random moments.

    Args:
        name: One of `FAULTS`.
        seed: Decides the moments, with the machine's pace.
        moments: How many strikes there are to be.
        folder: Where the campaigns live; made.
        whole: Whether each goes on to its verdict; else it ends with what the fault is about.
        seconds: How long a run sleeps, unless the fault is about what comes later.

    Raises:
        PermissionError: If the fault needs a disk of its own, and this process may not mount one.
    """
    trial, chance = Trial(name, seed), random.Random(seed)
    while len(trial.moments) < moments:
        trial.campaigns += 1
        assert trial.campaigns <= moments + _FURTHER, "Campaign after campaign came to its end without being hit."
        fault = FAULTS[name]()
        until = fault.goal if whole else "training" if fault.late else "dataset"
        scene = Scene(folder / f"struck-{trial.campaigns}", chance, until)
        scene.write(**{"runs": RUNS, "seconds": seconds, **fault.values})
        before = shared_segments()
        ended = bring_to_end(scene, fault, moments - len(trial.moments))
        trial.moments += scene.moments
        judge(trial, scene, ended, before, expected_hash(scene.file, folder / f"calm-{trial.campaigns}"))
        if not ended:
            break
    return trial


def bring_to_end(scene: Scene, fault: Fault, strikes: int) -> bool:
    """Bring a campaign to its end, whatever strikes it, resuming it as a person would.

    Args:
        scene: The campaign; its file is written.
        fault: What strikes it.
        strikes: How often, if it takes long enough.

    Returns:
        Whether it came to its end.
    """
    with fault.around(scene), contextlib.closing(scene):
        scene.start()
        following, deadline = _next(scene, fault), time.monotonic() + ENDS_WITHIN_S
        while (code := scene.ended(0.05)) != 0:
            if time.monotonic() > deadline or code not in (None, 1, -signal.SIGKILL):
                return False
            scene.watch(now=code is not None)
            if code is not None:
                scene.start()
                deadline = time.monotonic() + ENDS_WITHIN_S
            elif len(scene.moments) < strikes and time.monotonic() >= following:
                scene.watch(now=True)
                told = fault.strike(scene)
                if told is not None:
                    scene.note(told)
                    following = _next(scene, fault)
                    deadline = time.monotonic() + ENDS_WITHIN_S
        scene.watch(now=True)
    return True


def _next(scene: Scene, fault: Fault) -> float:
    patience = fault.patience if scene.until == "verdict" else 1.0
    return time.monotonic() + patience * scene.chance.uniform(*fault.pause)


def judge(trial: Trial, scene: Scene, ended: bool, before: frozenset[Path], wanted: str) -> None:
    """Note what does not hold of a campaign.

    Args:
        trial: Where it is noted.
        scene: The campaign.
        ended: Whether it came to its end.
        before: Shared memory that was there before it.
        wanted: Hash that its dataset must have.
    """
    said = scene.said
    if not ended:
        trial.finished = False
        trial.problems.append(f"The campaign came to no end. It said: {said[-2000:]}")
    if scene.until == "verdict" and not (scene.workdir / "verdict.json").is_file():
        trial.finished = False
        trial.problems.append("There is no verdict.")
    if any("ended the driver" in moment for moment in scene.moments) and "disk is full" not in said:
        trial.finished = False
        trial.problems.append(f"A driver met a full disk and did not say so: {said[-2000:]}")
    for words in ("Traceback", "did not foresee"):
        if words in said:
            trial.finished = False
            trial.problems.append(f"A driver ended without a sentence: {said[-2000:]}")
    ledger, again = check_ledger(scene)
    trial.executed_again += again
    if ledger:
        trial.ledger_exact = False
        trial.problems += ledger
    found = Dataset.open(scene.workdir / "dataset", verify="hash").hash if ended else ""
    if found != wanted:
        trial.same_hash = False
        trial.problems.append(f"The dataset's hash is '{found}', and '{wanted}' was to be expected.")
    left = left_behind(scene, before)
    trial.left_behind += left
    trial.problems += left


def check_ledger(scene: Scene) -> tuple[list[str], int]:
    """Hold what was executed against what the journal says.

    Returns:
        What is wrong, as sentences; and how many executions there were beyond one a run.
    """
    state = scene.state()
    if state is None:
        return ["There is no journal."], 0
    found = scene.executions()
    wrong = list(scene.withdrawn)
    if not state.counts[RunStatus.PACKED] == len(state.runs) == RUNS or set(found) != set(state.runs):
        wrong.append(f"{state.counts} of {len(state.runs)} runs, and the ledger has {len(found)}.")
    for run_id, run in state.runs.items():
        what = found.get(run_id, [])
        attempts = [attempt for attempt, _ in what]
        if len(set(what)) != len(what) or attempts != sorted(attempts):
            wrong.append(f"Attempts of run {run_id} were begun twice, or beside each other: {what}.")
        if not what or what[-1] != (run.attempts, "end"):
            wrong.append(f"Attempt {run.attempts} of run {run_id} was admitted, and the ledger has {what}.")
        if scene.admitted.get(run_id, run.attempts) != run.attempts:
            wrong.append(f"Run {run_id} was executed again after attempt {scene.admitted[run_id]} was admitted.")
    return wrong, sum(word == "start" for what in found.values() for _, word in what) - len(found)


def left_behind(scene: Scene, before: frozenset[Path]) -> list[str]:
    """Return what a campaign left: processes, shared memory, temporary folders, parts of files, folders of runs."""
    deadline = time.monotonic() + _GRACE_S
    while (found := _left(scene, before)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def _left(scene: Scene, before: frozenset[Path]) -> list[str]:
    """Return what is left at this moment."""
    state = scene.state()
    found = []
    paths = list(unmapped(shared_segments() - before))
    for uid in state.uids if state is not None else []:
        for pid in find_tagged(CAMPAIGN_VARIABLE, uid):
            with contextlib.suppress(psutil.Error):
                found.append(f"Process {pid} was left: {' '.join(psutil.Process(pid).cmdline())}")
        paths += Path(tempfile.gettempdir()).glob(f"{scratch_prefix(uid)}*")
    # A claim that was never made is removed after an hour: its maker may be slow.
    paths += [path for path in scene.workdir.rglob(".*.part*") if path.parent.name != "lock"]
    paths += (scene.workdir / "runs").rglob("*.h5")
    return found + [f"{path} was left." for path in paths]


def expected_hash(campaign_file: Path, scratch: Path) -> str:
    """Return the hash that an undisturbed campaign's dataset has, from the formulas alone: nothing is executed."""
    campaign = load_campaign(campaign_file)
    plan = make_plan(campaign, find_simulator(campaign))
    scratch.mkdir(parents=True)
    writer = DatasetWriter(scratch / "dataset", plan.schema)
    length, samples = plan.options["length"], plan.options["samples"]
    for request in plan.requests:
        waves = [wave(request.inputs, range(length), length, sample) for sample in range(samples)]
        levels = [level(request.inputs, sample) for sample in range(samples)]
        data = RunData({"wave": np.asarray(waves), "level": np.asarray(levels)}, samples=samples)
        path = scratch / f"{request.run_id}.h5"
        write_run_file(path, plan.schema, run_columns(request.inputs, data, plan.schema), (), {}, durable=False)
        writer.add_run(request.run_id, path)
    writer.flush()
    return Dataset.open(scratch / "dataset").hash
