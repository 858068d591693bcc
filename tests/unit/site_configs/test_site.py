"""What a site has, what fits on it, and how its launcher is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from site_configs.fitting import check_fits, workers_that_fit
from site_configs.machine import count_cores, count_memory_mib
from site_configs.mpiexec import detect_dialect
from site_configs.partition import Partition
from site_configs.resources import ResourceRequest
from site_configs.settings import Storage
from site_configs.site import Environment, LauncherSettings, Role, Site
from surrogate.core.errors import ConfigError, ResourceError, SiteError

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


CLUSTER = """{
    "name": "big", "scheduler": "slurm", "nodes": 8, "needs_account": true, "cores": 64, "memory_mib": 1000,
    "partitions": {"cpu": {"nodes": 4, "walltime_s": 600}, "gpu": {"gpus": 4, "cores": 32, "account": "{account}_g"}},
    "roles": {"simulate": {"partition": "cpu"}, "train": {"partition": "gpu"}},
    "transport": {"A": "1", "B": "1"}, "environment": {"variables": {"B": "2"}}
}"""


def cluster(**changes) -> Site:
    return Site.model_validate_json(CLUSTER).model_copy(update=changes)


def test_each_role_has_its_partition_and_its_size():
    site = cluster(account="m1")
    assert [site.capacity(role).nodes for role in ("simulate", "train", "drive", "serve")] == [4, 8, 4, 8]
    assert (site.capacity("train").cores, site.capacity("train").gpus) == (32, 4)
    assert [site.partition(role).account for role in ("simulate", "train")] == ["m1", "m1_g"]
    assert site.variables("train") == {"A": "1", "B": "2"}


def test_the_account_is_asked_for_in_a_sentence():
    request = ResourceRequest(walltime_s=60)
    with pytest.raises(ConfigError, match=r"Give --account NAME, set SURROGATE_ACCOUNT, or write .* extends = \"big\""):
        check_fits(cluster(), request)
    check_fits(cluster(account="m1"), request)
    check_fits(cluster(needs_account=False), request)


def test_a_run_must_end_within_its_job():
    with pytest.raises(ResourceError, match=r"may take 601 s, and a job on site 'big' ends after 600 s"):
        check_fits(cluster(account="m1"), ResourceRequest(walltime_s=601))
    check_fits(cluster(account="m1"), ResourceRequest(walltime_s=601), "train")


def test_what_comes_before_a_command_runs_in_a_shell(tmp_path):
    venv = tmp_path / "a venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "activate").write_text("echo activated\n")
    site = cluster(
        storage=Storage(umask="0027", node_local="$BASE/{account}/scratch"),
        account="m1",
        environment=Environment(
            setup=('module() { echo "$*"; }',), modules=("gcc/13", "mpi"), venv=str(venv), variables={}
        ),
        roles={"simulate": Role(partition="cpu", environment=Environment(modules=("solver",)))},
    )
    script = "\n".join([*site.setup_lines("simulate"), 'umask; echo "$TMPDIR"', 'test -d "$TMPDIR" && echo made'])
    environment = {"BASE": str(tmp_path / "local disk"), "PATH": os.environ["PATH"]}
    shell = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert shell.stdout.splitlines() == [
        "load gcc/13", "load mpi", "load solver", "activated", "0027", f"{tmp_path}/local disk/m1/scratch", "made",
    ]  # fmt: skip
    assert site.python("simulate") == f"{venv}/bin/python"
    assert Site(name="x").python("train") == sys.executable


def test_a_service_for_shared_gpus_is_started_where_it_is_wanted():
    shared = cluster(partitions={"cpu": Partition(), "gpu": Partition(gpus=1, mps=True)})
    assert "nvidia-cuda-mps-control -d" in "\n".join(shared.setup_lines("train"))
    assert shared.setup_lines("simulate") == ()


def test_locks_can_be_left_out():
    assert cluster(storage=Storage(file_locks=False)).variables("train")["HDF5_USE_FILE_LOCKING"] == "FALSE"


def test_a_launcher_can_be_shown_where_it_is_not(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    site = cluster(launcher=LauncherSettings(dialect="srun"))
    assert site.find_launcher("train", written=True).mpiexec == "srun"
    with pytest.raises(SiteError, match="no such program"):
        site.find_launcher("train")
