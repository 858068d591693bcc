"""The driver as a job: over several walltimes to the verdict without a hand; cancelled, all ends and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from surrogate.core.files import read_json
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged
from tests.support.campaigns import executions, json_of, one_sentence, surrogate, write_campaign
from tests.support.slurm_sites import site_file, wait_until
from workflows.journal import read_state

pytestmark = [
    pytest.mark.slurm, pytest.mark.train, pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900),
]  # fmt: skip
# A minute is the shortest walltime that SLURM knows.
MINUTE = '[partitions.drive]\nname = "debug"\nwalltime_s = 60\nexclusive = false'
RUNS = 120


def submit(folder: Path, site: Path, **values: object) -> tuple[str, Path]:
    """Submit a small campaign and return the driver's job and the working directory."""
    campaign = write_campaign(folder, **values)
    told = json_of(surrogate("submit", campaign, "--site", site, "--workdir", folder / "w", "--json"))
    return told["job"], folder / "w"


def test_a_campaign_longer_than_its_drivers_walltime_is_finished_without_a_hand(cluster, tmp_path):
    site = site_file(tmp_path, nodes=2, more=MINUTE)
    _, workdir = submit(tmp_path, site, seconds=3.0, runs=RUNS, epochs=20)
    wait_until(lambda: (workdir / "verdict.json").is_file() and cluster.jobs() == [], seconds=850.0)
    drivers = list((workdir / "logs").glob("driver-*.out"))
    assert len(drivers) >= 3
    assert read_json(workdir / "verdict.json")["passed"]
    loaded = read_state(workdir / "journal")
    assert loaded is not None
    assert loaded.state.failures == {}
    # No run was begun that could not end: each was executed once, from its start to its end.
    assert Counter(map(tuple, executions(tmp_path).values())) == {("start", "end"): RUNS}
    assert not find_tagged(CAMPAIGN_VARIABLE, loaded.uid)


def test_cancelling_ends_all_of_a_campaign_and_nothing_else(cluster, tmp_path):
    other = cluster.run(
        "sbatch", "--parsable", "--comment=surrogate:other", "--output=/dev/null", "--wrap=exec sleep 300"
    )
    site = site_file(tmp_path, nodes=2)
    job, workdir = submit(tmp_path, site, seconds=5.0, runs=40)
    wait_until(lambda: executions(tmp_path))
    twice = surrogate("submit", tmp_path / "small.toml", "--site", site, "--workdir", workdir)
    assert twice.returncode != 0
    one_sentence(twice)
    mine = {number for number, _ in cluster.jobs()} - {other.strip()}
    assert len(mine) >= 2  # the driver and a block at least
    ended = json_of(surrogate("cancel", workdir, "--json"))
    # A driver that is told to end takes its blocks along before they are looked for.
    assert job in ended["jobs"]
    assert [number for number, _ in cluster.jobs()] == [other.strip()]
    loaded = read_state(workdir / "journal")
    assert loaded is not None
    assert not find_tagged(CAMPAIGN_VARIABLE, loaded.uid)
    again = surrogate("cancel", workdir)
    assert (again.returncode, again.stdout) == (0, "Nothing of this campaign was running.\n")
    cluster.run("scancel", other.strip())


def test_a_site_without_scheduler_takes_no_driver(tmp_path):
    refused = surrogate("submit", write_campaign(tmp_path), "--site", "laptop", "--workdir", tmp_path / "w")
    assert refused.returncode == 2
    assert "has no SLURM" in one_sentence(refused)
