"""What an ensemble costs on SLURM beside its simulations: 1,000 short runs on four nodes, by us and by Parsl alone."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from sim_wrappers.protocol import RunRequest
from site_configs.site import Site
from surrogate.core.schema import Schema
from tests.benchmarks import form
from tests.benchmarks.bench_overhead import Ours, Raw, requests
from tests.benchmarks.form import Figure, progress
from tests.support.slurm import Cluster, missing
from tests.support.slurm_sites import site_of

RUNS, TURN, REPEATS, NODES, WORKERS = 1000, 100, 3, 4, 2

HOW = """
A real SLURM on this one machine: slurmctld and eight slurmd of two cores each, four nodes for each side. Both sides
have four jobs of one node with two workers each, encryption and the same heartbeats, and execute the same command with
the same input file: the program of the scripted simulator, a Python process that writes a small JSON file and does
nothing else. A side's time runs from the first submission to the last thing written; its jobs run, and its workers have
executed two commands each. The sides take turns of 100 runs; a rate is 1,000 runs over the sum of a side's turns.

- **Ours**: the whole path of a campaign, as in `make bench-overhead`, through SLURM jobs.
- **Parsl alone** (`tests/benchmarks/raw_parsl_runs.py`): HighThroughputExecutor over Parsl's own SlurmProvider, and
  what a careful user writes for each run: fresh folder, HDF5 with the same columns, flushed and renamed.

The driver's memory is its resident set after the second turn of each side, and after the last: both sides live in that
one process, and Parsl keeps a record of every task of either.
""".strip()


@contextmanager
def raw_parsl(folder: Path) -> Iterator[Any]:
    """Start Parsl on SLURM with the settings that ours has."""
    import parsl
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.launchers import SimpleLauncher
    from parsl.providers import SlurmProvider

    provider = SlurmProvider(
        partition="debug", nodes_per_block=1, init_blocks=NODES, min_blocks=NODES, max_blocks=NODES,
        walltime="01:00:00", launcher=SimpleLauncher(), exclusive=True,
    )  # fmt: skip
    executor = HighThroughputExecutor(
        label="raw",
        provider=provider,
        address="127.0.0.1",
        cores_per_worker=1e-6,
        max_workers_per_node=WORKERS,
        heartbeat_period=2,
        heartbeat_threshold=30,
        encrypted=True,
    )
    config = Config([executor], run_dir=str(folder / "parsl"), strategy_period=0.2, initialize_logging=False)
    with parsl.load(config):
        yield parsl


def turns(base: Path, runs: list[RunRequest], schema: Schema, site: Site, count: int) -> tuple[float, float, float]:
    """Return the seconds of both sides for all runs, in turns of `count`, and the growth of this process in MiB."""
    total, sizes = {"ours": 0.0, "raw": 0.0}, []
    with ExitStack() as opened:
        (base / "raw").mkdir()
        raw = Raw(base / "raw", runs[0], opened, raw_parsl, NODES * WORKERS)
        sides: dict[str, Ours | Raw] = {"ours": Ours(base / "ours", runs, schema, opened, site), "raw": raw}
        _wait_for_workers(2 * NODES * WORKERS)
        for turn in range(0, len(runs), count):
            part = runs[turn : turn + count]
            for name in ("ours", "raw") if turn // count % 2 == 0 else ("raw", "ours"):
                total[name] += sides[name].seconds(part)
            sizes.append(float(psutil.Process().memory_info().rss) / 2**20)
    return total["ours"], total["raw"], sizes[-1] - sizes[min(1, len(sizes) - 1)]


def _wait_for_workers(count: int) -> None:
    """Wait until the workers of all jobs are up, so that both sides have all of theirs."""
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline:
        lines = [" ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"])]
        if sum("spawn_main" in line for line in lines) >= count:
            return
        time.sleep(0.5)


def main() -> None:
    """Repeat, publish the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--turn", type=int, default=TURN)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    arguments = parser.parse_args()
    absent = missing()
    if absent is not None:
        sys.exit(absent)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["OMP_NUM_THREADS"] = "1"
    runs, schema = requests(arguments.runs)
    before, found = form.machine(), []
    base = Path(tempfile.mkdtemp(prefix="bench-slurm-"))
    cluster = Cluster(base / "c", nodes=2 * NODES, cores=WORKERS)
    try:
        cluster.start()
        os.environ["SLURM_CONF"] = str(cluster.conf)
        site = site_of(base, nodes=NODES, nodes_per_job=1, walltime_s=3600)
        for repeat in range(arguments.repeats):
            (base / str(repeat)).mkdir()
            us, peer, growth = turns(base / str(repeat), runs, schema, site, arguments.turn)
            cluster.cancel_all()
            found.append((len(runs) / us, len(runs) / peer, us, peer, growth))
            words = f"ours {us:.2f} s, Parsl alone {peer:.2f} s, ratio {peer / us:.3f}, driver grew by {growth:.1f} MiB"
            progress(f"repeat {repeat + 1} of {arguments.repeats}: {words}")
    finally:
        cluster.stop()
        shutil.rmtree(base, ignore_errors=True)
    ours, raw = (round(statistics.median(entry[side] for entry in found), 3) for side in (0, 1))
    ratios = [round(entry[0] / entry[1], 4) for entry in found]
    if arguments.dry:
        return
    form.publish(
        "slurm",
        "An ensemble's cost on SLURM beside its simulations",
        {
            "ours_runs_per_s": Figure(ours, "1/s", f"{len(runs)} runs as a campaign executes them, median"),
            "raw_parsl_runs_per_s": Figure(raw, "1/s", "the same commands and writes by Parsl alone, median"),
            "ratio": Figure(statistics.median(ratios), "1", "ours over Parsl alone in one repeat, median"),
            "driver_memory_growth_mib": Figure(
                round(max(entry[4] for entry in found), 2), "MiB", "growth of the driver's process, both sides, largest"
            ),
            "ratio_each": Figure(ratios, "1", "each repeat"),
            "ours_each_s": Figure([round(entry[2], 3) for entry in found], "s", "each repeat"),
            "raw_parsl_each_s": Figure([round(entry[3], 3) for entry in found], "s", "each repeat"),
        },
        how=HOW,
        target="`ratio` at least 0.85, memory flat",
        distributions=("parsl", "h5py", "numpy"),
        on=before,
    )


if __name__ == "__main__":
    main()
