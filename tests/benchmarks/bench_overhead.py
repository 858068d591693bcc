"""What an ensemble costs beside its simulations: 500 one-rank runs by us and by Parsl alone, side by side."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
from workflows.ensemble import run_ensemble
from workflows.journal import Journal
from workflows.session import Session
from workflows.tasks import Command

RUNS, TURN, REPEATS, WORKERS = 500, 125, 3, 2
SIMULATOR = "scripted"
SITE = Site(name="bench", cores=WORKERS, roles={"simulate": Role(workers=WORKERS)})

HOW = """
Both sides execute the same command with the same input file, one rank each, two at a time: the program of the scripted
simulator, a Python process that writes a small JSON file and does nothing else. Both have their Parsl up and their
workers warm; they take turns of 125 runs, one right after the other and each first as often as the other, so that
whatever else the machine does falls on both. A turn's time runs from the first submission to the last thing written.

- **Ours**: the whole path of a campaign. Each run: lock, fresh folder, scrubbed environment, own process group,
  timeout, HDF5 run file with provenance, admission (the file is read back and judged), SHA-256, receipt, flush to disk.
  The driver: journal with group commits, a shard of each turn's samples under a manifest, folders removed.
- **Parsl alone** (`tests/benchmarks/raw_parsl_runs.py`): what a careful user writes. HighThroughputExecutor with the
  same workers, encryption and heartbeats; each run: fresh folder, input file, the program without a timeout and its
  output in a file, the result as HDF5 with the same columns, units and provenance, written beside, flushed to disk
  once and renamed. Nothing is judged, hashed, journalled or gathered into one file.
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


class Ours:
    """A campaign with its Parsl up."""

    def __init__(
        self, folder: Path, runs: list[RunRequest], schema: Schema, opened: ExitStack, site: Site = SITE
    ) -> None:
        """Start Parsl, warm its workers, hold the campaign, plan the runs."""
        self.folder, self.schema, self.site = folder, schema, site
        self.session = opened.enter_context(Session(site, folder, runs[0].resources, campaign="bench", schema=schema))
        size = runs[0].resources
        warm = Command(("true",), size, str(folder), str(folder / "warm.txt"), self.session.launcher, mpi=False)
        for future in [self.session.submit_command(warm) for _ in range(2 * self.session.workers)]:
            future.result()
        lease = opened.enter_context(Lease.acquire(folder / "lock", "benchmark"))
        self.journal = opened.enter_context(Journal.open(folder / "journal", lease))
        planned = [{"run_id": run.run_id, "inputs": run.inputs, "stratum": "design"} for run in runs]
        self.journal.append({"event": "runs.planned", "runs": planned})
        self.writer = DatasetWriter(folder / "dataset", schema)

    def seconds(self, runs: list[RunRequest]) -> float:
        """Return how long an ensemble of these runs takes, everything durable at its end."""
        begin = time.perf_counter()
        result = run_ensemble(
            runs,
            workdir=self.folder,
            site=self.site,
            campaign="bench",
            schema=self.schema,
            journal=self.journal,
            dataset_writer=self.writer,
            known=self.journal.state.runs,
            session=self.session,
        )
        self.journal.commit()
        seconds = time.perf_counter() - begin
        assert result.counts.finished == result.counts.executed == len(runs), result
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


class Raw:
    """The same commands and writes by Parsl alone, with its Parsl up."""

    def __init__(
        self,
        folder: Path,
        run: RunRequest,
        opened: ExitStack,
        start: Callable[[Path], AbstractContextManager[Any]] | None = None,
        workers: int = WORKERS,
    ) -> None:
        """Start Parsl and warm its workers with one run each."""
        from tests.benchmarks import raw_parsl_runs

        self.folder = folder
        self.argv = [sys.executable, "-m", "sim_wrappers.scripted.program", "input.json", "output.json"]
        self.app = opened.enter_context((start or raw_parsl)(folder)).python_app(raw_parsl_runs.execute)
        self._results([case_of(run) for _ in range(2 * workers)], "warm")

    def seconds(self, runs: list[RunRequest]) -> float:
        """Return how long these runs take."""
        cases = [case_of(run) for run in runs]
        begin = time.perf_counter()
        results = self._results(cases, runs[0].run_id)
        seconds = time.perf_counter() - begin
        assert all(Path(result["path"]).stat().st_size == result["size"] for result in results)
        return seconds

    def _results(self, cases: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
        futures = [
            self.app(str(self.folder / f"{name}-{number}"), self.argv, case) for number, case in enumerate(cases)
        ]
        return [future.result() for future in futures]


def case_of(run: RunRequest) -> dict[str, Any]:
    """Return the program's input, as the adapter writes it."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        catalog.get(SIMULATOR).prepare(run, Path(folder))
        case: dict[str, Any] = json.loads((Path(folder) / "input.json").read_text())
    return case


def turns(runs: list[RunRequest], schema: Schema, count: int) -> tuple[float, float]:
    """Return the seconds of both sides for all runs, taken in turns of `count`."""
    folder = Path(tempfile.mkdtemp(prefix="bench-overhead-"))
    total = {"ours": 0.0, "raw": 0.0}
    try:
        with ExitStack() as opened:
            (folder / "raw").mkdir()
            sides = {"ours": Ours(folder / "ours", runs, schema, opened), "raw": Raw(folder / "raw", runs[0], opened)}
            for turn in range(0, len(runs), count):
                part = runs[turn : turn + count]
                for name in ("ours", "raw") if turn // count % 2 == 0 else ("raw", "ours"):
                    total[name] += sides[name].seconds(part)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return total["ours"], total["raw"]


def main() -> None:
    """Repeat, publish the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--turn", type=int, default=TURN)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["OMP_NUM_THREADS"] = "1"
    runs, schema = requests(arguments.runs)
    before = form.machine()
    ours, raw = [], []
    for repeat in range(arguments.repeats):
        us, peer = turns(runs, schema, arguments.turn)
        ours.append(round(us, 3))
        raw.append(round(peer, 3))
        words = f"ours {us:.2f} s, Parsl alone {peer:.2f} s, ratio {us / peer:.3f}"
        progress(f"repeat {repeat + 1} of {arguments.repeats}: {words}")
    ratios = [round(us / peer, 4) for us, peer in zip(ours, raw, strict=True)]
    us, peer, ratio = statistics.median(ours), statistics.median(raw), statistics.median(ratios)
    if arguments.dry:
        progress(f"median ratio {ratio}")
        return
    form.publish(
        "overhead",
        "An ensemble's cost beside its simulations",
        {
            "ours_s": Figure(us, "s", f"{arguments.runs} runs as a campaign executes them, median of the repeats"),
            "raw_parsl_s": Figure(peer, "s", "the same commands and writes by Parsl alone, median of the repeats"),
            "ratio": Figure(ratio, "1", "ours over Parsl alone in one repeat, median of the repeats"),
            "added_ms_per_run": Figure(
                round(1000 * WORKERS * (us - peer) / arguments.runs, 3),
                "ms",
                "what a run takes a worker longer with us",
            ),
            "ratio_each": Figure(ratios, "1", "each repeat"),
            "ours_each_s": Figure(ours, "s", "each repeat"),
            "raw_parsl_each_s": Figure(raw, "s", "each repeat"),
        },
        how=HOW,
        target="`ratio` at most 1.15",
        distributions=("parsl", "h5py", "numpy"),
        on=before,
    )


if __name__ == "__main__":
    main()
