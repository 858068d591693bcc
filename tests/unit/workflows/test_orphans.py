"""What a killed driver left is ended in the right order, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from surrogate.core.process import CAMPAIGN_VARIABLE, is_alive
from workflows.adoption import is_worked_on
from workflows.orphans import Settlement, settle
from workflows.session import scratch_prefix

SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
WORKER = """
import fcntl, os, sys, time
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
print("up", flush=True)
while ") Z" not in open(f"/proc/{sys.argv[2]}/stat").read():  # until the interchange has been ended
    time.sleep(0.05)
"""
DRIVER = """
import subprocess, sys, time
command = [sys.executable, "-m", "site_configs.interchange"]
print(subprocess.Popen(command, stdin=int(sys.argv[1])).pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def started():
    """Start processes of a campaign; whatever is left of them ends with the test."""
    processes = []

    def start(campaign: str, code: str, *arguments: str, wait: bool = False):
        environment = {**os.environ, CAMPAIGN_VARIABLE: campaign}
        process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stdout=subprocess.PIPE)
        processes.append(process)
        if wait:
            assert process.stdout.readline() == b"up\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_nothing_left_nothing_done(tmp_path):
    settlement = settle("nobody", tmp_path)
    assert settlement == Settlement(seconds=settlement.seconds)


def test_all_of_the_campaign_and_nothing_else_is_ended(tmp_path, started):
    ours = [started("mine", SLEEP), started("mine", STUBBORN, wait=True)]
    other = started("other", SLEEP)
    settlement = settle("mine", tmp_path)
    assert settlement.found == settlement.killed == 2
    for process in ours:
        process.wait(timeout=5)
    assert is_alive(other.pid)


def test_runs_in_execution_get_time_and_the_interchange_gets_none(tmp_path, started):
    lock = tmp_path / "runs" / "ab" / "abcd.lock"
    lock.parent.mkdir(parents=True)
    interchange = started("mine", SLEEP, "site_configs.interchange")
    worker = started("mine", WORKER, str(lock), str(interchange.pid), wait=True)
    assert is_worked_on(tmp_path, "abcd")
    settlement = settle("mine", tmp_path)
    assert settlement.waited_for == settlement.finished == ("abcd",)
    assert settlement.found == 2
    assert interchange.wait(timeout=5) < 0
    assert worker.wait(timeout=5) == 0


def test_the_time_that_runs_get_has_an_end(tmp_path, started):
    lock = tmp_path / "runs" / "ab" / "abcd.lock"
    lock.parent.mkdir(parents=True)
    worker = started("mine", WORKER, str(lock), str(os.getpid()), wait=True)
    settlement = settle("mine", tmp_path, wait_s=0.3, run_ids=["abcd", "abce"])
    assert settlement.waited_for == ("abcd",)
    assert settlement.finished == ()
    assert worker.wait(timeout=5) < 0


def test_temporary_folders_of_the_campaign_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours, other = (
        Path(tempfile.mkdtemp(prefix=scratch_prefix("mine"))),
        Path(tempfile.mkdtemp(prefix=scratch_prefix("other"))),
    )
    (ours / "left").touch()
    settle("mine", tmp_path)
    assert not ours.exists()
    assert other.exists()


def test_the_interchange_leaves_with_its_driver(tmp_path):
    """The pipe stays open and silent: only the driver's end can end it."""
    keep, give = os.pipe()
    command = [sys.executable, "-c", DRIVER, str(keep)]
    driver = subprocess.Popen(command, pass_fds=[keep], stdout=subprocess.PIPE)
    interchange = int(driver.stdout.readline())
    deadline = time.monotonic() + 30
    while os.getsid(interchange) != interchange:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    driver.stdout.close()
    while is_alive(interchange):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.close(keep)
    os.close(give)
