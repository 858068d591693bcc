"""What the folders of runs tell."""

from __future__ import annotations

import fcntl
import os
import threading
import time

import pytest

from surrogate.core.outcome import FailureKind
from surrogate.data.writer import DatasetWriter
from tests.support.books import SCHEMA, leave_failure, leave_success, request
from workflows.adoption import (
    is_worked_on,
    packed_where,
    prune,
    read_receipt,
    remove_run,
    run_folder,
    run_lock,
    wait_for_workers,
    worked_on,
)

ONE, TWO = request(1), request(2)


def hold(workdir, run_id):
    path = run_lock(workdir, run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def test_who_holds_the_lock_works_on_the_run(tmp_path):
    assert not is_worked_on(tmp_path, ONE.run_id)
    handle = hold(tmp_path, ONE.run_id)
    assert is_worked_on(tmp_path, ONE.run_id)
    assert list(worked_on(tmp_path)) == [ONE.run_id]
    assert list(worked_on(tmp_path, [TWO.run_id])) == []
    os.close(handle)
    assert not is_worked_on(tmp_path, ONE.run_id)


def test_workers_are_waited_for(tmp_path):
    handles = [hold(tmp_path, one.run_id) for one in (ONE, TWO)]
    threading.Timer(0.2, os.close, [handles[0]]).start()
    begin = time.monotonic()
    first, last = wait_for_workers(tmp_path, None, 0.6)
    assert first == {ONE.run_id, TWO.run_id}
    assert last == {TWO.run_id}
    assert time.monotonic() - begin >= 0.6
    os.close(handles[1])
    assert wait_for_workers(tmp_path, None, 10.0) == (set(), set())


def test_receipts_of_both_kinds_are_read(tmp_path):
    assert read_receipt(tmp_path, ONE.run_id) is None
    success = leave_success(tmp_path, ONE)
    assert read_receipt(tmp_path, ONE.run_id) == success
    failure = leave_failure(tmp_path, TWO, FailureKind.TIMEOUT)
    assert read_receipt(tmp_path, TWO.run_id) == failure


@pytest.mark.parametrize("damage", ["torn", "empty", "no json", "other run", "no file", "touched", "longer"])
def test_a_receipt_that_cannot_be_relied_on_is_none(tmp_path, damage):
    success = leave_success(tmp_path, ONE)
    receipt, file = run_folder(tmp_path, ONE.run_id) / "receipt.json", tmp_path / success.path
    text = receipt.read_text()
    match damage:
        case "torn":
            receipt.write_text(text[: len(text) // 2])
        case "empty":
            receipt.write_text("{}")
        case "no json":
            receipt.write_bytes(b"\xff")
        case "other run":
            receipt.write_text(text.replace(ONE.run_id, TWO.run_id))
        case "no file":
            file.unlink()
        case "touched":
            os.utime(file, ns=(0, 0))
        case "longer":
            with file.open("ab") as stream:
                stream.write(b"x")
            os.utime(file, ns=(success.mtime_ns, success.mtime_ns))
    assert read_receipt(tmp_path, ONE.run_id) is None


def test_nothing_is_left_of_a_removed_run(tmp_path):
    leave_success(tmp_path, ONE)
    run_lock(tmp_path, ONE.run_id).touch()
    remove_run(tmp_path, ONE.run_id)
    remove_run(tmp_path, TWO.run_id)
    prune(tmp_path)
    assert list((tmp_path / "runs").iterdir()) == []


def test_pruning_keeps_folders_of_failed_runs(tmp_path):
    leave_failure(tmp_path, ONE, FailureKind.TIMEOUT)
    run_lock(tmp_path, ONE.run_id).touch()
    run_lock(tmp_path, TWO.run_id).parent.mkdir(parents=True, exist_ok=True)
    run_lock(tmp_path, TWO.run_id).touch()
    prune(tmp_path)
    prune(tmp_path / "nowhere")
    assert run_folder(tmp_path, ONE.run_id).is_dir()
    assert not run_lock(tmp_path, TWO.run_id).exists()


def test_shards_are_found_by_their_runs(tmp_path):
    writer = DatasetWriter(tmp_path / "dataset", SCHEMA, samples_per_shard=2)
    runs = [request(number) for number in range(5)]
    for one in runs:
        success = leave_success(tmp_path, one)
        writer.add_run(one.run_id, tmp_path / success.path)
    packed = writer.flush()
    assert len(packed) == 3
    assert list(packed_where(tmp_path / "dataset", {runs[3].run_id})) == [packed[1]]
    assert list(packed_where(tmp_path / "dataset", {"none"})) == []
