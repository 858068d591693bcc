"""What a site has, what fits on it, and how its launcher is found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from site_configs.machine import count_cores, count_memory_mib
from site_configs.mpiexec import detect_dialect
from site_configs.resources import ResourceRequest
from site_configs.site import LauncherSettings, Role, Site, check_fits, workers_that_fit
from surrogate.core.errors import ResourceError, SiteError

FOUR = Site(name="four", cores=4, memory_mib=8000, gpus=1, walltime_s=600)


def test_what_is_left_out_is_counted_here():
    has = Site(name="here").capacity()
    assert (has.nodes, has.cores, has.memory_mib, has.gpus) == (1, count_cores(), count_memory_mib(), 0)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (ResourceRequest(2, 1, 2), r"needs 2 nodes, and site 'four' has 1\."),
        (ResourceRequest(1, 8, 8), r"8 ranks needs 8 cores on each node, and site 'four' has 4"),
        (ResourceRequest(1, 2, 2, cores_per_rank=3), r"2 ranks of 3 cores needs 6 cores"),
        (ResourceRequest(1, 2, 2, gpus_per_rank=1), r"needs 2 GPUs on each node, and site 'four' has 1"),
        (ResourceRequest(1, 2, 2, memory_per_rank_mib=5000), r"needs 10000 MiB of memory on each node"),
        (ResourceRequest(walltime_s=601), r"may take 601 s, and site 'four' ends runs after 600 s"),
    ],
)
def test_what_can_never_run_is_refused(resources, words):
    with pytest.raises(ResourceError, match=words):
        check_fits(FOUR, resources)


@pytest.mark.parametrize(
    ("resources", "workers"),
    [
        (ResourceRequest(walltime_s=1), 4),
        (ResourceRequest(1, 2, 2, walltime_s=1), 2),
        (ResourceRequest(1, 3, 3, walltime_s=1), 1),
        (ResourceRequest(memory_per_rank_mib=3000, walltime_s=1), 2),
        (ResourceRequest(gpus_per_rank=1, walltime_s=1), 1),
    ],
)
def test_as_many_runs_as_fit_go_on_at_once(resources, workers):
    assert workers_that_fit(FOUR, resources) == workers


def test_a_role_may_cap_its_workers():
    site = FOUR.model_copy(update={"roles": {"simulate": Role(workers=3)}})
    one = ResourceRequest(walltime_s=1)
    assert workers_that_fit(site, one) == 3
    assert workers_that_fit(site, one, "train") == 4


def test_variables_of_a_role_win():
    site = Site.model_validate_json(
        '{"name": "x", "environment": {"variables": {"A": "1", "B": "1"}},'
        ' "roles": {"train": {"environment": {"variables": {"B": "2"}}}}}'
    )
    assert site.variables("train") == {"A": "1", "B": "2"}
    assert site.variables("simulate") == {"A": "1", "B": "1"}


def test_a_site_is_frozen_and_strict():
    with pytest.raises(ValidationError):
        FOUR.cores = 8
    with pytest.raises(ValidationError):
        Site(name="x", cores="4")
    with pytest.raises(ValidationError):
        Site(name="../x")


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("answer", "dialect"),
    [
        ("HYDRA build details:", "mpich"),
        ("Intel(R) MPI Library for Linux* OS", "mpich"),
        ("mpiexec (Open MPI) 5.0.11", "openmpi"),
        ("mpirun (OpenRTE) 4.1.4", "openmpi"),
    ],
)
def test_a_launcher_says_what_it_is(tmp_path, answer, dialect):
    assert detect_dialect(script(tmp_path / "mpiexec", answer)) == dialect


def test_a_launcher_that_does_not_say_is_refused(tmp_path):
    with pytest.raises(SiteError, match="does not say which MPI"):
        detect_dialect(script(tmp_path / "mpiexec", "hello"))
    with pytest.raises(SiteError, match="cannot be started"):
        detect_dialect(str(tmp_path / "nothing"))


def test_the_embedded_launcher_stands_beside_this_python(tmp_path, monkeypatch):
    launcher = Site(name="here").find_launcher()
    assert launcher.mpiexec == str(Path(sys.executable).parent / "mpiexec")
    assert launcher.dialect in ("mpich", "openmpi")
    assert not launcher.bind_cores
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SiteError, match=r"surrogate-hpc\[mpich\]"):
        Site(name="here").find_launcher()


def test_a_named_launcher_is_searched_on_the_path(tmp_path, monkeypatch):
    path = script(tmp_path / "mympi", "mpirun (Open MPI) 4.1.4")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    settings = LauncherSettings(mpiexec="mympi", options=("--quiet",), variables={"B": "2", "A": "1"})
    launcher = Site(name="own", launcher=settings).find_launcher()
    assert (launcher.dialect, launcher.mpiexec) == ("openmpi", path)
    assert launcher.variables == (("A", "1"), ("B", "2"))
    with pytest.raises(SiteError, match="no such program"):
        Site(name="own", launcher=LauncherSettings(mpiexec="mympii")).find_launcher()
