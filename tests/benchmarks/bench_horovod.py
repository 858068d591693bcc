"""Training on two Horovod ranks against one: the same losses, what a step costs, and how a killed rank ends."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from surrogate.core.shared_memory import segments_now, sweep_new
from surrogate.training.progress import explain, read_progress
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.support.trainings import record, run_training, start_training, weights, write_dataset, write_training

AGREEMENT = 1e-4
BATCHES = (64, 256, 2048, 8192)
REPEATS = 3
REGISTERED = {"output_transform": "registered", "ask_along": "t", "width": 64, "depth": 3}
LARGE = 190
LARGE_ROWS = 9000
WIDE = {"ask_along": "x", "width": 128, "depth": 4}

HOW = """
The training program itself, started by `mpiexec` of the environment's MPICH, once on one rank without Horovod and once
on two ranks, one core each, with the same seed and the same global batch.

- **Losses**: a registered dense network on the field of a travelling front; 160 rows, which fill neither the batches
  nor the ranks evenly. The timeline is Horovod's own. A third training repeats the second. Ranks
  add in another order, and 32-bit rounding then grows from step to step as it would after any change of the last bit.
- **Steps**: a network of four layers of 128 on some 9,000 rows (`rows`); time a step from the second look at the tune
  rows to the last, the best of three trainings that take turns. Below some hundred rows a step is so short that ranks
  wait more than they compute; the trainer measures that and says so.
