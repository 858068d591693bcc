"""The cluster that the other tests rely on: it runs jobs, loses nodes, and leaves nothing."""

from __future__ import annotations

import time

import pytest

from tests.support.slurm import Cluster

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(120)]


def submit(cluster: Cluster, *options: str) -> str:
    return cluster.run(
        "sbatch", "--parsable", "--output=/dev/null", "--no-requeue", *options, "--wrap=exec sleep 60"
    ).strip()


def wait_for(condition, seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_what_can_never_run_is_refused(cluster):
    with pytest.raises(RuntimeError, match="invalid partition"):
        submit(cluster, "--partition=nowhere")
    with pytest.raises(RuntimeError, match="time limit"):
        submit(cluster, "--partition=small", "--time=60")


def test_a_cluster_ends_with_its_jobs(tmp_path_factory):
    other = Cluster(tmp_path_factory.mktemp("other"), nodes=1)
    try:
        other.start()
        submit(other)
        wait_for(lambda: other.tasks_on("n1"))
    finally:
        other.daemons.kill("slurmctld")
        other.stop()
    assert not other.tasks_on("n1")


class Stumbling(Cluster):
    """A cluster one of whose daemons ends right after its start."""

    stumbled = False

    def start_node(self, name: str) -> None:
        super().start_node(name)
        if name == "n2" and not self.stumbled:
            self.stumbled = True
            self.daemons.kill(name)


def test_a_node_that_ends_at_its_start_is_started_again(tmp_path_factory):
    other = Stumbling(tmp_path_factory.mktemp("stumbling"), nodes=2)
    try:
        other.start()
        assert other.stumbled
        assert other.states() == {"n1": "idle", "n2": "idle"}
    finally:
        other.stop()
