"""The small jobs of `surrogate site check`: made from a site, submitted, waited for with a bound, taken away again."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from site_configs.allocation import KEPT
from site_configs.batch import BatchJob, job_script
from site_configs.resources import ResourceRequest
from site_configs.scheduler import Slurm, SubmissionRefusedError
from site_configs.site import RoleName, Site
from surrogate.core.errors import SiteError
from surrogate.core.files import write_json, write_text
from surrogate.core.process import LEAKING
from workflows import site_probe
from workflows.jobs import patiently

RANKS_TIMEOUT_S = 90
HOROVOD_TIMEOUT_S = 240
COMMENT = "surrogate:site-check"
_LOOK_S = 0.5
# A shared file system may show a file some seconds after the job that wrote it has ended.
_LATE_S = 10.0


@dataclass(frozen=True, slots=True)
class Probe:
    """What one job of the check is to find out.

    Attributes:
        role: Whose partition and launcher are tried.
        nodes: Nodes of the job.
        ranks_per_node: Ranks on each of them.
        horovod: Whether the ranks meet by Horovod, too.
    """

    role: RoleName
    nodes: int
    ranks_per_node: int
    horovod: bool

    @property
    def resources(self) -> ResourceRequest:
        """What the ranks ask for."""
        return ResourceRequest(self.nodes, self.ranks_per_node, self.nodes * self.ranks_per_node)


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of a job of the check.

    Attributes:
        refused: SLURM's words when it did not take the job.
        waits: Why the job had not begun when patience ended; empty when it began.
        state: State of the job at the end, in SLURM's word.
        output: What the job itself printed.
        found: What the probe wrote, or None.
        submitted: When the job was submitted, seconds since 1970.
        seen: When its result was seen.
    """

    refused: str = ""
    waits: str = ""
    state: str = ""
    output: str = ""
    found: dict[str, Any] | None = None
    submitted: float = 0.0
    seen: float = 0.0


def probes(site: Site, *, training: bool) -> list[Probe]:
    """Return the jobs that try a site: one where it simulates, one where it trains."""
    found = []
    for role in ("simulate", "train") if training else ("simulate",):
        has = site.capacity(role)
        nodes = min(2, has.nodes)
        found.append(Probe(role, nodes, min(2, has.cores) if role == "simulate" else 1 + (nodes == 1), role == "train"))
    return found


def probe_job(site: Site, probe: Probe, folder: Path) -> BatchJob:
    """Return the job of a probe.

    Args:
        site: The machine.
        probe: What is to be found out.
        folder: Where specification, program and result lie.
    """
    partition, has, python = site.partition(probe.role), site.capacity(probe.role), site.python(probe.role)
    missing = f'test -x {python} || echo {site_probe.MARK} no-python "${{SLURMD_NODENAME:-$(hostname)}}"'
    return BatchJob(
        name=f"sg-check-{probe.role}",
        comment=COMMENT,
        output=str(folder / f"{probe.role}.out"),
        walltime_s=min(partition.walltime_s, RANKS_TIMEOUT_S + (HOROVOD_TIMEOUT_S if probe.horovod else 0) + 60),
        command=(
            python,
            "-P",
            str(folder / "probe.py"),
            str(folder / f"{probe.role}.json"),
            str(folder / f"{probe.role}-result.json"),
        ),
        nodes=probe.nodes,
        cores=has.cores if partition.exclusive else probe.ranks_per_node,
        gpus=has.gpus,
        exclusive=partition.exclusive,
        partition=partition.name,
        account=partition.account,
        qos=partition.qos,
        constraint=partition.constraint,
        directives=partition.directives,
        setup=(*site.setup_lines(probe.role), missing),
        variables=tuple(site.variables(probe.role).items()),
    )


