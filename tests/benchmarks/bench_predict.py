"""A million rows predicted through `--site laptop`, killed in the middle and resumed: the same bytes, flat memory."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from surrogate.core.files import sha256_file
from surrogate.core.process import find_tagged
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress

ROWS, SAMPLES = 1_000_000, 400
GIB = 2.0**30
TAG = "BENCH_PREDICT"
CAMPAIGN = """
schema_version = 1
name = "bench-predict"
[data]
[model]
members = 3
[train]
epochs = 150
batch_size = 64
[gate.metrics]
relative_l2_median = { max = 0.5 }
"""
MAPPING = """
format = "npz"
sample_axis = 0
[inputs.a]
path = "a"
low = 0.0
high = 1.0
[inputs.b]
path = "b"
low = 0.1
high = 10.0
scale = "log10"
[outputs.level]
path = "level"
[outputs.slope]
path = "slope"
"""

HOW = f"""
The surrogate is trained in the benchmark: {SAMPLES} samples of two smooth scalars of two inputs are ingested, three
networks of the family `mlp` are trained and promoted. Then `surrogate predict --site laptop` reads {ROWS:,} points from
a CSV file and writes mean, standard deviation and interval of both outputs into an HDF5 file. It is done three times:
undisturbed, timed from the command's start to its end; once more and killed (SIGKILL of the driver) when half of the
parts are there; and the same command again, which adopts the finished parts. *identical* says that the SHA-256 of both
files is the same. Memory is the sum of the resident set sizes of the driver and every process that it started, looked
at twice a second; the largest of all sums counts. Pages that several processes share count once for each of them; the
sum of the proportional set sizes, in which they count once, stands beside it.

