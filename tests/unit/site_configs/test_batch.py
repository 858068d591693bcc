"""Batch scripts are whole lines, integers, and nothing of an enclosing job."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_configs.batch import BatchJob, clock, job_script
from surrogate.core.errors import ConfigError

JOB = BatchJob("sg-1", "surrogate:ab", "/w/out.txt", 600, ("python", "-c", "print('a b')"))


def test_a_script_says_what_the_job_asks_for():
    job = BatchJob(
        "sg-1", "surrogate:ab", "/a folder/out.txt", 5400, ("python", "x"), nodes=3, cores=4, memory_mib=1000, gpus=2,
        partition="gpu", account="m1", qos="debug", constraint="a100&nvlink", signal="B:USR1@60",
        dependency="afterany:12", directives=("--licenses=scratch",), setup=("module load gcc",),
        variables=(("A", "it's"),),
    )  # fmt: skip
    assert job_script(job).splitlines() == [
        "#!/bin/bash",
        "#SBATCH --job-name=sg-1",
        "#SBATCH --comment=surrogate:ab",
        '#SBATCH --output="/a folder/out.txt"',
        "#SBATCH --open-mode=append",
        "#SBATCH --nodes=3",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --time=01:30:00",
        "#SBATCH --no-requeue",
        "#SBATCH --partition=gpu",
        "#SBATCH --account=m1",
        "#SBATCH --qos=debug",
        "#SBATCH --constraint=a100&nvlink",
        "#SBATCH --exclusive",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --mem=1000M",
        "#SBATCH --gpus-per-node=2",
        "#SBATCH --signal=B:USR1@60",
        "#SBATCH --dependency=afterany:12",
        "#SBATCH --licenses=scratch",
        "",
        "module load gcc",
        "export A='it'\"'\"'s'",
        "exec python x",
    ]


def test_the_command_takes_the_place_of_the_shell_and_keeps_its_words():
    script = job_script(JOB).replace("exec python", "exec python3")
    done = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    assert done.stdout == "a b\n"


@pytest.mark.parametrize("name", ["two\nlines", 'a "quotation"'])
def test_options_that_would_break_the_script_are_refused(name):
    with pytest.raises(ConfigError, match="neither a line's end nor a quotation mark"):
        job_script(BatchJob(name, "c", "o", 60, ("true",)))


@given(st.integers(min_value=1, max_value=10**7))
def test_clocks_are_read_back(seconds):
    days, _, time = clock(seconds).rpartition("-")
    hours, minutes, rest = map(int, time.split(":"))
    assert minutes < 60
    assert rest < 60
    assert ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest == seconds
