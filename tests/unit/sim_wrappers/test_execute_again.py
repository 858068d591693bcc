"""Runs that were executed before, are executed elsewhere, or were left behind by a worker that died."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from sim_wrappers.folders import run_tag
from surrogate.core.outcome import FailureKind, outcome_from_json
from surrogate.core.process import RUN_VARIABLE, find_tagged, is_alive
from tests.support.executions import (
    QUICK,
    SHORT,
    failed,
    folder_of,
    lines,
    run,
    scripted,
    succeeded,
)


def test_a_finished_run_is_adopted_and_not_executed_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    request = scripted({"ledger": str(ledger)})
    first = succeeded(run(tmp_path, request))
    assert run(tmp_path, request) == first
    assert run(tmp_path, replace(request, attempt=3)) == first
    assert len(lines(ledger)) == 2


@pytest.mark.parametrize("damage", ["torn", "changed", "gone", "receipt", "another"])
def test_a_damaged_run_is_not_adopted(tmp_path: Path, damage: str) -> None:
    ledger = tmp_path / "ledger"
    request = scripted({"ledger": str(ledger)})
    path = tmp_path / succeeded(run(tmp_path, request)).path
    receipt = path.parent / "receipt.json"
    content = bytearray(path.read_bytes())
    if damage == "torn":
        path.write_bytes(content[:-1])
    elif damage == "changed":
        content[700] ^= 1
        path.write_bytes(content)
    elif damage == "gone":
        path.unlink()
    elif damage == "receipt":
        receipt.write_text(receipt.read_text()[:-9])
    else:
        receipt.write_text(receipt.read_text().replace(request.run_id, "0" * 32))
    succeeded(run(tmp_path, request))
    assert len(lines(ledger)) == 4


def test_a_copied_run_is_adopted_with_the_time_of_its_receipt(tmp_path: Path) -> None:
    request = scripted()
    outcome = succeeded(run(tmp_path, request))
    os.utime(tmp_path / outcome.path, ns=(1, 1))
    assert run(tmp_path, request) == outcome
    assert (tmp_path / outcome.path).stat().st_mtime_ns == outcome.mtime_ns


@pytest.mark.parametrize(("mode", "executions"), [("fail", 1), ("nan", 1), ("lost", 2)])
def test_a_failure_is_adopted_when_it_is_this_attempts_and_not_the_infrastructures(tmp_path, mode, executions) -> None:
    ledger = tmp_path / "ledger"
    request = scripted({"mode": mode, "ledger": str(ledger)})
    first, second = failed(run(tmp_path, request)), failed(run(tmp_path, request))
    assert first.kind is second.kind
    assert (first == second) is (executions == 1)
    assert sum(word == "start" for _, _, word in lines(ledger)) == executions
    failed(run(tmp_path, replace(request, remedies=("other",))))
    assert sum(word == "start" for _, _, word in lines(ledger)) == executions + 1


WORKER = """
import json, sys
from pathlib import Path
from tests.support.ranks import MPIEXEC
from tests.support.executions import run, scripted
outcome = run(Path(sys.argv[1]), scripted(json.loads(sys.argv[2])))
print(json.dumps(outcome.to_json()))
"""


def wait_until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_orphan_that_is_still_writing_is_waited_for_and_adopted(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    options = {"ledger": str(ledger), "seconds": 1.0}
    root = str(Path(__file__).resolve().parents[3])
    line = [sys.executable, "-c", WORKER, str(tmp_path), json.dumps(options)]
    with subprocess.Popen(line, env={**os.environ, "PYTHONPATH": root}, stdout=subprocess.PIPE) as orphan:
        wait_until(lambda: lines(ledger))
        mine = succeeded(run(tmp_path, scripted(options)))
        assert outcome_from_json(json.loads(orphan.communicate()[0])) == mine
    assert [word for _, _, word in lines(ledger)] == ["start", "end"]


def test_what_a_dead_worker_left_running_is_ended_before_the_run_begins_anew(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    options = {"ledger": str(ledger), "mode": "hang"}
    root = str(Path(__file__).resolve().parents[3])
    line = [sys.executable, "-c", WORKER, str(tmp_path), json.dumps(options)]
    with subprocess.Popen(line, env={**os.environ, "PYTHONPATH": root}, stdout=subprocess.DEVNULL) as worker:
        wait_until(lambda: lines(ledger))
        worker.kill()
    request = scripted({"ledger": str(ledger)})
    (left,) = find_tagged(RUN_VARIABLE, run_tag(folder_of(tmp_path, request)))
    succeeded(run(tmp_path, request))
    assert not is_alive(left)


def test_the_same_run_of_another_working_directory_is_left_alone(tmp_path: Path) -> None:
    options = {"ledger": str(tmp_path / "ledger"), "seconds": 1.0}
    with ThreadPoolExecutor() as pool:
        other = pool.submit(run, tmp_path / "other", scripted(options))
        wait_until(lambda: lines(tmp_path / "ledger"))
        request = scripted(options)
        folder_of(tmp_path / "mine", request).mkdir(parents=True)  # what was there is done away with
        succeeded(run(tmp_path / "mine", request))
        succeeded(other.result())


def test_a_run_that_another_process_holds_for_ever_is_given_up(tmp_path: Path) -> None:
    request = scripted(resources=SHORT)
    lock = folder_of(tmp_path, request).with_name(f"{request.run_id}.lock")
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = failed(run(tmp_path, request, keeping=replace(QUICK, wait_s=-0.8)))
    assert outcome.kind is FailureKind.INTERRUPTED
    assert not folder_of(tmp_path, request).exists()


def test_the_same_run_in_many_threads_is_executed_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    request, outcomes = scripted({"ledger": str(ledger)}), []
    threads = [threading.Thread(target=lambda: outcomes.append(run(tmp_path, request))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8
    assert len(set(outcomes)) == 1
    assert len(lines(ledger)) == 2
    assert not list(tmp_path.glob("runs/??/*.lock"))
