"""Each finding of the doctor, from a healthy and from an ill environment."""

import io
import subprocess
import sys

import pytest
from rich.console import Console

from workflows import doctor
from workflows.doctor import Check


def test_order_and_breakage(monkeypatch, tmp_path):
    def broken():
        raise RuntimeError("boom")

    healthy = Check("x", "ok", "Fine.")
    monkeypatch.setattr(doctor, "check_python", broken)
    monkeypatch.setattr("workflows.doctor_mpi.check_mpi", lambda _: [healthy, healthy])
    monkeypatch.setattr("workflows.doctor_mpi.check_horovod", lambda _: healthy)
    found = doctor.checks(tmp_path)
    assert found[0] == Check("Python", "fail", "The check itself broke: RuntimeError: boom.")
    assert [check.name for check in found].count("x") == 3
    assert [check.state for check in found].count("fail") == 1


@pytest.mark.parametrize(
    ("states", "summary"),
    [
        (["ok", "ok"], "Everything works."),
        (["ok", "warn"], "Everything works; 1 of 2 checks have a remark."),
        (["fail", "warn", "fail"], "2 of 3 checks failed."),
    ],
)
def test_render(states, summary):
    console = Console(record=True, width=100, file=io.StringIO())
    doctor.render([Check("A [name]", state, "A [sentence].") for state in states], console)
    text = console.export_text()
    assert summary in text
    assert text.count("A [name]") == text.count("A [sentence].") == len(states)


def test_python(monkeypatch):
    assert doctor.check_python().state == "ok"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert doctor.check_python().state == "warn"


def test_names():
    assert doctor.check_names({"workflows": ["surrogate-hpc"], "numpy": ["numpy"]}).state == "ok"
    check = doctor.check_names({"workflows": ["surrogate-hpc", "some-workflows"]})
    assert check.state == "fail"
    assert "'workflows' is also installed by some-workflows" in check.sentence


def test_a_stranger_in_front(monkeypatch, tmp_path):
    (tmp_path / "site_configs").mkdir()
    (tmp_path / "site_configs" / "__init__.py").touch()
    code = "from workflows.doctor import check_names; print(check_names({}))"
    out = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "state='fail'" in out.stdout
    assert str(tmp_path) in out.stdout


def test_packages():
    everything = doctor.check_packages(lambda name: "1.0")
    assert [check.state for check in everything] == ["ok", "ok"]
    base = doctor.check_packages(lambda name: "1.0" if name in doctor.BASE else None)
    assert [check.state for check in base] == ["ok", "warn"]
    assert "tensorflow, keras" in base[1].sentence
    assert "surrogate-hpc[train]" in base[1].sentence
    nothing = doctor.check_packages(lambda name: None)
    assert nothing[0].state == "fail"
    assert "h5py" in nothing[0].sentence


def test_locks_work_here(tmp_path):
    assert doctor.check_locks(tmp_path).state == "ok"
    assert not list(tmp_path.iterdir())


def test_locks_without_effect(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "SECOND_WRITER", "pass")
    check = doctor.check_locks(tmp_path)
    assert check.state == "warn"
    assert "no effect" in check.sentence


def test_locks_that_are_refused(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("unable to lock file, errno = 37")

    monkeypatch.setattr("h5py.File", refuse)
    check = doctor.check_locks(tmp_path)
    assert check.state == "fail"
    assert "HDF5_USE_FILE_LOCKING=FALSE" in check.sentence


def test_a_folder_that_is_not_there(tmp_path):
    assert doctor.check_locks(tmp_path / "absent").state == "warn"


def test_machine(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert doctor.check_machine().state == "warn"
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(doctor, "LITTLE_MEMORY", 0)
    assert doctor.check_machine().sentence.startswith("8 cores")
    assert doctor.check_machine().state == "ok"


def test_space(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "LITTLE_DISK", 0)
    monkeypatch.setattr(doctor, "LITTLE_SHARED_MEMORY", 0)
    assert doctor.check_disk(tmp_path).state == doctor.check_shared_memory(tmp_path).state == "ok"
    monkeypatch.setattr(doctor, "LITTLE_DISK", 2**80)
    monkeypatch.setattr(doctor, "LITTLE_SHARED_MEMORY", 2**80)
    assert doctor.check_disk(tmp_path).state == doctor.check_shared_memory(tmp_path).state == "warn"
    assert "missing" in doctor.check_shared_memory(tmp_path / "absent").sentence
