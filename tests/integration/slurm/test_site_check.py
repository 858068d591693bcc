"""`site check` on a real SLURM: a good site passes, and each planted fault is found and told in a sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from workflows.site_check import check_site

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(280)]
GOOD = {"scheduler": "slurm", "nodes": 2, "cores": 2, "memory_mib": 2048, "partitions": {"debug": {"name": "debug"}}}
SRUN = {"dialect": "srun", "options": ["--mpi=pmi2"]}


def site(tmp_path: Path, **changes) -> str:
    """Write a site of two nodes, with changes, and return its path."""
    path = tmp_path / "planted.toml"
    record = {**GOOD, **changes}
    lines = [f"{key} = {json.dumps(value)}" for key, value in record.items() if not isinstance(value, dict)]
    for key, table in record.items():
        if isinstance(table, dict):
            inner = [f"{name} = {inline(value)}" for name, value in table.items()]
            lines += [f"[{key}]", *inner]
    path.write_text("\n".join(lines))
    tomllib.loads(path.read_text())
    return str(path)


def inline(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {inline(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def states(checks) -> dict[str, str]:
    return {check.name: check.state for check in checks}


def only_failure(checks, name: str) -> str:
    """Return the sentence of the one check that failed."""
    failed = {check.name: check.sentence for check in checks if check.state == "fail"}
    assert list(failed) == [name], checks
    return failed[name]


def test_a_good_site_passes_every_line(cluster, tmp_path):
    told = []
    checks = check_site(site(tmp_path), tmp_path, training=False, tell=told.append)
    assert states(checks) == dict.fromkeys(
        [
            "machine", "partition (simulate)", "versions", "processor", "clock", "folder (workdir)",
            "ranks (simulate)", "binding (simulate)",
        ],
        "ok",
    )  # fmt: skip
    said = {check.name: check.sentence for check in checks}
    assert "ran in partition 'debug', on n1, n2" in said["partition (simulate)"]
    assert said["ranks (simulate)"].startswith("4 ranks on 2 node(s) see each other, with MPICH 5.")
    assert len(told) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["planted.toml"]


@pytest.mark.train
@pytest.mark.slow
def test_training_is_tried_over_two_nodes(cluster, tmp_path):
    surrogate = Path(sys.executable).with_name("surrogate")
    command = [str(surrogate), "site", "check", "slurm-local", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=270, check=False)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {check["state"] for check in checks.values()} == {"ok"}, done.stdout
    assert checks["Horovod"]["sentence"].startswith(
        "2 ranks on 2 node(s) met over MPI and added their numbers over MPI"
    )
    assert done.returncode == 0


def test_the_wrong_kind_of_mpi_is_found(cluster, tmp_path):
    wrong = {"dialect": "srun", "options": ["--mpi=none"]}
    sentence = only_failure(check_site(site(tmp_path, launcher=wrong), tmp_path, training=False), "ranks (simulate)")
    assert "they saw worlds of 1: srun was given --mpi=none, which is not what MPICH 5." in sentence
    assert "Set --mpi=pmi2" in sentence


def test_a_kind_of_mpi_that_srun_does_not_know_is_found(cluster, tmp_path):
    wrong = {"dialect": "srun", "options": ["--mpi=pmi7"]}
    sentence = only_failure(check_site(site(tmp_path, launcher=wrong), tmp_path, training=False), "ranks (simulate)")
    assert sentence.startswith("4 ranks were started, and none came up (srun: error: ")
    assert "srun was given --mpi=pmi7" in sentence
    assert "pmi2" in sentence.partition("(srun knows")[2]


def test_two_mpis_that_are_mixed_are_found(cluster, tmp_path):
    other = shutil.which("mpiexec.openmpi")
    if other is None:
        pytest.skip("Debian's Open MPI is not installed; `make ci-deps` brings it.")
    checks = check_site(site(tmp_path, launcher={"mpiexec": other}), tmp_path, training=False)
    sentence = only_failure(checks, "ranks (simulate)")
    assert f"two MPIs are mixed. The launcher {other} is of openmpi, and mpi4py loads MPICH 5." in sentence


def test_an_environment_that_is_not_on_the_node_is_found(cluster, tmp_path):
    checks = check_site(site(tmp_path, environment={"venv": "/opt/not/there"}), tmp_path, training=False)
    sentence = only_failure(checks, "environment")
    assert sentence.startswith("There is no Python at /opt/not/there/bin/python on node n1.")
    assert "'environment.venv'" in sentence
    assert states(checks)["partition (simulate)"] == "ok"


def test_a_scratch_that_cannot_be_written_to_is_found(cluster, tmp_path):
    if os.geteuid() == 0:
        # Permissions do not hold root back; the kernel's own folders do.
        scratch = Path("/sys/surrogate")
    else:
        scratch = tmp_path / "sealed"
        scratch.mkdir(mode=0o555)
    checks = check_site(site(tmp_path, storage={"scratch": str(scratch)}), tmp_path, training=False)
    sentence = only_failure(checks, "folder (scratch)")
    assert sentence.startswith(f"{scratch} cannot be written to on node n1: ")
    assert "Correct 'storage.scratch' in the site." in sentence
    assert not Path("/sys/surrogate").exists()


def test_other_versions_on_the_node_are_found(cluster, tmp_path):
    other = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True)
    packages = other / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "all.pth").write_text(sysconfig.get_paths()["purelib"])
    described = packages / "numpy-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.0\n")
    # The new environment has no MPI of its own.
    library = {"MPI4PY_LIBMPI": str(Path(sys.prefix) / "lib" / "libmpi.so.12")}
    environment = {"venv": str(other), "variables": library}
    checks = check_site(site(tmp_path, environment=environment, launcher=SRUN), tmp_path, training=False)
    sentence = only_failure(checks, "versions")
    assert "numpy 1.0 there and 2." in sentence


def test_gpus_asked_of_a_partition_without_any_are_found(cluster, tmp_path):
    asked = {"debug": {"name": "debug", "gpus": 1}}
    checks = check_site(site(tmp_path, partitions=asked), tmp_path, training=False)
    sentence = only_failure(checks, "partition (simulate)")
    assert sentence.startswith("The site says that nodes of partition 'debug' have 1 GPU, and SLURM refused the job: ")
    assert "name a partition with GPUs" in sentence


def test_a_partition_that_is_not_there_is_told_in_sbatchs_words(cluster, tmp_path):
    checks = check_site(site(tmp_path, partitions={"x": {"name": "nowhere"}}), tmp_path, training=False)
    assert "invalid partition specified: nowhere" in only_failure(checks, "partition (simulate)")


def test_a_job_that_does_not_begin_is_cancelled(cluster, tmp_path):
    cluster.run("scontrol", "update", "PartitionName=urgent", "State=INACTIVE")
    try:
        asked = {"urgent": {"name": "urgent"}}
        checks = check_site(site(tmp_path, partitions=asked), tmp_path, training=False, patience_s=1.0)
    finally:
        cluster.run("scontrol", "update", "PartitionName=urgent", "State=UP")
    assert "urgent" in only_failure(checks, "partition (simulate)")
    assert cluster.jobs_after(seconds=5.0) == []
