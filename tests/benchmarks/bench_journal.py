"""What 100,000 journalled runs cost: time to resume and to tell the status, bytes, files, memory; SQLite beside."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surrogate.core.lock import Lease
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.support.journalled import failed, finished, opened, packed, planned, started
from workflows.journal import Journal
from workflows.status import status

RUNS, SHARD, COMMIT, REPEATS = 100_000, 256, 32, 3
FAIL_EACH = 10

HOW = f"""
Scripted events as a campaign journals them, without simulations: each run is planned, started and finished; one in
{FAIL_EACH} fails first and is started again; every {SHARD} runs a shard is noted. A commit that is flushed to disk
follows every {COMMIT} ended runs. The writer is killed at the end (SIGKILL); then each of these is a new process, timed
from its start to its end, interpreter and imports included, median of {REPEATS}: *resume* takes the lock of the dead
writer, reads the journal, writes a new snapshot and is ready to append; *status* tells how the campaign stands, without
the lock.

**SQLite** (Python's sqlite3, WAL, synchronous=FULL) holds the same runs in one table with an index on the state, and
commits as often; its *resume* reads all runs into memory and updates one, its *status* counts them by state and by kind
of failure and reads the latest failures. It keeps no events, and its WAL must not be used on a network file system.
""".strip()


def events(runs: int) -> Iterator[dict[str, Any] | None]:
    """Yield the events of a campaign; None where a commit belongs."""
    yield opened()
    for first in range(0, runs, 1000):
        yield planned(*range(first, min(first + 1000, runs)))
    for number in range(runs):
        yield started(number)
        if number % FAIL_EACH == 0:
            yield failed(number)
            yield started(number, 2)
        yield finished(number, 2 if number % FAIL_EACH == 0 else 1)
        if (number + 1) % SHARD == 0 or number == runs - 1:
            yield packed(*range(number - number % SHARD, number + 1), shard=f"{number // SHARD:016x}")
        if (number + 1) % COMMIT == 0:
            yield None
    yield None


def memory_mib() -> float:
    """Return this process's resident memory in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def write(folder: Path, runs: int) -> None:
    """Journal all runs, print figures, and wait to be killed."""
    lease = Lease.acquire(folder / "lock", "benchmark")
    journal = Journal.open(folder / "journal", lease)
    count, begin, resident = 0, time.perf_counter(), []
    planning = True
    for event in events(runs):
        if event is None:
            journal.commit()
        else:
            if planning and event["event"] == "run.started":
                journal.commit()
                planning = False
                resident.append(memory_mib())
            journal.append(event)
            count += 1
            if count % 5000 == 0:
                resident.append(memory_mib())
    journal.commit()
    report(
        seconds=time.perf_counter() - begin,
        events=count,
        after_planning=resident[0],
        middle=statistics.median(resident[len(resident) // 2 :]),
        end=memory_mib(),
        peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    time.sleep(3600)


def resume(folder: Path, _: int) -> None:
    """Open the journal for writing, as `surrogate resume` does."""
    with Lease.acquire(folder / "lock", "benchmark") as lease, Journal.open(folder / "journal", lease) as journal:
        assert journal.repaired == []
        report(runs=len(journal.state.runs), peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def tell(folder: Path, _: int) -> None:
    """Tell the status, as `surrogate status --json` does."""
    report(**status(folder).to_json())


def sqlite_write(folder: Path, runs: int) -> None:
    """Keep the same runs in SQLite, print figures, and wait to be killed."""
    base = connect(folder)
    base.execute(
        "create table runs (run_id text primary key, inputs text, stratum text, status text, attempts int, kind text,"
        " message text, seconds real, host text, path text, size int, sha256 text, mtime_ns int, shard text, at real)"
    )
    base.execute("create index by_status on runs (status)")
    count, begin = 0, time.perf_counter()
    for event in events(runs):
        if event is None:
            base.commit()
        else:
            sqlite_apply(base, event)
            count += 1
    base.commit()
    report(seconds=time.perf_counter() - begin, events=count)
    time.sleep(3600)


def connect(folder: Path) -> sqlite3.Connection:
    """Open the peer's file with the promise of durability that the journal gives."""
    folder.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(folder / "runs.sqlite")
    base.execute("pragma journal_mode=wal")
    base.execute("pragma synchronous=full")
    return base


def sqlite_apply(base: sqlite3.Connection, event: dict[str, Any]) -> None:
    """Apply one event to the peer's table."""
    kind, now = event["event"], time.time()
    if kind == "runs.planned":
        rows = [(run["run_id"], json.dumps(run["inputs"]), run["stratum"]) for run in event["runs"]]
        base.executemany("insert into runs values (?,?,?,'planned',0,null,null,0,'',null,0,null,0,null,0)", rows)
    elif kind == "run.started":
        base.execute(
            "update runs set status='running', attempts=?, at=? where run_id=?",
            (event["attempt"], now, event["run_id"]),
        )
    elif kind == "run.failed":
        base.execute(
            "update runs set status='failed', kind=?, message=?, seconds=?, host=?, at=? where run_id=?",
            (event["kind"], event["message"], event["seconds"], event["host"], now, event["run_id"]),
        )
    elif kind == "run.finished":
        names = ("seconds", "host", "path", "size", "sha256", "mtime_ns")
        base.execute(
            f"update runs set status='done', at=?, {', '.join(f'{name}=?' for name in names)} where run_id=?",
            (now, *(event[name] for name in names), event["run_id"]),
        )
    elif kind == "shards.written":
        moved = [(event["shard"], run) for run in event["runs"]]
        base.executemany(
            "update runs set status='packed', shard=?, path=null, size=0, sha256=null, mtime_ns=0 where run_id=?", moved
        )


def sqlite_resume(folder: Path, _: int) -> None:
    """Read all of the peer's runs into memory and commit a change."""
    base = connect(folder)
    runs = {row[0]: row for row in base.execute("select * from runs")}
    base.execute("update runs set attempts=attempts where run_id=?", (next(iter(runs)),))
    base.commit()
    report(runs=len(runs), peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def sqlite_tell(folder: Path, _: int) -> None:
    """Tell the status from the peer's table."""
    base = connect(folder)
    report(
        runs=dict(base.execute("select status, count(*) from runs group by status")),
        failures=dict(base.execute("select kind, count(*) from runs where kind is not null group by kind")),
        latest=base.execute(
            "select run_id, message from runs where kind is not null order by at desc limit 20"
        ).fetchall(),
    )


PARTS = {part.__name__: part for part in (write, resume, tell, sqlite_write, sqlite_resume, sqlite_tell)}


def report(**figures: Any) -> None:
    """Hand figures to the parent."""
    print(json.dumps(figures), flush=True)


def run_part(name: str, folder: Path, runs: int) -> tuple[dict[str, Any], float]:
    """Run one part as a process of its own, kill it when it has reported; return its figures and its seconds."""
    argv = [sys.executable, __file__, "--part", name, "--folder", str(folder), "--runs", str(runs)]
    begin = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if name.endswith("write"):
            process.kill()
        process.communicate()
    seconds = time.perf_counter() - begin
    if not line:
        raise SystemExit(f"The part '{name}' ended with {process.returncode} and without a report.")
    figures: dict[str, Any] = json.loads(line)
    progress(f"{name}: {seconds:.2f} s")
    return figures, seconds


def measure(folder: Path, runs: int, prefix: str) -> dict[str, Any]:
    """Return the figures of one side."""
    wrote, _ = run_part(f"{prefix}write", folder, runs)
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    told = [run_part(f"{prefix}tell", folder, runs) for _ in range(REPEATS)]
    resumed = [run_part(f"{prefix}resume", folder, runs) for _ in range(REPEATS)]
    return {
        **wrote,
        "files": len(sizes),
        "bytes": sum(sizes),
        "status": told[0][0],
        "status_s": statistics.median(seconds for _, seconds in told),
        "resume_s": statistics.median(seconds for _, seconds in resumed),
        "resume_peak": max(figures["peak"] for figures, _ in resumed),
    }


def figures_of(ours: dict[str, Any], peer: dict[str, Any], runs: int) -> dict[str, Figure]:
    """Return the figures of both sides under their keys."""
    mib = "MiB"
    return {
        "runs": Figure(runs, "1", "runs that were journalled"),
        "events": Figure(ours["events"], "1", "events of these runs"),
        "resume_s": Figure(round(ours["resume_s"], 3), "s", "a new process takes over and is ready to append"),
        "status_s": Figure(round(ours["status_s"], 3), "s", "a new process tells the status"),
        "files": Figure(ours["files"], "1", "files of the journal and the lock"),
        "bytes_per_run": Figure(round(ours["bytes"] / runs, 1), "byte", "size of all these files over the runs"),
        "events_per_s": Figure(round(ours["events"] / ours["seconds"]), "1/s", "appended and committed"),
        "rss_planned_mib": Figure(round(ours["after_planning"], 1), mib, "writer's memory when all runs are planned"),
        "rss_middle_mib": Figure(round(ours["middle"], 1), mib, "its median in the second half"),
        "rss_end_mib": Figure(round(ours["end"], 1), mib, "its memory at the end"),
        "rss_peak_mib": Figure(round(ours["peak"], 1), mib, "its peak"),
        "resume_rss_peak_mib": Figure(round(ours["resume_peak"], 1), mib, "peak of a process that resumes"),
        "sqlite_resume_s": Figure(round(peer["resume_s"], 3), "s", "the same by SQLite"),
        "sqlite_status_s": Figure(round(peer["status_s"], 3), "s", "the same by SQLite"),
        "sqlite_bytes_per_run": Figure(round(peer["bytes"] / runs, 1), "byte", "the same by SQLite"),
        "sqlite_events_per_s": Figure(round(peer["events"] / peer["seconds"]), "1/s", "the same by SQLite"),
        "ratio": Figure(round(peer["seconds"] / ours["seconds"], 3), "1", "our events per second over SQLite's"),
    }


def main() -> None:
    """Measure both sides and publish; or run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        PARTS[arguments.part](arguments.folder, arguments.runs)
        return
    before = form.machine()
    base = Path(tempfile.mkdtemp(prefix="bench-journal-"))
    try:
        ours = measure(base / "ours", arguments.runs, "")
        peer = measure(base / "sqlite", arguments.runs, "sqlite_")
    finally:
        shutil.rmtree(base, ignore_errors=True)
    assert ours["status"]["runs"]["packed"] == arguments.runs, ours["status"]
    assert peer["status"]["runs"] == {"packed": arguments.runs}, peer["status"]
    figures = figures_of(ours, peer, arguments.runs)
    if arguments.dry:
        progress(json.dumps({key: figure.value for key, figure in figures.items()}))
        return
    form.publish(
        "journal",
        "100,000 journalled runs",
        figures,
        how=HOW,
        target="`resume_s` under 10, `status_s` under 2, memory flat once the runs are planned",
        on=before,
    )


if __name__ == "__main__":
    main()
