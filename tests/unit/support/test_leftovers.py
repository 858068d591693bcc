"""The guard itself: it must see a process, a fork, shared memory and a file, and nothing else."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.support.leftovers import TAG, Snapshot, end, folder_files, leftovers, session_processes, snapshot, unmapped

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def tag(monkeypatch):
    value = uuid.uuid4().hex
    monkeypatch.setenv(TAG, value)
    return value


def test_nothing_is_nothing(tag, tmp_path):
    before = snapshot(tag, [tmp_path])
    assert not leftovers(tag, [tmp_path], before, grace_s=0)


def test_a_child_is_seen_and_ended(tag):
    before = snapshot(tag, [])
    child = subprocess.Popen(SLEEP)
    found = leftovers(tag, [], before, grace_s=0)
    assert child.pid in found.processes
    assert str(child.pid) in found.sentence()
    end(found)
    assert child.wait(timeout=10) != 0


def test_an_orphan_in_its_own_session_is_seen(tag):
    before = snapshot(tag, [])
    script = (
        "import subprocess as s, sys; print(s.Popen(sys.argv[1:], start_new_session=True, stdout=-3, stderr=-3).pid)"
    )
    out = subprocess.run([sys.executable, "-c", script, *SLEEP], capture_output=True, text=True, check=True)
    found = leftovers(tag, [], before, grace_s=0)
    end(found)
    assert int(out.stdout) in found.processes


def test_a_fork_is_seen_although_it_carries_no_tag(tag):
    before = snapshot(tag, [])
    script = "import os, time\nif os.fork() == 0:\n    os.environ.clear()\ntime.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", script], env={k: v for k, v in os.environ.items() if k != TAG})
    deadline = time.monotonic() + 10
    while len(session_processes(tag)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    found = leftovers(tag, [], before, grace_s=0)
    end(found)
    child.wait(timeout=10)
    assert len(found.processes) == 2


def test_what_a_wider_fixture_started_is_its_own_business(tag):
    child = subprocess.Popen(SLEEP)
    try:
        before = snapshot(tag, [])
        assert not leftovers(tag, [], before, grace_s=0)
    finally:
        child.kill()
        child.wait()


def test_what_is_just_ending_gets_its_grace(tag):
    before = snapshot(tag, [])
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"]):
        assert not leftovers(tag, [], before, grace_s=10)


def test_files_are_seen_and_removed(tag, tmp_path):
    (tmp_path / "old").touch()
    before = snapshot(tag, [tmp_path])
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "new").touch()
    (tmp_path / "__autograph_generated_filexyz.py").touch()
    found = leftovers(tag, [tmp_path], before, grace_s=0)
    assert found.files == (tmp_path / "deep", tmp_path / "deep" / "new")
    end(found)
    assert folder_files([tmp_path]) == {tmp_path / "old"}


def test_shared_memory_counts_once_nobody_maps_it(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(bytes(4096))
    assert unmapped([path]) == (path,)
    script = "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); print(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdin=-1, stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()
    assert unmapped([path]) == ()
    child.communicate(b"\n")
    assert unmapped([path]) == (path,)
    assert unmapped([tmp_path / "gone"]) == ()


def test_the_session_has_a_home_of_its_own(watched):
    home, temporary, current = watched
    assert Path.home() == home
    assert Path.cwd() == current
    assert os.environ["TMPDIR"] == str(temporary)
    assert not Snapshot(files=folder_files(watched)).files
