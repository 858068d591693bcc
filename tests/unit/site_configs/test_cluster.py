"""What sinfo, scontrol and srun print is understood, and becomes a site."""

from __future__ import annotations

import tomllib

import pytest

from site_configs import cluster
from site_configs.cluster import (
    NodeGroup,
    PartitionFacts,
    ask,
    parse_mpi_kinds,
    parse_nodes,
    parse_records,
    partition_facts,
    seconds_of,
    smallest_node,
)
from site_configs.draft import Cluster, choose, draft_site
from site_configs.load import read_site
from site_configs.site import Site
from surrogate.core.errors import SiteError

# A large cluster: two generations of nodes in one partition, GPUs, a partition that is down, one for transfers.
NODES = """\
cpu|cpu*|up|700|2|96|344000|(null)|5-00:00:00
cpu|cpu*|up|500|2|64|229000|(null)|5-00:00:00
gpu|gpu|up|60|2|36|480000|gpu:a100:4(S:0-1)|5-00:00:00
mixed|mixed|up|4|1|32+|250000|gpu:v100:2,gpu:a40:1(S:0),nvme:1|12:00:00
old|old|down|90|2|8|64000|(null)|infinite
login: something that was printed between
transfer|transfer|up|2|1|0|8000|(null)|1:00:00
"""
RECORDS = """\
PartitionName=cpu AllowGroups=ALL Default=YES MaxNodes=512 MaxTime=5-00:00:00 State=UP
PartitionName=gpu AllowGroups=ALL Default=NO MaxNodes=UNLIMITED MaxTime=5-00:00:00 State=UP
"""
KINDS = """\
MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
OLDER_KINDS = "srun: MPI types are...\nsrun: none\nsrun: openmpi\nsrun: pmi2\n"


def facts(name: str, *, default=False, nodes=4, cores=64, gpus=0, walltime=3600) -> PartitionFacts:
    return PartitionFacts(name, default, nodes, cores, 256000, gpus, walltime)


def found(*partitions, kinds=("pmix", "pmi2"), loopback=False) -> Cluster:
    return Cluster('the "big" one', "23.11.4", partitions, kinds, "none", loopback, "login1")


def test_nodes_are_read():
    groups = parse_nodes(NODES)
    assert groups[0] == NodeGroup("cpu", True, True, 700, 192, 344000, 0, 432000)
    assert groups[2].gpus == 4
    assert (groups[3].cores, groups[3].gpus) == (32, 3)
    assert not groups[4].up
    assert groups[4].walltime_s is None
    assert len(groups) == 6


def test_a_partition_is_what_its_smallest_node_is():
    by_name = {one.name: one for one in partition_facts(parse_nodes(NODES), parse_records(RECORDS))}
    assert by_name["cpu"] == PartitionFacts("cpu", True, 512, 128, 229000, 0, 432000)
    assert by_name["gpu"].nodes == 60
    assert set(by_name) == {"cpu", "gpu", "mixed"}


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        ("1-00:00:00", 86400),
        ("2-12", 216000),
        ("12:00:00", 43200),
        ("30:00", 1800),
        ("30", 1800),
        ("infinite", None),
        ("n/a", None),
        ("", None),
    ],
)
def test_limits_are_read(limit, seconds):
    assert seconds_of(limit) == seconds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [(KINDS, ("pmix", "none", "cray_shasta", "pmi2", "pmix_v4")), (OLDER_KINDS, ("none", "openmpi", "pmi2")), ("", ())],
)
def test_kinds_of_mpi_are_read(text, kinds):
    assert parse_mpi_kinds(text) == kinds


def test_what_slurm_does_not_say_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SiteError, match="'sinfo' was not found"):
        ask("sinfo")
    refusing = tmp_path / "sinfo"
    refusing.write_text("#!/bin/sh\necho 'sinfo: error: no such thing' >&2\nexit 1\n")
    refusing.chmod(0o755)
    with pytest.raises(SiteError, match="sinfo said: sinfo: error: no such thing"):
        ask("sinfo")


def test_a_site_that_does_not_say_its_size_asks_slurm(monkeypatch):
    monkeypatch.setattr(cluster, "ask", lambda *words: NODES)
    monkeypatch.setenv("SLURM_CONF", "/tests/asked/once")
    site = Site.model_validate_json('{"name": "x", "scheduler": "slurm", "nodes": 3}')
    has = site.capacity()
    assert (has.nodes, has.cores, has.memory_mib, has.gpus) == (3, 128, 229000, 0)
    assert smallest_node("gpu").gpus == 4
    with pytest.raises(SiteError, match=r"no partition 'old' that is up; it has cpu, gpu, mixed\."):
        smallest_node("old")


@pytest.mark.parametrize(
    ("partitions", "simulate", "train"),
    [
        ((facts("a", default=True),), "a", "a"),
        ((facts("a", default=True), facts("b", gpus=4)), "a", "b"),
        ((facts("g", default=True, gpus=4), facts("small", nodes=1), facts("large", nodes=9)), "large", "g"),
        ((facts("g8", gpus=8), facts("g4", gpus=4)), "g8", "g8"),
        ((facts("a"), facts("g8", gpus=8), facts("g4", gpus=4)), "a", "g4"),
    ],
)
def test_partitions_are_chosen(partitions, simulate, train):
    chosen = choose(partitions)
    assert (chosen[0].name, chosen[1].name) == (simulate, train)


def test_a_draft_is_a_site(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(draft_site("mine", found(facts("cpu.long", default=True), facts("gpu", gpus=4)), "mpich"))
    site = read_site(path)
    assert site.description == 'the "big" one, SLURM 23.11.4, as seen from login1.'
    assert site.partition("simulate").name == "cpu.long"
    assert site.partition("train").name == "gpu"
    assert site.capacity("train").gpus == 4
    assert site.capacity("simulate").memory_mib < 256000
    assert site.interchange.address is None
    assert site.role("train").launcher.options == ("--mpi=pmi2",)
    assert site.launcher.mpiexec == "embedded"


@pytest.mark.parametrize(
    ("kinds", "own", "launcher", "train"),
    [
        (("pmi2",), "mpich", "auto", ("--mpi=pmi2",)),
        (("pmix_v4",), "openmpi", "auto", ("--mpi=pmix_v4",)),
        (("none",), "mpich", "auto", None),
        (("pmix", "pmi2"), None, "srun", None),
    ],
)
def test_the_launcher_fits_the_mpi(kinds, own, launcher, train):
    record = tomllib.loads(draft_site("mine", found(facts("a", default=True), kinds=kinds, loopback=True), own))
    assert record["launcher"]["dialect"] == launcher
    assert record["interchange"]["address"] == "127.0.0.1"
    own_of_train = record["roles"]["train"].get("launcher")
    assert (tuple(own_of_train["options"]) if own_of_train else None) == train


def test_a_draft_asks_for_no_more_than_there_is():
    record = tomllib.loads(draft_site("mine", found(facts("a", default=True, nodes=2, walltime=600)), "mpich"))
    assert record["nodes"] == 2
    assert record["partitions"]["a"]["walltime_s"] == 600
