"""One cluster for all tests of this folder; each test finds it idle and whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.slurm import Cluster, missing

LONGEST_FOLDER = 60


@pytest.fixture(scope="session")
def running_cluster(watched: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start four nodes of two cores."""
    absent = missing()
    if absent is not None:
        pytest.skip(absent)
    folder = tmp_path_factory.mktemp("slurm")
    assert len(str(folder)) <= LONGEST_FOLDER, f"{folder} is too long for the daemons' sockets: set --basetemp"
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(running_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Give a test the cluster, and SLURM_CONF; afterwards no job may be left, and every node is put back to work."""
    monkeypatch.setenv("SLURM_CONF", str(running_cluster.conf))
    yield running_cluster
    running_cluster.start_controller()
    left = running_cluster.jobs_after(seconds=5.0)
    running_cluster.cancel_all()
    running_cluster.resume()
    assert left == [], f"The test left jobs behind: {left}"
