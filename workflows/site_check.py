"""Proving that a site works before a campaign relies on it: on this machine, or by small jobs on a cluster."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from site_configs.cluster import MPI_KINDS, ask, parse_mpi_kinds
from site_configs.fitting import check_account
from site_configs.launch import Launcher
from site_configs.load import load_site
from site_configs.resources import ResourceRequest
from site_configs.site import Site, expanded
from surrogate.core.errors import SiteError, SurrogateError
from surrogate.core.process import run_process, scrubbed_environment
from workflows.doctor import check_disk, check_locks
from workflows.doctor_check import Check

RANKS = 2
PATIENCE_S = 600.0
_TIMEOUT_S = 60.0
_HELLO = "from mpi4py import MPI; print('world', MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank, flush=True)"


def check_site(
    name: str,
    folder: Path | None = None,
    *,
    training: bool = True,
    patience_s: float = PATIENCE_S,
    tell: Callable[[str], object] = lambda _: None,
) -> list[Check]:
    """Check a site from this machine.

    Args:
        name: Name or file of the site.
        folder: Where campaigns would live; the site's scratch, or else the current folder, when None.
        training: Whether the training is tried, too: its partition, and Horovod.
        patience_s: How long a job may wait and run.
        tell: Is told what is waited for.

    Returns:
        What was found, one check a line.

    Raises:
        ConfigError: If there is no such site, its file is wrong, or it needs an account and none was named.
        SiteError: If the site is of a scheduler that is only rendered.
    """
    site = load_site(name)
    if site.scheduler == "local":
        return _check_here(site, folder or Path.cwd())
    if site.scheduler != "slurm":
        raise SiteError(
            f"Site '{site.name}' is handed out by {site.scheduler}, whose jobs this version renders and does not "
            f"submit. Look at them with: surrogate site render {site.name} CAMPAIGN"
        )
    return _check_cluster(site, folder or _working_place(site), training, patience_s, tell)


def _working_place(site: Site) -> Path:
    """Return where campaigns live: the site's scratch where its parent folder is there, else the current folder."""
    scratch = site.folder("scratch")
    place = Path(expanded(scratch)) if scratch else Path.cwd()
    return place if place.parent.is_dir() else Path.cwd()


def _check_cluster(
    site: Site, place: Path, training: bool, patience_s: float, tell: Callable[[str], object]
) -> list[Check]:
    """Submit one small job for each role and judge what it found."""
    from workflows.site_job import login_facts, make_folder, probes, run_probe
    from workflows.site_judge import judge

    for role in ("simulate", "train"):
        check_account(site, role)
    checks, login = [_capacity(site)], login_facts()
    kinds, was_there = _mpi_kinds(), place.is_dir()
    folder = make_folder(place)
    try:
        for probe in probes(site, training=training):
            try:
                launcher = site.find_launcher(probe.role)
                result = run_probe(site, probe, folder, place=place, patience_s=patience_s, tell=tell)
            except SurrogateError as error:
                checks.append(Check(f"launcher ({probe.role})", "fail", str(error)))
                continue
            checks += judge(site, probe, result, login, launcher=launcher, kinds=kinds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not was_there:
            with contextlib.suppress(OSError):
                place.rmdir()
    return checks


def _mpi_kinds() -> tuple[str, ...]:
    """Return what `srun --mpi` takes; nothing where it does not say."""
    try:
        return parse_mpi_kinds(ask(*MPI_KINDS))
    except SiteError:
        return ()


def _check_here(site: Site, place: Path) -> list[Check]:
    """Check a site that is this machine."""
    found = [_capacity(site)]
    try:
        launcher = site.find_launcher()
    except SurrogateError as error:
        found.append(Check("launcher", "fail", str(error)))
    else:
        found += [Check("launcher", "ok", f"{launcher.mpiexec}, dialect {launcher.dialect}."), _world(site, launcher)]
    return [*found, check_locks(place), check_disk(place)]


def _capacity(site: Site) -> Check:
    has = site.capacity()
    gpus = f", {has.gpus} GPUs" if has.gpus else ""
    return Check(
        "machine", "ok", f"{has.nodes} node(s) of {has.cores} cores and {has.memory_mib / 1024:.1f} GiB{gpus}."
    )


def _world(site: Site, launcher: Launcher) -> Check:
    """Start two ranks by the site's launcher; each must see a world of two."""
    line = launcher.line((sys.executable, "-m", "mpi4py", "-c", _HELLO), ResourceRequest(1, RANKS, RANKS), mpi=True)
    environment = {**scrubbed_environment(os.environ), **site.variables("simulate")}
    with tempfile.TemporaryDirectory(prefix="surrogate-site-check-") as scratch:
        output = Path(scratch) / "output"
        ended = run_process(line, cwd=Path(scratch), env=environment, stdout=output, timeout_s=_TIMEOUT_S)
        text = output.read_text(errors="replace")
    sizes = [words[1] for words in map(str.split, text.splitlines()) if words[:1] == ["world"] and len(words) == 3]
    if ended.timed_out:
        return Check("ranks", "fail", f"{RANKS} ranks did not answer within {_TIMEOUT_S:.0f} s: {' '.join(line)}")
    if sizes == [str(RANKS)] * RANKS:
        return Check("ranks", "ok", f"{RANKS} ranks see each other.")
    if sizes == ["1"] * RANKS:
        return Check(
            "ranks",
            "fail",
            f"{RANKS} ranks were started and each believes to be alone: the launcher {launcher.mpiexec} belongs to "
            "another MPI than mpi4py. Name the matching launcher in the site, or install mpi4py against its MPI.",
        )
    last = text.strip().splitlines()[-1] if text.strip() else "nothing was printed"
    return Check("ranks", "fail", f"{RANKS} ranks ended with exit code {ended.returncode}: {last}")
