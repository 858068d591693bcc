"""SLURM's answers are told apart: yes, no, not now, and silence. Its commands are small scripts here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from site_configs.scheduler import Job, QueueFullError, SchedulerSilentError, Slurm, SubmissionRefusedError
from surrogate.core.errors import SiteError


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return a function that puts a command in front of PATH; its environment and words are kept beside."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f'#!/bin/bash\nenv > {tmp_path}/{name}.env\necho "$@" >> {tmp_path}/{name}.words\n{body}\n')
        path.chmod(0o755)
        return tmp_path / f"{name}.words"

    return put


def test_a_submission_gives_a_number_and_tells_nothing_of_an_enclosing_job(command, tmp_path, monkeypatch):
    leaks = {
        "SLURM_NTASKS": "64", "SLURM_JOB_ID": "7", "SBATCH_PARTITION": "nowhere", "SALLOC_X": "1", "SRUN_Y": "1",
        "PMI_RANK": "3", "SLURM_MEM_PER_CPU": "1", "SLURMD_NODENAME": "n9", "OMPI_COMM_WORLD_RANK": "0",
    }  # fmt: skip
    for name, value in {**leaks, "SLURM_CONF": "/etc/mine", "OWN": "kept"}.items():
        monkeypatch.setenv(name, value)
    command("sbatch", "echo '12;cluster'")
    assert Slurm().submit(tmp_path / "job.sh", "--dependency=afterany:3") == "12"
    told = dict(line.split("=", 1) for line in (tmp_path / "sbatch.env").read_text().splitlines() if "=" in line)
    assert not set(leaks) & set(told)
    assert (told["SLURM_CONF"], told["OWN"]) == ("/etc/mine", "kept")
    assert (tmp_path / "sbatch.words").read_text() == f"--parsable --dependency=afterany:3 {tmp_path}/job.sh\n"


POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
REFUSED = (
    "Batch job submission failed: Invalid partition name specified",
    "Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
    "Batch job submission failed: Invalid account or account/partition combination specified",
    f"Batch job submission failed: {POLICY}",
)
FULL = (
    f"QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: {POLICY}",
    "AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy",
    "Batch job submission failed: Maximum job count exceeded",
)
SILENT = (
    "Batch job submission failed: Unable to contact slurm controller (connect failure)",
    "Batch job submission failed: Socket timed out on send/recv operation",
    "Slurm temporarily unable to accept job, sleeping and retrying",
    "Batch job submission failed: Slurm backup controller in standby mode",
)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        *((words, SubmissionRefusedError) for words in REFUSED),
        *((words, QueueFullError) for words in FULL),
        *((words, SchedulerSilentError) for words in SILENT),
    ],
)
def test_what_sbatch_says_decides_what_is_done(command, tmp_path, words, kind):
    command("sbatch", f'echo "sbatch: error: {words}" >&2; exit 1')
    with pytest.raises(SiteError) as caught:
        Slurm().submit(tmp_path / "job.sh")
    assert type(caught.value) is kind
    assert "sbatch: error" not in str(caught.value)
    assert words.splitlines()[0] in str(caught.value)


def test_a_command_that_does_not_end_is_silence(command, tmp_path):
    command("sbatch", "exec sleep 30")
    with pytest.raises(SchedulerSilentError, match="did not answer within 0 s"):
        Slurm(timeout_s=0.2).submit(tmp_path / "job.sh")


def test_a_missing_command_is_told_in_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SiteError, match="'squeue' was not found"):
        Slurm().jobs(["1"])


QUEUE = "echo '3|RUNNING|None|sg-a|surrogate:x|y'; echo '4|PENDING|Resources|sg-b|(null)'"


def test_jobs_are_read_from_the_queue_and_forgotten_ones_from_the_accounting(command):
    command("squeue", QUEUE)
    command("sacct", "echo '5|CANCELLED by 1000'; echo '6|TIMEOUT'; echo '7|NODE_FAIL+'")
    found = Slurm().jobs(["3", "4", "5", "6", "7", "8"])
    assert found["3"] == Job("3", "RUNNING", "", "sg-a", "surrogate:x|y")
    assert {number: job.state for number, job in found.items()} == {
        "3": "RUNNING", "4": "PENDING", "5": "CANCELLED", "6": "TIMEOUT", "7": "NODE_FAIL",
    }  # fmt: skip
    assert [job.finished for job in found.values()] == [False, False, True, True, True]


def test_without_accounting_nobody_is_asked_twice(command):
    command("squeue", QUEUE)
    words = command("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    slurm = Slurm()
    for _ in range(3):
        assert set(slurm.jobs(["3", "9"])) == {"3", "4"}
    assert len(words.read_text().splitlines()) == 1


def test_an_unknown_job_is_an_answer_and_an_unreachable_controller_is_none(command):
    command("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    command("sacct", "exit 1")
    assert Slurm().jobs(["9"]) == {}
    command("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(SchedulerSilentError):
        Slurm().jobs(["9"])


def test_only_jobs_with_the_very_comment_are_found(command):
    command("squeue", "for c in surrogate:x surrogate:xy '(null)'; do echo \"1|RUNNING|None|n|$c\"; done")
    assert [job.comment for job in Slurm().tagged("surrogate:x")] == ["surrogate:x"]


def test_cancelling_what_is_over_is_no_error(command):
    command("scancel", "echo 'scancel: error: Kill job error on job id 9: Invalid job id specified' >&2; exit 1")
    Slurm().cancel(["9"])
    command("scancel", "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(SchedulerSilentError):
        Slurm().cancel(["9"])
