"""Known failures are told by their text, the others by their exit status."""

from __future__ import annotations

import errno
import os

import pytest

from sim_wrappers.diagnose import GENERAL, diagnose, storage_trouble
from sim_wrappers.protocol import KnownError
from surrogate.core.outcome import Budget, FailureKind

# What launchers, schedulers and programs were seen to write.
TEXTS = [
    (1, "slurmstepd: error: *** STEP 7.0 ON n2 CANCELLED AT 2024-01-01T00:00:00 DUE TO NODE FAILURE ***", "node_lost"),
    (1, "[proxy:0:0@n1] HYD_pmcd_pmip_control_cmd_cb: assert (!closed) failed", "node_lost"),
    (1, "ORTE has lost communication with a remote daemon.", "node_lost"),
    (143, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***", "walltime"),
    (143, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO PREEMPTION ***", "preempted"),
    (143, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-01-01T00:00:00 ***", "interrupted"),
    (1, "OSError: [Errno 28] No space left on device: 'out.h5'", "disk_full"),
    (1, "write error: Disk quota exceeded", "disk_full"),
    (1, "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.", "out_of_memory"),
    (1, "Traceback (most recent call last):\nMemoryError", "out_of_memory"),
    (134, "terminate called after throwing an instance of 'std::bad_alloc'", "out_of_memory"),
    (1, "surrogate.core.errors.SiteError: WORLD SIZE: 2 ranks were launched, and …", "launcher"),
    (1, "There are not enough slots available in the system to satisfy the 8", "launcher"),
    (255, "[proxy:0:0@vm] HYDU_create_process: execvp error on file ./solver (No such file)", "launcher"),
    (127, "./solver: error while loading shared libraries: libmpi.so.12: cannot open shared object file", "launcher"),
    (1, "srun: error: Unable to create step for job 7: Requested nodes are busy", "launcher"),
    (1, "ModuleNotFoundError: No module named 'mpi4py'", "exit_status"),
    (127, "sh: 1: nwchem: not found", "launcher"),
    (126, "sh: 1: ./solver: Permission denied", "launcher"),
    (-9, "", "out_of_memory"),
    (137, "Killed", "out_of_memory"),
    (9, "=   EXIT CODE: 9\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", "out_of_memory"),
    (139, "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)", "exit_status"),
    (-15, "", "interrupted"),
    (-11, "", "exit_status"),
    (3, "something else", "exit_status"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text", "kind"), TEXTS)
def test_texts_that_were_seen(status: int, text: str, kind: str) -> None:
    found = diagnose(status, False, text)
    assert found.kind.value == kind
    assert found.message.endswith(".")
    assert found.remedy is None
    assert found.retryable or found.remedy_text, "who must not try again is told what to do"


def test_what_the_program_said_last_is_in_the_sentence() -> None:
    text = "Traceback (most recent call last):\n  …\nValueError: first\n\n…\n\nmy.code.BadError: the mesh folds\n"
    assert "my.code.BadError: the mesh folds" in diagnose(1, False, text).message
    assert "exit status 5" in diagnose(5, False, "").message


def test_a_missing_library_and_module_are_named() -> None:
    assert "libmpi.so.12" in diagnose(127, False, TEXTS[14][1]).message
    assert "'mpi4py'" in diagnose(1, False, TEXTS[16][1]).message


def test_a_busy_machine_is_tried_again_and_a_small_one_is_not() -> None:
    assert diagnose(1, False, "srun: error: Unable to create step for job 7: Requested nodes are busy").retryable
    small = "srun: error: Unable to allocate resources: Requested node configuration is not available"
    assert not diagnose(1, False, small).retryable


def test_a_segmentation_fault_is_named_by_its_signal() -> None:
    for status in (-11, 139):
        assert "SIGSEGV" in diagnose(status, False, "").message


KNOWN = (
    KnownError(
        r"step (?P<count>\d+) diverged", FailureKind.UNCONVERGED, "Step {count} diverged.", "damp", "Damp.", True
    ),
    KnownError(r"diverged", FailureKind.EXIT_STATUS, "Braces {like this} stay.", retryable=False),
)


def test_the_adapters_errors_come_first_the_most_specific_before_the_others() -> None:
    found = diagnose(1, False, "No space left on device\nstep 7 diverged", KNOWN)
    assert found == (FailureKind.UNCONVERGED, "Step 7 diverged.", "damp", "Damp.", True)
    assert diagnose(1, False, "it diverged", KNOWN).message == "Braces {like this} stay."


def test_a_timeout_is_a_timeout_whatever_the_text_says() -> None:
    plain = diagnose(-15, True, "No space left on device")
    assert (plain.kind, plain.retryable, plain.remedy) == (FailureKind.TIMEOUT, True, None)
    known = diagnose(-15, True, "step 7 diverged", KNOWN)
    assert (known.kind, known.remedy) == (FailureKind.TIMEOUT, "damp")
    assert known.message.endswith("Step 7 diverged.")


@pytest.mark.parametrize(
    ("number", "kind", "retryable"),
    [
        (errno.ENOSPC, FailureKind.DISK_FULL, True),
        (errno.EDQUOT, FailureKind.DISK_FULL, True),
        (errno.EIO, FailureKind.NODE_LOST, True),
        (errno.ESTALE, FailureKind.NODE_LOST, True),
        (errno.EACCES, FailureKind.NODE_LOST, False),
    ],
)
def test_what_the_disk_refused(number: int, kind: FailureKind, retryable: bool) -> None:
    found = storage_trouble(OSError(number, os.strerror(number), "run.h5"))
    assert (found.kind, found.retryable) == (kind, retryable)
    assert os.strerror(number) in found.message


def test_no_general_error_is_a_remedy_of_an_adapter_or_bad_physics() -> None:
    for known in GENERAL:
        assert known.remedy is None
        assert known.kind.budget is not Budget.PHYSICS
        assert known.message.endswith(".")
