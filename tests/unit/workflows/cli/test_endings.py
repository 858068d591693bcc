"""Whatever the system refuses ends in a sentence."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workflows.cli import console, main
from workflows.cli.endings import BAD_INPUT, FAILED, ending

FULL = Path("/dev/full")


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("number", sorted(set(errno.errorcode) - {errno.EPIPE, errno.ESHUTDOWN}))
def test_no_errno_is_unforeseen(number, capsys):
    error = OSError(number, os.strerror(number), "/somewhere/x.csv")
    code = ending(error, debug=False, as_json=False)
    told = capsys.readouterr().err
    assert code in (FAILED, BAD_INPUT)
    assert told.startswith(f"surrogate: /somewhere/x.csv could not be used: the system says '{os.strerror(number)}'.")
    assert "did not foresee" not in told


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["schema"], ["--version"], ["site", "list", "--json"]])
def test_a_full_disk_behind_stdout(words):
    with FULL.open("w") as full:
        argv = [sys.executable, "-m", "workflows.cli", *words]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == FAILED
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "did not foresee" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_name_that_is_too_long(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in (["new", "a" * 300], ["status", "a" * 300], ["run", "a" * 300], ["resume", "a" * 300]):
        assert main(words) == BAD_INPUT, words
        told = capsys.readouterr().err
        assert len(told.splitlines()) == 1
        assert "did not foresee" not in told


def test_what_is_not_finite_is_null_in_json(capsys):
    console.put_json({"a": [1.0, float("nan"), {"b": (float("inf"), "x")}], "c": float("-inf")})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None, {"b": [None, "x"]}], "c": None}


def test_a_traceback_that_cannot_be_kept_hides_no_sentence(monkeypatch, capsys):
    def full(*_: object, **__: object):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("workflows.cli.endings.tempfile.mkstemp", full)
    assert ending(ValueError("x"), debug=False, as_json=False) == FAILED
    assert "did not foresee: ValueError: x. The traceback is in nowhere" in capsys.readouterr().err
