"""What options name is looked for before anything runs, and made absolute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sim_wrappers.external import linkage
from sim_wrappers.external.locate import located, named_files
from sim_wrappers.external.options import complete, read
from surrogate.core.errors import ConfigError


def place(folder: Path, **options: Any) -> dict[str, Any]:
    outputs = {"T": {"file": "a.txt", "column": 1}}
    return located(read(complete({"outputs": outputs, **options})), lambda name: folder / name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("heat", "case.in", "read.py", "x.txt", "lib.so", "plain"):
        (tmp_path / name).write_text("def read(folder):\n    return 1.0\n")
    (tmp_path / "heat").chmod(0o755)
    (tmp_path / "mesh").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "Makefile").touch()
    return tmp_path


def test_everything_becomes_absolute_and_complete_options_stay_complete(folder: Path) -> None:
    options = place(
        folder,
        command=["./heat", "case"],
        template=[{"source": "case.in", "target": "case"}],
        files=["mesh", {"source": "lib.so", "link": True}],
        version_files=["lib.so"],
        coordinates={"x": {"file": "x.txt"}},
        outputs={"T": {"parser": "read.py:read", "dims": ["x"]}},
    )
    assert options["command"] == [str(folder / "heat"), "case"]
    assert options["template"][0]["source"] == str(folder / "case.in")
    assert [(entry["source"], entry["target"]) for entry in options["files"]] == [
        (str(folder / "mesh"), "mesh"),
        (str(folder / "lib.so"), "lib.so"),
    ]
    assert options["version_files"] == [str(folder / "lib.so")]
    assert options["coordinates"]["x"]["file"] == str(folder / "x.txt")
    assert options["outputs"]["T"]["parser"] == f"{folder / 'read.py'}:read"
    assert complete(options) == options
    kept = named_files(read(complete({**options, "command": ["a"]})))
    assert str(folder / "lib.so") in kept, "it is linked, and part of the version"


def test_the_program_is_beside_the_campaign_or_on_path_or_one_of_the_own_files(folder: Path) -> None:
    assert place(folder, command=["heat"])["command"][0] == str(folder / "heat")
    assert place(folder, command=["sh"])["command"][0].endswith("/sh")
    assert place(folder, command=["python"])["command"][0] == sys.executable
    assert place(folder, command=["./heat"], files=["heat"])["command"][0] == "./heat"
    assert place(folder, command=["heat"], files=["heat"])["command"][0] == "./heat"
    options = place(folder, command=["sh"], version_command=["heat", "--version"])
    assert options["version_command"] == [str(folder / "heat"), "--version"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"command": ["./haet"]}, "'command' names the program .*/haet, which does not exist"),
        ({"command": ["build/heat"]}, "There is a Makefile; build it with: make -C .*/build"),
        ({"command": ["sh"], "version_command": ["no-such-program"]}, "'version_command' names the program"),
        ({"command": ["no-such-program"]}, "neither beside the campaign file .* nor on PATH"),
        ({"command": ["./plain"]}, "may not be executed. Make it a program with: chmod"),
        ({"command": ["./mesh"]}, "does not exist"),
        ({"command": ["x" * 5000]}, "nor on PATH"),
        ({"command": ["sh", "read.py"]}, "'read.py' in 'command' lies beside the campaign file.*Name it in 'files'"),
        ({"command": ["heat"], "files": ["msh"]}, r"'files\[1\]' names .*/msh, which does not exist.*mean 'mesh'"),
        ({"command": ["heat"], "template": [{"source": "mesh", "target": "a"}]}, "which is a folder; a file is needed"),
        ({"command": ["heat"], "outputs": {"T": {"parser": "rad.py:read"}}}, "'outputs.T.parser' names .*'read.py'"),
        ({"command": ["heat"], "outputs": {"T": {"parser": "read.py:raed"}}}, "no function 'raed'.*mean 'read'"),
        ({"command": ["heat"], "version_files": ["x" * 300]}, r"'version_files\[1\]' names"),
    ],
)
def test_what_is_missing_is_a_sentence(folder: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        place(folder, **options)


OPENMPI = "\tlibmpi_mpifh.so.40 => /lib/libmpi_mpifh.so.40 (0x1)\n\tlibmpi.so.40 => /lib/libmpi.so.40 (0x2)\n"
MPICH = "\tlibmpichfort.so.12 => /lib/libmpichfort.so.12 (0x1)\n\tlibmpich.so.12 => /lib/libmpich.so.12 (0x2)\n"


@pytest.mark.parametrize(
    ("libraries", "family"),
    [
        (OPENMPI, "openmpi"),
        (MPICH, "mpich"),
        ("\tlibmpi.so.12 => not found\n", "mpich"),
        ("\tlibmpi_abi.so.1 => /lib/libmpi_abi.so.1\n", None),
        ("\tlibc.so.6 => /lib/libc.so.6\n", None),
        ("", None),
    ],
)
def test_the_library_tells_the_family(libraries: str, family: str | None) -> None:
    found = linkage.family_of(libraries)
    assert (found[0] if found else None) == family


def test_a_launcher_of_another_mpi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkage, "linked_libraries", lambda program: OPENMPI)
    linkage.check_launcher(Path("/x/heat"), "openmpi", "/usr/bin/mpiexec.openmpi")
    linkage.check_launcher(Path("/x/heat"), "srun", "/usr/bin/srun")
    with pytest.raises(ConfigError, match=r"linked with Open MPI \(libmpi_mpifh.so.40\).*each rank would believe"):
        linkage.check_launcher(Path("/x/heat"), "mpich", "/venv/bin/mpiexec")


def test_a_script_has_no_libraries(folder: Path) -> None:
    assert linkage.linked_libraries(folder / "heat") == ""
    assert "libc" in linkage.linked_libraries(Path(sys.executable).resolve())
