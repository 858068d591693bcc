"""The demo for three seeds: is the surrogate as good as it must be, whatever the design and the splits?"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from workflows.config import builtin_campaigns

NAME = "buckley-leverett"
SEEDS = (1, 2, 3)
PRIMARY = ("relative_l2_median", "relative_l2_p95", "coverage_90")

HOW = """
`surrogate run` on the built-in campaign's file with nothing but the seed changed, once a seed, on site `laptop`: an
ensemble of real finite-volume simulations on 2 MPI ranks each, admission, a deep ensemble trained by Horovod on 2
ranks, and the verdict on holdout simulations that neither training nor calibration has seen. The seed decides the
design, the splits and the training. The baselines see the same training runs and are judged on the same holdout.
""".strip()


def run_seed(seed: int, folder: Path) -> tuple[dict[str, Any], float, int]:
    """Run the campaign with a seed; return its verdict, its wall-clock seconds and its exit code."""
    text = builtin_campaigns()[NAME].read_text(encoding="utf-8")
    changed, count = re.subn(r"^seed = \d+$", f"seed = {seed}", text, flags=re.MULTILINE)
    assert count == 1
    campaign = folder / f"seed-{seed}.toml"
    campaign.write_text(changed, encoding="utf-8")
    workdir = folder / f"seed-{seed}"
    words = [sys.executable, "-m", "workflows.cli", "run", str(campaign), "--site", "laptop", "--workdir", str(workdir)]
    begin = time.monotonic()
    environment = {key: value for key, value in os.environ.items() if key != "SURROGATE_REGISTRY"}
    ended = subprocess.run(words, stdout=subprocess.DEVNULL, env=environment, check=False)
    seconds = time.monotonic() - begin
    if ended.returncode not in (0, 3):
        raise SystemExit(f"The campaign with seed {seed} ended with exit code {ended.returncode}.")
    return json.loads((workdir / "verdict.json").read_text()), seconds, ended.returncode


def main() -> None:
    """Run the benchmark."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    arguments.add_argument("--keep", action="store_true", help="keep the working directories")
    given = arguments.parse_args()
    before = form.machine()
    folder = Path(tempfile.mkdtemp(prefix="surrogate-bench-demo-"))
    verdicts, seconds = [], []
    try:
        for seed in given.seeds:
            progress(f"seed {seed}")
            verdict, took, _ = run_seed(seed, folder)
            verdicts.append(verdict)
            seconds.append(round(took, 1))
            progress(f"seed {seed}: {verdict['sentence']} ({took:.0f} s)")
    finally:
        if given.keep:
            progress(f"the working directories are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    publish(given.seeds, verdicts, seconds, before)


def publish(seeds: list[int], verdicts: list[dict[str, Any]], seconds: list[float], before: dict[str, Any]) -> None:
    """Write the figures."""
    each = "one entry a seed"
    figures = {
        name: Figure([verdict["metrics"][name] for verdict in verdicts], "1", f"on the holdout, {each}")
        for name in PRIMARY
    }
    for baseline in verdicts[0]["baselines"]:
        for name in PRIMARY:
            figures[f"{baseline}_{name}"] = Figure(
                [verdict["baselines"][baseline].get(name) for verdict in verdicts], "1", f"the baseline's, {each}"
            )
    peer = [verdict["baselines"]["pod_gp"]["relative_l2_median"] for verdict in verdicts]
    ours = [verdict["metrics"]["relative_l2_median"] for verdict in verdicts]
    ratio = [theirs / own for theirs, own in zip(peer, ours, strict=True)]
    figures |= {
        "ratio": Figure(ratio, "1", f"median error of POD + GP over ours, {each}"),
        "passed": Figure([verdict["passed"] for verdict in verdicts], "1", f"the gate's verdict, {each}"),
        "train": Figure([verdict["samples"]["train"] for verdict in verdicts], "1", f"training runs, {each}"),
        "tune": Figure([verdict["samples"]["tune"] for verdict in verdicts], "1", f"tune runs, {each}"),
        "holdout": Figure([verdict["samples"]["holdout"] for verdict in verdicts], "1", f"holdout runs, {each}"),
        "speed_up_single": Figure(
            [verdict["speed_up"]["single"] for verdict in verdicts], "1",
            f"a simulation's median seconds over those of a one-row prediction, {each}",
        ),
        "seconds": Figure(seconds, "s", f"wall-clock time of the whole campaign, {each}"),
        "seeds": Figure(list(seeds), "1", "seeds"),
    }  # fmt: skip
    form.publish(
        "demo",
        "The main job: Buckley–Leverett, from simulations to a judged surrogate",
        figures,
        how=HOW,
        target="relative_l2_median ≤ 0.006, relative_l2_p95 ≤ 0.02, coverage_90 from 0.80 to 0.99, better than both "
        "baselines, with at most 128 training runs and at least 40 holdout runs.",
        distributions=("tensorflow-cpu", "horovod", "parsl", "mpich", "mpi4py", "scikit-learn", "onnxruntime"),
        on=before,
    )


if __name__ == "__main__":
    main()
