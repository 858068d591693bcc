"""Launch lines, by tables and by properties: integers only, never N copies of a serial program."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_configs.launch import DIALECTS, Launcher, launch_line
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError, ResourceError

PROGRAM = ("/opt/solver", "--input", "case.in")
TWO = ResourceRequest(1, 2, 2)
WIDE = ResourceRequest(2, 4, 8, cores_per_rank=3, gpus_per_rank=1, memory_per_rank_mib=500)


@pytest.mark.parametrize(
    ("dialect", "resources", "extra", "expected"),
    [
        ("mpich", TWO, {}, "/m -n 2 -ppn 2 -bind-to none"),
        ("mpich", WIDE, {"hosts": ("a", "b")}, "/m -n 8 -ppn 4 -bind-to none -hosts a,b"),
        ("mpich", WIDE, {"bind_cores": True}, "/m -n 8 -ppn 4 -bind-to core:3"),
        (
            "mpich",
            TWO,
            {"as_root": True, "options": ("-launcher", "fork")},
            "/m -n 2 -ppn 2 -bind-to none -launcher fork",
        ),
        ("mpich", TWO, {"variables": (("A", "1"),)}, "env A=1 /m -n 2 -ppn 2 -bind-to none"),
        ("openmpi", TWO, {}, "/m -n 2 --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none"),
        ("openmpi", WIDE, {}, "/m -n 8 --map-by ppr:4:node --bind-to none"),
        (
            "openmpi",
            WIDE,
            {"hosts": ("a", "b")},
            (
                "env OMPI_MCA_ras_slurm_use_entire_allocation=1 PRTE_MCA_ras_slurm_use_entire_allocation=1 "
                "/m -n 8 --map-by ppr:4:node --bind-to none --host a:4,b:4"
            ),
        ),
        ("openmpi", WIDE, {"bind_cores": True}, "/m -n 8 --map-by ppr:4:node:PE=3 --bind-to core"),
        (
            "openmpi",
            TWO,
            {"as_root": True},
            (
                "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                "/m -n 2 --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none"
            ),
        ),
        (
            "srun",
            TWO,
            {"options": ("--mpi=pmi2",)},
            (
                "/m --nodes=1 --ntasks=2 --ntasks-per-node=2 --cpus-per-task=1 --exact --overlap --kill-on-bad-exit=1 "
                "--cpu-bind=none --mpi=pmi2"
            ),
        ),
        (
            "srun",
            WIDE,
            {"hosts": ("a", "b"), "bind_cores": True},
            (
                "/m --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=3 --exact --overlap --kill-on-bad-exit=1 "
                "--cpu-bind=cores --gpus-per-task=1 --mem=2000M --nodelist=a,b"
            ),
        ),
    ],
)
def test_lines(dialect, resources, extra, expected):
    assert launch_line(dialect, PROGRAM, resources, mpiexec="/m", **extra) == [*expected.split(), *PROGRAM]


requests = st.builds(
    lambda nodes, per_node, cores, gpus, memory: ResourceRequest(
        nodes, per_node, nodes * per_node, cores, gpus, memory
    ),
    st.integers(1, 9),
    st.integers(1, 130),
    st.integers(1, 64),
    st.integers(0, 8),
    st.integers(0, 10**6),
)
dialects = st.sampled_from(sorted(DIALECTS))
RANKS = {"mpich": r"-n (\S+)", "openmpi": r"-n (\S+)", "srun": r"--ntasks=(\S+)"}
PER_NODE = {"mpich": r"-ppn (\S+)", "openmpi": r"ppr:([^:]+):node", "srun": r"--ntasks-per-node=(\S+)"}


@given(dialects, requests, st.booleans(), st.booleans(), st.booleans())
def test_every_number_is_the_integer_that_was_asked_for(dialect, resources, bind, root, named):
    hosts = tuple(f"n{index}" for index in range(resources.nodes)) if named else ()
    line = launch_line(dialect, PROGRAM, resources, mpiexec="/m", bind_cores=bind, as_root=root, hosts=hosts)
    text = " ".join(line)
    assert re.search(RANKS[dialect], text).group(1) == str(resources.ranks)
    assert re.search(PER_NODE[dialect], text).group(1) == str(resources.ranks_per_node)
    assert not re.search(r"\d\.\d", text)
    assert tuple(line[-len(PROGRAM) :]) == PROGRAM
    assert text.count(PROGRAM[0]) == 1
    assert line.count("/m") == 1


@given(dialects, requests)
def test_a_serial_program_is_never_copied(dialect, resources):
    if resources.ranks == 1:
        assert launch_line(dialect, PROGRAM, resources, mpiexec="/m", mpi=False) == list(PROGRAM)
    else:
        with pytest.raises(ResourceError, match="copies"):
            launch_line(dialect, PROGRAM, resources, mpiexec="/m", mpi=False)


def test_a_bare_program_gets_none_of_the_launchers_words():
    extra = {"options": ("-x",), "variables": (("A", "1"),), "as_root": True, "bind_cores": True}
    assert launch_line("openmpi", PROGRAM, ResourceRequest(), mpiexec="/m", mpi=False, **extra) == list(PROGRAM)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"dialect": "mpihc"}, ConfigError, "Did you mean 'mpich'"),
        ({"argv": ()}, ConfigError, "nothing to start"),
        ({"argv": ("",)}, ConfigError, "nothing to start"),
        ({"hosts": ("a", "b")}, ResourceError, "2 hosts"),
    ],
)
def test_refusals(changes, error, words):
    arguments = {"dialect": "mpich", "argv": PROGRAM, "resources": TWO, "mpiexec": "/m", **changes}
    with pytest.raises(error, match=words):
        launch_line(**arguments)


def test_a_launcher_travels_as_json():
    launcher = Launcher("openmpi", "/m", ("--mca", "btl"), (("A", "1"), ("B", "2")), bind_cores=True, as_root=True)
    again = Launcher.from_json(json.loads(json.dumps(launcher.to_json())))
    assert again == launcher
    assert again.line(PROGRAM, TWO) == launcher.line(PROGRAM, TWO)
