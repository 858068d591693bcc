"""Proving that a site works before a campaign relies on it: launcher, world size, cores, file locks."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from site_configs.launch import Launcher
from site_configs.load import load_site
from site_configs.resources import ResourceRequest
from site_configs.site import Site
from surrogate.core.errors import SurrogateError
from surrogate.core.process import run_process, scrubbed_environment
from workflows.doctor import check_disk, check_locks
from workflows.doctor_check import Check

RANKS = 2
_TIMEOUT_S = 60.0
_HELLO = "from mpi4py import MPI; print('world', MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank, flush=True)"


def check_site(name: str, folder: Path | None = None) -> list[Check]:
    """Check a site from this machine.

    Args:
        name: Name or file of the site.
        folder: Where campaigns would live; the current folder when None.

    Returns:
        What was found, one check a line.

    Raises:
        ConfigError: If there is no such site, or its file is wrong.
    """
    site = load_site(name)
    place = folder or Path.cwd()
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