""".strip()


def losses(folder: Path, dataset: Path) -> dict[str, Any]:
    """Train on one rank and on two, and compare losses and weights; repeat two ranks for the same bits."""
    train = {"epochs": 400, "batch_size": 30, "learning_rate": 0.01, "warmup_steps": 20}
    outs = {name: folder / name for name in ("one", "two", "again")}
    for name, out in outs.items():
        ranks = 1 if name == "one" else 2
        job = write_training(out, dataset, ranks, train, options=REGISTERED)
        extra = {"HOROVOD_TIMELINE": str(out / "timeline.json")} if name == "two" else {}
        done = run_training(job, ranks, timeout=600, **extra)
        assert done.returncode == 0, done.output
        progress(f"trained on {ranks} rank{'s' if ranks > 1 else ''}")
    curves = {name: record(out)["training"]["losses"][0] for name, out in outs.items()}
    alone, together = (np.asarray([curves[name][part] for part in ("train", "tune")]) for name in ("one", "two"))
    text = (outs["two"] / "timeline.json").read_text().rstrip().rstrip(",")
    events = json.loads(text if text.endswith("]") else text + "]")
    same = zip(weights(outs["two"]), weights(outs["again"]), strict=True)
    difference = np.max(np.abs(together / alone - 1), axis=0)
    apart = np.flatnonzero(difference > AGREEMENT)
    agreeing = int(apart[0]) if apart.size else difference.size
    return {
        "difference": float(np.max(difference)),
        "agreeing_looks": agreeing,
        "looks": int(difference.size),
        "agreeing_fall": float(np.min(alone[:, 0] / alone[:, agreeing - 1])) if agreeing else 1.0,
        "fall": float(alone[0, 0] / alone[0, -1]),
        "allreduces": sum(event.get("name") == "MPI_ALLREDUCE" for event in events),
        "same_bits": all(np.array_equal(one, other) for one, other in same),
    }


def step_ms(folder: Path, dataset: Path, ranks: int, batch: int) -> tuple[float, int]:
    """Return the milliseconds of a step on so many ranks, and the number of rows."""
    out = Path(tempfile.mkdtemp(dir=folder))
    per_call = max(1, 100 * batch // LARGE_ROWS)
    train = {"epochs": 4 * per_call, "batch_size": batch, "steps_per_call": per_call * -(-LARGE_ROWS // batch)}
    job = write_training(out, dataset, ranks, train, options=WIDE)
    done = run_training(job, ranks, timeout=600)
    assert done.returncode == 0, done.output
    looks = [event for event in read_progress(out)[0] if event["event"] == "epoch"]
    epochs = looks[-1]["epoch"] - looks[1]["epoch"]
    seconds = float(looks[-1]["seconds"] - looks[1]["seconds"])
    facts = record(out)["training"]
    return 1e3 * seconds / (epochs * facts["steps_per_epoch"]), int(facts["rows"])


def killed(folder: Path, dataset: Path) -> tuple[float, str]:
    """Kill one of two ranks; return the seconds until the job has ended, and the sentence about it."""
    out = folder / "killed"
    job = write_training(out, dataset, 2, {"epochs": 100_000, "checkpoint_every_s": 0.1}, options=REGISTERED)
    segments = segments_now()
    process = start_training(job, 2)
    while not any(event["event"] == "checkpoint" for event in read_progress(out)[0]):
        assert process.poll() is None, (out / "log.txt").read_text()
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    ranks = [child for child in children if "surrogate.training.program" in " ".join(child.cmdline())]
    since = time.perf_counter()
    os.kill(ranks[1].pid, signal.SIGKILL)
    status = process.wait(120)
    psutil.wait_procs(ranks, timeout=60)
    seconds = time.perf_counter() - since
    sweep_new(segments)
    return seconds, str(explain(out, status))


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    before = form.machine()
    folder = Path(tempfile.mkdtemp(prefix="bench-horovod-"))
    try:
        small, large = write_dataset(folder / "small" / "data"), write_dataset(folder / "large" / "data", LARGE)
        agreed = losses(folder, small)
        seconds, sentence = killed(folder, small)
        progress(f"a killed rank ended the job in {seconds:.1f} s: {sentence}")
        best: dict[tuple[int, int], float] = {}
        rows = 0
        for repeat, batch, ranks in itertools.product(range(REPEATS), BATCHES, (1, 2)):
            found, rows = step_ms(folder, large, ranks, batch)
            best[batch, ranks] = min(found, best.get((batch, ranks), np.inf))
            progress(f"repeat {repeat + 1} of {REPEATS}, batch {batch}, {ranks} ranks: {found:.2f} ms a step")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = {
        "agreeing_fall": Figure(
            round(agreed["agreeing_fall"], 1),
            "1",
            f"how many times train and tune loss fall before 2 ranks and 1 differ by more than {AGREEMENT:g}",
        ),
        "agreeing_looks": Figure(agreed["agreeing_looks"], "1", f"looks up to there, of {agreed['looks']}"),
        "loss_difference": Figure(agreed["difference"], "1", "largest relative difference of the losses at any look"),
        "loss_fall": Figure(round(agreed["fall"], 1), "1", "first over last training loss of the whole training"),
        "timeline_allreduces": Figure(agreed["allreduces"], "1", "MPI allreduces in Horovod's timeline"),
        "same_bits": Figure(agreed["same_bits"], "1", "whether a second training on 2 ranks gave the same weights"),
        "killed_rank_s": Figure(round(seconds, 2), "s", "from kill -9 of a rank to the end of the job"),
        "killed_rank_sentence": Figure(sentence, "1", "what is said then"),
        "rows": Figure(rows, "1", "training rows in the timing of steps"),
        **{
            f"{kind}_{batch}": Figure(round(value, 3), unit, f"{words} with {batch} rows in a global batch")
            for batch in BATCHES
            for kind, value, unit, words in (
                ("step_ms_1", best[batch, 1], "ms", "a step on 1 rank"),
                ("step_ms_2", best[batch, 2], "ms", "a step on 2 ranks"),
                ("speedup", best[batch, 1] / best[batch, 2], "1", "1 rank over 2 ranks"),
            )
        },
    }
    if arguments.dry:
        progress(json.dumps({key: figure.value for key, figure in figures.items()}, indent=1))
        return
    form.publish(
        "horovod",
        "Training on two Horovod ranks and on one",
        figures,
        how=HOW,
        target="`agreeing_fall` at least 10; `killed_rank_s` below 60",
        distributions=("tensorflow-cpu", "keras", "horovod", "mpich", "mpi4py"),
        on=before,
    )


if __name__ == "__main__":
    main()
