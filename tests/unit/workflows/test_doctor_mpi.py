"""The doctor's own ranks: real ones here, and judged ones that went wrong."""

from pathlib import Path

import pytest

from surrogate.core.errors import SiteError
from workflows import doctor_mpi
from workflows.doctor_check import Check
from workflows.doctor_mpi import check_horovod, check_mpi, judge_library
from workflows.mpi_library import MpiLibrary

MPICH = MpiLibrary("mpich", "5.0.2", Path("/env/bin"), embedded=True)


@pytest.mark.mpi
def test_this_environment_is_well(tmp_path):
    found = check_mpi(tmp_path)
    assert [check.state for check in found] == ["ok", "ok"], found
    assert "world of 2" in found[-1].sentence
    assert not list(tmp_path.iterdir())


@pytest.mark.mpi
def test_ranks_that_are_alone_are_found_out(tmp_path, monkeypatch):
    """A launcher that starts two programs without telling them of each other."""
    launcher = tmp_path / "bin" / "mpiexec"
    launcher.parent.mkdir()
    launcher.write_text(
        "#!/usr/bin/env python3\n"
        "import subprocess, sys\n"
        "program = sys.argv[next(i for i, a in enumerate(sys.argv) if i and 'python' in a):]\n"
        "sys.exit(any([subprocess.call(program) for _ in range(2)]))\n"
    )
    launcher.chmod(0o755)
    alone = MpiLibrary("mpich", "5.0.2", launcher.parent, embedded=True)
    monkeypatch.setattr(doctor_mpi, "find_mpi", lambda: alone)
    found = check_mpi(tmp_path)
    assert [check.state for check in found] == ["ok", "warn", "fail"]
    assert "worlds of size [1]" in found[-1].sentence


def test_no_mpi(tmp_path, monkeypatch):
    def none():
        raise SiteError("No MPI was found.")

    monkeypatch.setattr(doctor_mpi, "find_mpi", none)
    assert check_mpi(tmp_path) == [Check("MPI", "fail", "No MPI was found.")]


def launcher(folder: Path, text: str) -> MpiLibrary:
    path = folder / "bin" / "mpiexec"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return MpiLibrary("mpich", "5.0.2", path.parent, embedded=True)


def test_ranks_that_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_mpi, "find_mpi", lambda: launcher(tmp_path, "echo no network >&2; exit 4"))
    assert "exit code 4: no network" in check_mpi(tmp_path)[-1].sentence


def test_ranks_that_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_mpi, "HELLO_TIMEOUT_S", 0.5)
    monkeypatch.setattr(doctor_mpi, "find_mpi", lambda: launcher(tmp_path, "sleep 60 & wait"))
    assert "did not answer" in check_mpi(tmp_path)[-1].sentence


def test_a_launcher_that_is_not_there(tmp_path, monkeypatch):
    absent = MpiLibrary("mpich", "5.0.2", tmp_path / "absent", embedded=True)
    monkeypatch.setattr(doctor_mpi, "find_mpi", lambda: absent)
    assert "could not be started" in check_mpi(tmp_path)[-1].sentence


@pytest.mark.parametrize(
    ("library", "loaded", "state"),
    [
        ("MPICH Version: 5.0.2\0", ["/env/lib/libmpi.so.12"], "ok"),
        ("MPICH Version: 5.0.2", [], "ok"),
        ("Open MPI v4.1.4, package: Debian", ["/usr/lib/libmpi.so.40"], "fail"),
        ("MPICH Version: 4.0.2", ["/usr/lib/libmpich.so.12"], "fail"),
    ],
)
def test_judge_library(library, loaded, state):
    assert judge_library(MPICH, library, loaded).state == state


def test_a_vendor_that_is_unknown_is_taken_at_its_word():
    strange = MpiLibrary("mpi", "unknown", Path("/opt/bin"), embedded=False)
    assert judge_library(strange, "Something 1.0", ["/opt/lib/libmpi.so"]).state == "ok"


def test_horovod_is_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_mpi, "installed_version", lambda _: None)
    assert check_horovod(tmp_path).state == "warn"


@pytest.mark.train
def test_horovod_for_another_tensorflow(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_mpi, "installed_version", lambda _: "0.28.1+cp311.tf2.15.1.mpich5.0.2")
    check = check_horovod(tmp_path)
    assert check.state == "fail"
    assert "surrogate build-horovod" in check.sentence


@pytest.mark.mpi
@pytest.mark.train
def test_horovod_reduces(tmp_path):
    check = check_horovod(tmp_path)
    assert check.state == "ok", check


@pytest.mark.train
def test_horovod_that_reduces_wrongly(tmp_path, monkeypatch):
    answer = {"rank": 0, "size": 1, "sum": 1.0, "mpi": True}
    monkeypatch.setattr(doctor_mpi, "_run_ranks", lambda *_: ([answer, answer], ""))
    check = check_horovod(tmp_path)
    assert check.state == "fail"
    assert "were to add their numbers" in check.sentence
