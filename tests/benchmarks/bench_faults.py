"""Every fault at ten random moments: kills, stops, full disks, a clock set back; all must end as without them."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from surrogate.data.dataset import Dataset
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.support.fault_scene import Scene
from tests.support.fault_trial import RUNS, Trial, expected_hash, try_fault
from tests.support.faults import FAULTS

SECONDS = 1.0
# Most of the time everything sleeps.
AT_ONCE = 3
MEANINGS = {
    "driver": "kill -9 of the driver, at any stage",
    "worker": "kill -9 of a Parsl worker that executes a run",
    "interchange": "kill -9 of Parsl's interchange",
    "rank": "kill -9 of one of a run's two MPI ranks",
    "trainer": "kill -9 of one of the training's two ranks",
    "disk_run_file": "disk full while runs write their files",
    "disk_shard": "disk full while shards are written",
    "disk_checkpoint": "disk full while checkpoints are written",
    "disk_journal": "disk full while the journal is written",
    "stopped": "SIGSTOP of a worker, of its manager, or of both, for longer than the heartbeat's threshold (10 s)",
    "clock": "clock set back by 30 s to 400 days; in two of three cases the driver or a manager is killed right after",
}

HOW = f"""
A small campaign ({RUNS} runs of {SECONDS:g} s of the scripted simulator, which writes a line into a ledger when it
begins and when it ends; training; verdict) is started by `surrogate run`, struck again and again at random moments, and
taken up by `surrogate resume` whenever its driver has ended. One that ends before it has been struck often enough is
followed by another. Every moment, with the seed and how far the campaign was, stands in the JSON file (`log`). The keys
of a fault ({AT_ONCE} of them are tried at once):

- `moments`: how often it struck; `campaigns`: how many campaigns that took.
- `finished`: every campaign came to its verdict (that of `disk_shard`, of {RUNS * 64:,} samples, to its dataset), and
  no driver ended without a sentence.
- `ledger_exact`: no run that the journal had called admitted was executed again; every execution in the ledger is an
  attempt that the journal knows, attempts of one run follow each other and never overlap, and the last one is the one
  admitted. Runs that were in flight when the fault struck may go again: `executed_again` counts them.
- `same_hash`: the dataset has the hash of an undisturbed campaign's.
- `left_behind`: processes, files in `/dev/shm`, temporary folders, half-written files, run files beside their shard.

Full disks are a tmpfs of a few MiB that is mounted at the folder in question, filled to its last pages, and emptied
again when a run or the driver has met that, or up to 2 s later; a strike that nobody met does not count. The clock is
set back for all processes of the campaign at once, by a library that is loaded before all others: what they ask the
system for is shifted, the times of files stay.
""".strip()


def calm(folder: Path, until: str, **values: Any) -> bool:
    """Run a campaign undisturbed; return whether its dataset has the hash that is computed from the formulas."""
    scene = Scene(folder, random.Random(0), until)
    scene.write(**{"runs": RUNS, **values})
    scene.start()
    assert scene.ended(within_s=900.0) == 0, scene.said
    found = Dataset.open(scene.workdir / "dataset", verify="hash").hash
    return found == expected_hash(scene.file, folder / "formulas")


def figure(trial: Trial, seconds: float) -> dict[str, Any]:
    """Return what is published of a trial."""
    return {
        "moments": len(trial.moments),
        "campaigns": trial.campaigns,
        "finished": trial.finished,
        "ledger_exact": trial.ledger_exact,
        "same_hash": trial.same_hash,
        "left_behind": len(trial.left_behind),
        "executed_again": trial.executed_again,
        "seconds": round(seconds),
    }


def main() -> int:
    """Try all faults and publish."""
    parser = argparse.ArgumentParser(description="Try every fault at random moments.")
    parser.add_argument("--moments", type=int, default=10, help="how often each fault strikes")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000, help="decides the moments")
    parser.add_argument("--only", action="append", choices=list(FAULTS), help="try this one and publish nothing")
    asked = parser.parse_args()
    on = form.machine()
    scratch = Path(tempfile.mkdtemp(prefix="bench-faults-"))
    os.environ.update(
        OMP_NUM_THREADS="1",
        TF_CPP_MIN_LOG_LEVEL="3",
        XDG_STATE_HOME=str(scratch / "state"),
        PATH=f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
    )
    names = asked.only or list(FAULTS)
    begin = time.monotonic()

    def measured(name: str) -> tuple[Trial, float]:
        since = time.monotonic()
        trial = try_fault(
            name, asked.seed + names.index(name), asked.moments, scratch / name, whole=True, seconds=SECONDS
        )
        return trial, time.monotonic() - since

    trials: dict[str, Trial] = {}
    figures: dict[str, Figure] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, (trial, seconds) in zip(names, pool.map(measured, names), strict=True):
            trials[name], figures[name] = trial, Figure(figure(trial, seconds), "1", MEANINGS[name])
            progress(f"{name}: {figures[name].value}")
            for sentence in (*trial.moments, *trial.problems):
                progress(f"    {sentence}")
    hold = not any(trial.problems for trial in trials.values())
    if asked.only:
        return int(not hold)
    undisturbed = calm(scratch / "calm", "dataset", options="samples = 64") and calm(scratch / "calm-1", "verdict")
    summary = {
        "faults": Figure(len(trials), "1", "kinds of fault"),
        "moments": Figure(sum(len(trial.moments) for trial in trials.values()), "1", "strikes, over all faults"),
        "seconds": Figure(round(time.monotonic() - begin), "s", f"all of it, {AT_ONCE} faults at once"),
        "all_hold": Figure(hold and undisturbed, "1", "whether everything holds for all of them"),
    }
    form.publish(
        "faults",
        "Faults at random moments",
        {**summary, **figures},
        how=HOW,
        target="for every fault `finished`, `ledger_exact` and `same_hash` true, `left_behind` 0",
        distributions=("parsl", "mpich", "mpi4py", "horovod", "tensorflow-cpu"),
        on=on,
        details={
            "log": {name: {"seed": trial.seed, "at": trial.moments} for name, trial in trials.items()},
            "problems": [sentence for trial in trials.values() for sentence in trial.problems],
        },
    )
    if hold:
        shutil.rmtree(scratch)
    return int(not hold)


if __name__ == "__main__":
    sys.exit(main())
