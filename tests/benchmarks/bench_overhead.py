"""What an ensemble costs beside its simulations: 500 one-rank runs by us and by Parsl alone, side by side."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sim_wrappers import catalog
from sim_wrappers.protocol import RunRequest
from site_configs.site import Role, Site
from surrogate.core.identity import run_id
from surrogate.core.lock import Lease
from surrogate.core.schema import Schema
from surrogate.data.writer import DatasetWriter
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from workflows.apps import Command
from workflows.ensemble import run_ensemble
from workflows.journal import Journal
from workflows.session import Session

RUNS, REPEATS, WORKERS = 500, 3, 2
SIMULATOR = "scripted"
SITE = Site(name="bench", cores=WORKERS, roles={"simulate": Role(workers=WORKERS)})

HOW = """
Both sides execute the same command with the same input file, one rank each, two at a time: the program of the scripted
simulator, a Python process that writes a small JSON file and does nothing else. A side's time runs from the first
submission to the last thing written; Parsl and its workers are up and have executed one run each before. The sides take
turns; the figures are medians.

- **Ours**: the whole path of a campaign. Each run: lock, fresh folder, scrubbed environment, own process group,
  timeout, HDF5 run file with provenance, admission (the file is read back and judged), SHA-256, receipt, flush to disk.
  The driver: journal with group commits, shards of 256 samples under a manifest, folders removed.
- **Parsl alone** (`tests/benchmarks/raw_parsl_runs.py`): what a careful user writes. HighThroughputExecutor with the
  same workers, encryption and heartbeats; each run: fresh folder, input file, the program with a timeout and its output
  in a file, the result as HDF5 with the same columns, units and provenance, written beside, flushed to disk once and
  renamed. Nothing is judged, hashed, journalled or gathered into one file.
""".strip()


def requests(count: int) -> tuple[list[RunRequest], Schema]:
    """Return the runs of the benchmark and the columns of their files."""
    simulator = catalog.get(SIMULATOR)
    options = simulator.check_options({})
    space, outputs = simulator.default_space(options), simulator.output_schema(options)
    assert space is not None
    made = []
    for number in range(count):
        inputs = space.canonicalise({"a": number / count, "b": 1.0})
        name = run_id(SIMULATOR, simulator.version(options), simulator.identity_options(options), inputs)
        made.append(RunRequest(name, SIMULATOR, options, inputs))
    return made, Schema((*space.columns, *outputs.columns), outputs.coordinates)


def ours(folder: Path, runs: list[RunRequest], schema: Schema) -> float:
    """Return the seconds that an ensemble takes on a Parsl that is up."""
    with Session(SITE, folder, runs[0].resources, campaign="bench", schema=schema) as session:
        lease = Lease.acquire(folder / "lock", "benchmark")
        warm = Command(("true",), runs[0].resources, str(folder), str(folder / "warm.txt"), session.launcher, mpi=False)
        for future in [session.submit_command(warm) for _ in range(2 * WORKERS)]:
            future.result()
        with Journal.open(folder / "journal", lease) as journal:
            planned = [{"run_id": run.run_id, "inputs": run.inputs, "stratum": "design"} for run in runs]
            journal.append({"event": "runs.planned", "runs": planned})
            begin = time.perf_counter()
            result = run_ensemble(
                runs,
                workdir=folder,
                site=SITE,
                campaign="bench",
                schema=schema,
                journal=journal,
                dataset_writer=DatasetWriter(folder / "dataset", schema),
                known=journal.state.runs,
                session=session,
            )
            journal.commit()
            seconds = time.perf_counter() - begin
        lease.release()
    assert result.counts.finished == len(runs), result
    return seconds


@contextmanager
def raw_parsl(folder: Path) -> Iterator[Any]:
    """Start Parsl with the settings that ours has."""
    import parsl
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.launchers import SimpleLauncher
    from parsl.providers import LocalProvider

    executor = HighThroughputExecutor(
        label="raw",
        provider=LocalProvider(launcher=SimpleLauncher(), init_blocks=1, min_blocks=1, max_blocks=1),
        address="127.0.0.1",
        cores_per_worker=1e-6,
        max_workers_per_node=WORKERS,
        heartbeat_period=2,
        heartbeat_threshold=10,
        encrypted=True,
    )
    config = Config([executor], run_dir=str(folder / "parsl"), strategy_period=0.2, initialize_logging=False)
    with parsl.load(config):
        yield parsl


def raw(folder: Path, runs: list[RunRequest]) -> float:
    """Return the seconds that Parsl alone takes for the same commands and writes."""
    from tests.benchmarks import raw_parsl_runs

    argv = [sys.executable, "-m", "sim_wrappers.scripted.program", "input.json", "output.json"]
    cases = [case_of(run) for run in runs]
    with raw_parsl(folder) as parsl:
        app = parsl.python_app(raw_parsl_runs.execute)
        warm = [app(str(folder / f"warm-{number}"), argv, cases[0], 60.0) for number in range(2 * WORKERS)]
        for future in warm:
            future.result()
        begin = time.perf_counter()
        futures = [app(str(folder / f"run-{number}"), argv, case, 3600.0) for number, case in enumerate(cases)]
        results = [future.result() for future in futures]
        seconds = time.perf_counter() - begin
    assert all(Path(result["path"]).stat().st_size == result["size"] for result in results)
    return seconds


def case_of(run: RunRequest) -> dict[str, Any]:
    """Return the program's input, as the adapter writes it."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        catalog.get(SIMULATOR).prepare(run, Path(folder))
        case: dict[str, Any] = json.loads((Path(folder) / "input.json").read_text())
    return case


def main() -> None:
    """Take turns, publish the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["OMP_NUM_THREADS"] = "1"
    runs, schema = requests(arguments.runs)
    before, times = form.machine(), {"ours": [], "raw": []}
    for repeat in range(arguments.repeats):
        for side in ("ours", "raw") if repeat % 2 == 0 else ("raw", "ours"):
            folder = Path(tempfile.mkdtemp(prefix="bench-overhead-"))
            try:
                seconds = ours(folder, runs, schema) if side == "ours" else raw(folder, runs)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            times[side].append(round(seconds, 3))
            progress(f"repeat {repeat + 1} of {arguments.repeats}, {side}: {seconds:.2f} s")
    us, peer = statistics.median(times["ours"]), statistics.median(times["raw"])
    if arguments.dry:
        progress(f"ours {us} s, Parsl alone {peer} s, ratio {us / peer:.3f}")
        return
    form.publish(
        "overhead",
        "An ensemble's cost beside its simulations",
        {
            "ours_s": Figure(us, "s", f"{arguments.runs} runs as a campaign executes them, median"),
            "raw_parsl_s": Figure(peer, "s", f"the same {arguments.runs} commands and writes by Parsl alone, median"),
            "ratio": Figure(round(us / peer, 4), "1", "ours over Parsl alone"),
            "added_ms_per_run": Figure(
                round(1000 * WORKERS * (us - peer) / arguments.runs, 3), "ms", "what a run costs a worker more with us"
            ),
            "ours_each_s": Figure(times["ours"], "s", "each repeat"),
            "raw_parsl_each_s": Figure(times["raw"], "s", "each repeat"),
        },
        how=HOW,
        target="`ratio` at most 1.15",
        distributions=("parsl", "h5py", "numpy"),
        on=before,
    )


if __name__ == "__main__":
    main()
