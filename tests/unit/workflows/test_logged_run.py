"""A long command: its log, its progress, its end."""

import os
import signal
import sys
import threading

import pytest

from workflows import logged_run
from workflows.logged_run import first_error, run_logged


def run(code, tmp_path, report=lambda _: None):
    with (tmp_path / "log").open("w") as output:
        return run_logged([sys.executable, "-c", code], os.environ, output.fileno(), report)


def test_output_and_code(tmp_path):
    code = run("import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(7)", tmp_path)
    assert code == 7
    assert (tmp_path / "log").read_text().splitlines() == ["out", "err"]


def test_it_says_that_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(logged_run, "REPORT_EVERY_S", 0.05)
    lines = []
    assert run("import time; time.sleep(0.4)", tmp_path, lines.append) == 0
    assert lines
    assert all("still building" in line for line in lines)


def test_an_interrupt_kills_the_whole_group(tmp_path, monkeypatch):
    """The child starts a grandchild; both are gone when the interrupt surfaces (the guard of every test looks)."""
    monkeypatch.setattr(logged_run, "REPORT_EVERY_S", 0.05)
    code = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(code, tmp_path)
    timer.join()


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            "a\nfoo.cc:3: fatal error: x.h: No such file\nerror: command 'c++' failed",
            "foo.cc:3: fatal error: x.h: No such file",
        ),
        ("a\nCMake Error at CMakeLists.txt:1", "CMake Error at CMakeLists.txt:1"),
        ("ERROR: No matching distribution\nbye", "ERROR: No matching distribution"),
        ("only this", "only this"),
        ("", "it wrote nothing."),
    ],
)
def test_first_error(log, expected):
    assert first_error(log) == expected
