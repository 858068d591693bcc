"""The cache, the source archive and the sentences; the compiler itself is left to the set-up of this environment."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from surrogate.core.errors import IntegrityError, MissingExtraError, SiteError
from workflows import horovod_build, horovod_plan
from workflows.horovod_build import build_horovod, cached_wheel, check_wheel, main, make_plan
from workflows.mpi_library import MpiLibrary

LIBRARY = "horovod/tensorflow/mpi_lib.cpython-311-x86_64-linux-gnu.so"
PLAN = horovod_plan.BuildPlan(
    "cp311", "2.21.0", MpiLibrary("mpich", "5.0.2", Path("/env/bin"), embedded=True), "x86_64"
)


def write_wheel(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "content of some length")
    return path


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Everything that would compile or install is replaced; returns the cache's folder and what was called."""
    calls = []
    monkeypatch.setenv("SURROGATE_CACHE", str(tmp_path))
    monkeypatch.setattr(horovod_build, "make_plan", lambda **_: PLAN)
    monkeypatch.setattr(horovod_build, "require_tools", lambda: calls.append("tools"))
    monkeypatch.setattr(horovod_build, "_install", lambda *_: calls.append("install"))

    def fake_build(plan, folder, offline, report):
        calls.append("build")
        return write_wheel(folder / "horovod-0.28.1-cp311.whl", LIBRARY)

    monkeypatch.setattr(horovod_build, "_build", fake_build)
    return tmp_path / "surrogate/horovod" / PLAN.key, calls


def test_it_is_built_once(planned, monkeypatch):
    folder, calls = planned
    monkeypatch.setattr(horovod_build, "installed_version", lambda _: None)
    lines = []
    wheel = build_horovod(report=lines.append)
    assert wheel.parent == folder
    assert calls == ["tools", "build", "install"]
    assert build_horovod(report=lines.append) == wheel
    assert calls == ["tools", "build", "install", "install"]


def test_what_fits_is_left_alone(planned, monkeypatch):
    folder, calls = planned
    monkeypatch.setattr(horovod_build, "installed_version", lambda _: PLAN.version)
    write_wheel(folder / "horovod-0.28.1-cp311.whl", LIBRARY)
    build_horovod(report=lambda _: None)
    assert calls == []


def test_a_damaged_wheel_is_built_again(planned, monkeypatch):
    folder, calls = planned
    monkeypatch.setattr(horovod_build, "installed_version", lambda _: None)
    whole = write_wheel(folder / "horovod-0.28.1-cp311.whl", LIBRARY).read_bytes()
    (folder / "horovod-0.28.1-cp311.whl").write_bytes(whole[:40])
    build_horovod(report=lambda _: None)
    assert calls == ["tools", "build", "install"]


def test_check_wheel(tmp_path):
    check_wheel(write_wheel(tmp_path / "good.whl", LIBRARY))
    with pytest.raises(IntegrityError, match="lacks Horovod's library"):
        check_wheel(write_wheel(tmp_path / "empty.whl", "horovod/__init__.py"))
    flipped = write_wheel(tmp_path / "flipped.whl", LIBRARY)
    content = bytearray(flipped.read_bytes())
    content[content.index(b"content of")] ^= 1
    flipped.write_bytes(bytes(content))
    with pytest.raises(IntegrityError, match="damaged at"):
        check_wheel(flipped)
    with pytest.raises(IntegrityError, match="damaged"):
        check_wheel(tmp_path / "absent.whl")


def test_cached_wheel_ignores_what_is_half_written(tmp_path):
    (tmp_path / ".horovod-0.28.1-x.part.whl").write_bytes(b"half")
    assert cached_wheel(tmp_path) is None


def test_a_second_builder_waits(tmp_path):
    """The lock is held by another process; it says that it waits and goes on when that one ends."""
    lock = tmp_path / "lock"
    holder = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", holder, str(lock)], stdin=-1, stdout=-1)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    lines = []

    def report(line):
        lines.append(line)
        child.stdin.write(b"\n")
        child.stdin.flush()

    with horovod_build._only_one(lock, report):
        assert child.wait(timeout=30) == 0
    child.communicate()
    assert len(lines) == 1
    assert "waiting" in lines[0]


def test_an_offline_folder_without_the_archive(tmp_path):
    with pytest.raises(SiteError, match=r"does not hold horovod-0\.28\.1\.tar\.gz.*pip download"):
        horovod_build._source([], tmp_path, tmp_path, {}, tmp_path / "log")


def test_another_archive_is_refused(tmp_path):
    (tmp_path / horovod_plan.SDIST).write_bytes(b"something else")
    with pytest.raises(IntegrityError, match="not the one that was locked"):
        horovod_build._source([], tmp_path, tmp_path, {}, tmp_path / "log")


def test_an_archive_that_cannot_be_fetched_is_a_sentence(tmp_path):
    pip = [sys.executable, "-c", "import sys; sys.exit('no route to host')"]
    with pytest.raises(SiteError, match="--offline FOLDER") as caught:
        horovod_build._source(pip, tmp_path, None, {}, tmp_path / "log")
    assert "no route to host" in caught.value.log.read_text()


@pytest.mark.train
def test_the_plan_of_this_environment():
    plan = make_plan()
    assert plan.python == f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert plan.mpi.program("mpiexec").exists()
    assert plan.nccl is None


def test_without_tensorflow_there_is_nothing_to_build(monkeypatch):
    monkeypatch.setattr(horovod_build, "installed_version", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"surrogate-hpc\[train\]"):
        make_plan()


@pytest.mark.train
@pytest.mark.parametrize(
    ("installed", "sentence"),
    [
        ({"tensorflow-cpu": "2.21.0", "nvidia-nccl-cu13": "2.32.3"}, "tensorflow==2.21.0 in its place"),
        ({"tensorflow": "2.21.0"}, "pip install nvidia-nccl-cu13 or nvidia-nccl-cu12"),
    ],
)
def test_nccl_needs_gpus_on_both_sides(monkeypatch, installed, sentence):
    monkeypatch.setattr(horovod_build, "installed_version", installed.get)
    with pytest.raises(SiteError, match=sentence):
        make_plan(nccl=True)


@pytest.mark.train
def test_a_plan_with_nccl(monkeypatch):
    installed = {"tensorflow": "2.21.0", "nvidia-nccl-cu13": "2.32.3"}
    monkeypatch.setattr(horovod_build, "installed_version", installed.get)
    monkeypatch.setattr(horovod_build, "find_mpi", lambda: PLAN.mpi)
    assert make_plan(nccl=True).version.endswith(".tf2.21.0.mpich5.0.2.nccl2.32.3.cu13")


def test_main_ends_in_a_sentence(monkeypatch, capsys):
    def refuse(*_):
        raise SiteError("There is no compiler.")

    monkeypatch.setattr(horovod_build, "build_horovod", refuse)
    assert main([]) == 1
    assert capsys.readouterr().err == "There is no compiler.\n"


def test_main_can_be_interrupted(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(horovod_build, "build_horovod", interrupt)
    assert main(["--nccl"]) == 130
    assert "Interrupted" in capsys.readouterr().err