def specification(site: Site, probe: Probe, folder: Path) -> dict[str, Any]:
    """Return what the probe is told.

    Args:
        site: The machine.
        probe: What is to be found out.
        folder: Where campaigns would live.

    Raises:
        SiteError: If the role's launcher is missing.
    """
    launcher, python = site.find_launcher(probe.role), site.python(probe.role)
    hosts = tuple(f"@{number}@" for number in range(probe.nodes))
    shared = {
        # As the runs of a campaign are launched: in a step beside others, told of its nodes and of nothing else.
        "variables": {**site.variables(probe.role), "SLURM_OVERLAP": "1"},
        "keep": list(KEPT),
        "drop": "|".join(fnmatch.translate(pattern) for pattern in LEAKING),
    }
    steps = [
        {
            "name": "ranks",
            "code": "ranks",
            "line": launcher.line(
                (python, "-P", "-m", "mpi4py", "@program@", "rank"), probe.resources, mpi=True, hosts=hosts
            ),
            "timeout_s": RANKS_TIMEOUT_S,
            **shared,
        }
    ]
    if probe.horovod:
        line = launcher.line((python, "-P", "-m", "mpi4py", "@program@"), probe.resources, mpi=True, hosts=hosts)
        steps.append({"name": "horovod", "code": "horovod", "line": line, "timeout_s": HOROVOD_TIMEOUT_S, **shared})
    return {"folders": folders(site, folder), "steps": steps}


def folders(site: Site, folder: Path) -> dict[str, str]:
    """Return the folders that are tried on the node: where campaigns live, and those of the site file."""
    named = {name: site.folder(name) for name in ("scratch", "node_local")}
    return {"workdir": str(folder), **{name: path for name, path in named.items() if path}}


def run_probe(
    site: Site,
    probe: Probe,
    folder: Path,
    *,
    place: Path,
    patience_s: float,
    tell: Callable[[str], object] = lambda _: None,
    slurm: Slurm | None = None,
) -> JobResult:
    """Submit one job, wait for it, and read its result; whatever happens, no job is left.

    Args:
        site: The machine.
        probe: What is to be found out.
        folder: Folder of the check, on a file system that nodes see.
        place: Where campaigns would live.
        patience_s: How long the job may wait and run.
        tell: Is told what is waited for.
        slurm: The scheduler.

    Raises:
        SiteError: If the scheduler stays silent, or the role's launcher is missing.
    """
    scheduler, role = slurm or Slurm(), probe.role
    write_json(folder / f"{role}.json", specification(site, probe, place))
    shutil.copyfile(site_probe.__file__, folder / "probe.py")
    write_text(folder / f"{role}.sh", job_script(probe_job(site, probe, folder)))
    submitted = time.time()
    try:
        number = patiently(lambda: scheduler.submit(folder / f"{role}.sh"))
    except SubmissionRefusedError as refusal:
        return JobResult(refused=str(refusal))
    tell(f"Job {number} tries the partition of '{role}' …")
    try:
        state, reason = _wait(scheduler, number, time.monotonic() + patience_s)
    finally:
        patiently(lambda: scheduler.cancel([number]))
    result, output = folder / f"{role}-result.json", folder / f"{role}.out"
    if state == "COMPLETED":
        _until(result.is_file, _LATE_S)
    return JobResult(
        waits=reason,
        state=state,
        output=output.read_text(encoding="utf-8", errors="replace") if output.is_file() else "",
        found=json.loads(result.read_text(encoding="utf-8")) if result.is_file() else None,
        submitted=submitted,
        seen=time.time(),
    )


def login_facts() -> dict[str, Any]:
    """Return the same facts of this machine as the probe returns of a node."""
    return {**site_probe.facts(), "executable": sys.executable}


def make_folder(place: Path) -> Path:
    """Make the folder of a check where campaigns would live.

    Raises:
        SiteError: If nothing can be written there.
    """
    folder = place / f".surrogate-site-check-{os.getpid()}-{time.time_ns():x}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise SiteError(
            f"The folder {place} cannot be written to ({error.strerror}). Go to a folder where campaigns can live, on "
            "a file system that the nodes see, and check from there."
        ) from error
    return folder


def _wait(scheduler: Slurm, number: str, deadline: float) -> tuple[str, str]:
    """Wait for a job's end; return its state, and why it still waits when patience ended before it began."""
    while True:
        job = patiently(lambda: scheduler.jobs([number])).get(number)
        if job is None or job.finished:
            return (job.state if job else "UNKNOWN"), ""
        if time.monotonic() > deadline:
            return job.state, (job.reason or job.state) if job.state == "PENDING" else ""
        time.sleep(_LOOK_S)


def _until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