The **peer** is the same command without `--site`: one process, the same batches, streaming as well.
""".strip()


class Watch:
    """Looks at the memory of a process, and of all that carry its tag, until told to stop.

    Attributes:
        peak: Largest sum of resident set sizes, bytes.
        shared_once: Largest sum of proportional set sizes, bytes.
        driver: Largest resident set size of the process itself, bytes.
    """

    def __init__(self, pid: int, tag: str) -> None:
        """Begin to look; the managers of workers are no descendants of the driver, and inherit its environment."""
        self.peak = self.shared_once = self.driver = 0
        self._pid, self._tag = pid, tag
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            sizes, fair = list[int](), 0
            for pid in find_tagged(TAG, self._tag):
                try:
                    memory = psutil.Process(pid).memory_full_info()
                except (psutil.Error, FileNotFoundError):
                    continue
                sizes.append(memory.rss)
                fair += memory.pss
                if pid == self._pid:
                    self.driver = max(self.driver, memory.rss)
            self.peak = max(self.peak, sum(sizes))
            self.shared_once = max(self.shared_once, fair)

    def end(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()


def surrogate(*words: str | Path) -> list[str]:
    """Return a command line."""
    return [sys.executable, "-m", "workflows.cli", *map(str, words)]


def run(argv: Sequence[str]) -> str:
    """Run a command to its end and return what it printed."""
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


def train(base: Path) -> Path:
    """Make a small surrogate and return its working directory."""
    random = np.random.default_rng(1)
    a, b = random.uniform(0, 1, SAMPLES), 10 ** random.uniform(-1, 1, SAMPLES)
    level = np.sin(2 * a) + 0.3 * np.log10(b)
    np.savez(base / "samples.npz", a=a, b=b, level=level, slope=a * np.log10(b))
    (base / "c.toml").write_text(CAMPAIGN)
    (base / "m.toml").write_text(MAPPING)
    run(
        surrogate(
            "ingest", base / "w", base / "samples.npz", "--mapping", base / "m.toml", "--campaign", base / "c.toml"
        )
    )
    run(surrogate("resume", base / "w"))
    return base / "w"


def write_points(path: Path, rows: int) -> None:
    """Write the points."""
    random = np.random.default_rng(2)
    with path.open("w", encoding="utf-8") as target:
        target.write("a,b\n")
        for _ in range(0, rows, 100_000):
            count = min(100_000, rows)
            a, b = random.uniform(0, 1, count), 10 ** random.uniform(-1, 1, count)
            target.writelines(f"{x!r},{y!r}\n" for x, y in zip(a.tolist(), b.tolist(), strict=True))


def predict(base: Path, output: Path, *words: str, kill_at: int = 0) -> tuple[dict[str, Any], float, Watch]:
    """Predict all points, killed when so many parts are there; return what it said, its seconds, its memory."""
    argv = surrogate("predict", base / "w", "--input", base / "points.csv", "--output", output, "--json", *words)
    parts = output.parent / f".{output.name}.parts" / "parts"
    begin = time.perf_counter()
    tag = uuid.uuid4().hex
    environment = {**os.environ, TAG: tag}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        watch = Watch(process.pid, tag)
        while kill_at and process.poll() is None:
            if len(list(parts.glob("part-*.h5"))) >= kill_at:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.02)
        out, err = process.communicate()
    seconds = time.perf_counter() - begin
    watch.end()
    if process.returncode != (-signal.SIGKILL if kill_at else 0):
        raise SystemExit(f"{' '.join(argv)} ended with {process.returncode}: {err}")
    progress(f"{output.name}: {seconds:.1f} s, peak {watch.peak / GIB:.2f} GiB")
    return json.loads(out) if out else {}, seconds, watch


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    arguments = parser.parse_args()
    before = form.machine()
    base = Path(tempfile.mkdtemp(prefix="bench-predict-"))
    site = ("--site", "laptop")
    try:
        train(base)
        progress("the surrogate is trained")
        write_points(base / "points.csv", arguments.rows)
        whole, seconds, first = predict(base, base / "whole.h5", *site)
        half = max(1, -(-arguments.rows // 65536) // 2)
        _, _, second = predict(base, base / "again.h5", *site, kill_at=half)
        time.sleep(1.0)
        resumed, resumed_s, third = predict(base, base / "again.h5", *site)
        _, alone_s, alone = predict(base, base / "alone.h5")
        hashes = [sha256_file(base / f"{name}.h5") for name in ("whole", "again", "alone")]
        size = (base / "whole.h5").stat().st_size
    finally:
        shutil.rmtree(base, ignore_errors=True)
    assert whole["rows"] == resumed["rows"] == arguments.rows, (whole, resumed)
    assert resumed["parts_adopted"] > 0, resumed
    peak = max(first.peak, second.peak, third.peak)
    fair = max(first.shared_once, second.shared_once, third.shared_once)
    rate = arguments.rows / seconds
    figures = {
        "rows": Figure(arguments.rows, "1", "points that were predicted"),
        "peak_rss_gib": Figure(
            round(peak / GIB, 3), "GiB", "largest memory of all processes together, in all three runs"
        ),
        "peak_pss_gib": Figure(round(fair / GIB, 3), "GiB", "the same with shared pages counted once"),
        "driver_peak_rss_gib": Figure(
            round(max(w.driver for w in (first, second, third)) / GIB, 3), "GiB", "the driver's own"
        ),
        "rows_per_s": Figure(round(rate), "1/s", "undisturbed, from the command's start to its end"),
        "seconds": Figure(round(seconds, 1), "s", "the same in seconds"),
        "resumed_s": Figure(round(resumed_s, 1), "s", "the command that goes on after the kill"),
        "parts_adopted": Figure(resumed["parts_adopted"], "1", "parts that it found finished"),
        "identical": Figure(hashes[0] == hashes[1], "1", "whether both files have the same hash"),
        "bytes_per_row": Figure(round(size / arguments.rows, 1), "byte", "size of the file over its rows"),
        "alone_rows_per_s": Figure(round(arguments.rows / alone_s), "1/s", "one process, without --site"),
        "alone_peak_rss_gib": Figure(round(alone.peak / GIB, 3), "GiB", "memory of that process"),
        "alone_identical": Figure(hashes[0] == hashes[2], "1", "whether its file has the same hash, too"),
        "ratio": Figure(round(rate * alone_s / arguments.rows, 3), "1", "rows per second with --site over without"),
    }
    if arguments.dry:
        progress(json.dumps({key: figure.value for key, figure in figures.items()}))
        return
    form.publish(
        "predict",
        "A million rows through a site, killed and resumed",
        figures,
        how=HOW,
        target="`identical` true, `peak_rss_gib` under 1.5",
        distributions=("numpy", "onnxruntime", "h5py", "parsl"),
        on=before,
    )


if __name__ == "__main__":
    main()
