"""What a campaign of 100,000 runs costs its driver: memory, files, the time of a resume and of a status."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress

RUNS, REPEATS = 100_000, 3
WORKERS = 64  # at once, as on a cluster; each answers at once

CAMPAIGN = """
schema_version = 1
name = "many"
[simulator]
name = "scripted"
[design]
runs = {runs}
[resources]
ranks = 1
walltime = 60
[gate.metrics]
relative_l2_median = {{ max = 10.0 }}
"""

HOW = f"""
The driver of a campaign goes through all of its own work: design, journal, dispatching, bookkeeping, shards,
data card. Only the workers are replaced, by {WORKERS} that answer at once with what the simulation would have given, so
that no process is started and no run folder is written. Memory is the driver's resident set, sampled every second. Then
each of these is a new process, timed from its start to its end, interpreter and imports included, median of {REPEATS}:
*resume* takes the lock, reads the journal, works the whole design out again, compares it with what was planned, opens
the dataset (every shard's hash is compared), checks the splits and writes the data card: it ends where training would
begin; *status* is `surrogate status --json`.
""".strip()


class InstantSession:
    """Stands where Parsl would: every run has succeeded as soon as it is handed over."""

    workers = WORKERS
    logs = Path()

    def start(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def alive(self) -> bool:
        """Return True."""
        return True

    def broken(self) -> None:
        """Return None."""

    def submit_run(self, request: Any, needs_s: float = 0.0) -> Future[str]:
        """Return a finished future with a success."""
        del needs_s
        answer: Future[str] = Future()
        run = request.run_id
        answer.set_result(
            json.dumps(
                {
                    "outcome": "success", "run_id": run, "path": f"runs/{run[:2]}/{run}/run.h5", "size": 9000,
                    "sha256": "0" * 64, "mtime_ns": 0, "samples": 1, "seconds": 12.5, "host": "node-17",
                    "launch_line": ["mpiexec", "-n", "4", "solver", run], "attempt": request.attempt,
                }
            )
        )  # fmt: skip
        return answer


def memory_mib() -> float:
    """Return this process's resident memory in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def write(workdir: Path, runs: int) -> None:
    """Drive the campaign to its data card and report figures."""
    from sim_wrappers.scripted.formulas import level, wave
    from surrogate.data import writer
    from surrogate.data.run_file import RunFile
    from tests.support import campaign_head
    from workflows import ensemble, simulate

    points: dict[str, dict[str, Any]] = {}
    schemas: list[Any] = []

    def made(path: Path) -> RunFile:
        inputs = points[path.parent.name]
        columns = {name: np.array([value]) for name, value in inputs.items()}
        outputs = {"wave": np.array([wave(inputs, range(16), 16)]), "level": np.array([level(inputs)])}
        facts = {"inputs": inputs, "seconds": 12.5, "host": "node-17", "attempt": 1, "simulator": "scripted"}
        return RunFile(schemas[0], 1, {**columns, **outputs}, ("",), facts)

    def instant(site: Any, workdir: Path, sizes: Any, **more: Any) -> InstantSession:
        del site, workdir, sizes
        schemas.append(more["schema"])
        return InstantSession()

    checked = simulate.check_continues

    def planned(plan: Any, known: Any, root: Path) -> None:
        points.update({run.request.run_id: dict(run.request.inputs) for run in plan.runs})
        checked(plan, known, root)

    simulate.check_continues = planned
    ensemble.Session = instant  # type: ignore[assignment,misc]
    writer.read_run_file = made
    file = workdir.parent / "many.toml"
    file.write_text(CAMPAIGN.format(runs=runs))
    resident: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            resident.append(memory_mib())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    begin = time.perf_counter()
    campaign_head.head(workdir, file)
    seconds = time.perf_counter() - begin
    over.set()
    thread.join()
    report(
        seconds=seconds,
        resident=resident,
        peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def report(**figures: Any) -> None:
    """Hand figures to the parent."""
    print(json.dumps(figures), flush=True)


def timed(words: list[str], repeats: int) -> tuple[float, str]:
    """Return the median seconds of a command, and what it printed last."""
    seconds, said = [], ""
    for _ in range(repeats):
        begin = time.perf_counter()
        ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        seconds.append(time.perf_counter() - begin)
        if ended.returncode:
            raise SystemExit(f"{' '.join(words)} ended with {ended.returncode}: {ended.stderr}")
        said = ended.stdout
        progress(f"{words[1]}: {seconds[-1]:.2f} s")
    return statistics.median(seconds), said


def measure(base: Path, runs: int) -> dict[str, Figure]:
    """Return all figures."""
    workdir = base / "w"
    wrote, _ = timed([__file__, "--part", "write", "--folder", str(workdir), "--runs", str(runs)], 1), None
    figures = json.loads(wrote[1])
    sizes = [path.stat().st_size for path in workdir.rglob("*") if path.is_file()]
    resume_s, _ = timed(["-m", "tests.support.campaign_head", "dataset", "resume", str(workdir)], REPEATS)
    status_s, said = timed(["-m", "workflows.cli", "status", str(workdir), "--json"], REPEATS)
    told = json.loads(said)
    assert told["runs"]["packed"] == told["total"] == runs, told["runs"]
    resident = figures["resident"]
    half = len(resident) // 2
    return {
        "runs": Figure(runs, "1", "runs of the campaign"),
        "driver_s": Figure(round(figures["seconds"], 1), "s", "the driver's own work on all of them"),
        "runs_per_s": Figure(round(runs / figures["seconds"]), "1/s", "the same as a rate"),
        "resume_s": Figure(round(resume_s, 2), "s", "a new process resumes the campaign to where training begins"),
        "status_s": Figure(round(status_s, 2), "s", "a new process tells the status"),
        "files": Figure(len(sizes), "1", "files of the working directory"),
        "bytes_per_run": Figure(round(sum(sizes) / runs), "byte", "size of all these files over the runs"),
        "rss_quarter_mib": Figure(
            round(resident[len(resident) // 4], 1), "MiB", "the driver's memory after a quarter of its time"
        ),
        "rss_half_mib": Figure(round(resident[half], 1), "MiB", "after half of it"),
        "rss_second_half_mib": Figure(round(statistics.median(resident[half:]), 1), "MiB", "median of the second half"),
        "rss_peak_mib": Figure(round(figures["peak"], 1), "MiB", "its peak, the data card included"),
    }


def main() -> None:
    """Measure and publish; or run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    parser.add_argument("--part", choices=["write"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        write(arguments.folder, arguments.runs)
        return
    before = form.machine()
    base = Path(tempfile.mkdtemp(prefix="bench-workdir-"))
    try:
        figures = measure(base, arguments.runs)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    if arguments.dry:
        progress(json.dumps({key: figure.value for key, figure in figures.items()}))
        return
    form.publish(
        "workdir",
        "A campaign of 100,000 runs, without the runs",
        figures,
        how=HOW,
        target="`resume_s` under 10, `status_s` under 2, `files` at most about 1,000, memory flat",
        on=before,
    )


if __name__ == "__main__":
    main()
