"""Blocks as jobs of a scheduler that says what a test tells it to say. No SLURM is needed."""

from __future__ import annotations

import pytest
from parsl.jobs.states import JobState

from site_configs.scheduler import Job, SchedulerSilentError
from site_configs.slurm_blocks import FORGOTTEN_AFTER, SlurmBlocks

pytestmark = pytest.mark.parsl


class FakeSlurm:
    """Answers what it was told to answer."""

    def __init__(self) -> None:
        self.known: dict[str, Job] = {}
        self.silent = False
        self.named_jobs: dict[str, str] = {}
        self.cancelled: list[str] = []
        self.submitted: list[str] = []
        self.heard_all_the_same = False

    def submit(self, path, *options):
        self.submitted.append(path.stem)
        number = str(len(self.submitted))
        if self.silent:
            if self.heard_all_the_same:
                self.named_jobs[path.stem] = number
            raise SchedulerSilentError("Socket timed out")
        self.known[number] = Job(number, "PENDING")
        return number

    def named(self, name):
        return self.named_jobs.get(name)

    def jobs(self, ids):
        if self.silent:
            raise SchedulerSilentError("Unable to contact slurm controller")
        return {one: self.known[one] for one in ids if one in self.known}

    def cancel(self, ids):
        if self.silent:
            raise SchedulerSilentError("Unable to contact slurm controller")
        self.cancelled += ids


@pytest.fixture
def slurm():
    return FakeSlurm()


@pytest.fixture
def provider(slurm, tmp_path):
    found = SlurmBlocks(
        lambda name, command, output: f"{name} {' '.join(command)} {output}\n",
        prefix="sg-1", nodes=1, blocks=2, poll_s=1.0, slurm=slurm,
    )  # fmt: skip
    found.script_dir = str(tmp_path)
    return found


def state(provider, job):
    return provider.status([job])[0].state


def test_a_block_is_one_script_that_stays_beside_the_logs(provider, tmp_path):
    job = provider.submit("python -m 'a b'", 1, "parsl.simulate.block-7")
    assert job == "1"
    assert (tmp_path / "sg-1-7.sh").read_text() == f"sg-1-7 python -m a b {tmp_path}/sg-1-7.out\n"
    assert state(provider, job) == JobState.PENDING


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("RUNNING", JobState.RUNNING), ("COMPLETING", JobState.RUNNING), ("CONFIGURING", JobState.PENDING),
        ("COMPLETED", JobState.COMPLETED), ("CANCELLED", JobState.CANCELLED), ("TIMEOUT", JobState.TIMEOUT),
        ("PREEMPTED", JobState.TIMEOUT), ("NODE_FAIL", JobState.FAILED), ("OUT_OF_MEMORY", JobState.FAILED),
        ("A_WORD_OF_THE_FUTURE", JobState.RUNNING),
    ],
)  # fmt: skip
def test_states(provider, slurm, word, expected):
    job = provider.submit("x", 1, "b-0")
    slurm.known[job] = Job(job, word)
    assert state(provider, job) == expected


def test_silence_changes_nothing_and_is_remembered(provider, slurm):
    job = provider.submit("x", 1, "b-0")
    slurm.known[job] = Job(job, "RUNNING")
    assert state(provider, job) == JobState.RUNNING
    slurm.silent = True
    assert state(provider, job) == JobState.RUNNING
    assert provider.silent_since is not None
    assert provider.cancel([job]) == [False]
    slurm.silent = False
    assert state(provider, job) == JobState.RUNNING
    assert provider.silent_since is None


def test_a_forgotten_job_is_not_gone_at_the_first_look(provider, slurm):
    job = provider.submit("x", 1, "b-0")
    slurm.known[job] = Job(job, "RUNNING")
    state(provider, job)
    del slurm.known[job]
    for _ in range(FORGOTTEN_AFTER - 1):
        assert state(provider, job) == JobState.RUNNING
    assert state(provider, job) == JobState.CANCELLED
    assert "does not know" in provider.status([job])[0].message


@pytest.mark.parametrize(("word", "what"), [("PENDING", "put back"), ("SUSPENDED", "suspended")])
def test_a_job_whose_managers_are_lost_is_cancelled_and_replaced(provider, slurm, word, what):
    job = provider.submit("x", 1, "b-0")
    slurm.known[job] = Job(job, "RUNNING")
    state(provider, job)
    slurm.known[job] = Job(job, word)
    assert state(provider, job) == JobState.TIMEOUT
    assert what in provider.status([job])[0].message
    assert slurm.cancelled == [job]


def test_a_submission_that_went_unanswered_and_got_through_is_not_repeated(provider, slurm):
    slurm.silent = slurm.heard_all_the_same = True
    with pytest.raises(SchedulerSilentError):
        provider.submit("x", 1, "b-0")
    slurm.silent = False
    assert provider.submit("x", 1, "b-0") == "1"
    assert slurm.submitted == ["sg-1-0"]


def test_a_submission_that_got_lost_is_repeated(provider, slurm):
    slurm.silent = True
    with pytest.raises(SchedulerSilentError):
        provider.submit("x", 1, "b-0")
    slurm.silent = False
    assert provider.submit("x", 1, "b-0") == "2"
    assert slurm.submitted == ["sg-1-0", "sg-1-0"]
