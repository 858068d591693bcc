"""Launch lines, by tables and by properties: integers only, never N copies of a serial program."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_configs.container import container_words
from site_configs.launch import DIALECTS, Launcher, launch_line
from site_configs.load import available_sites, load_site
from site_configs.resources import ResourceRequest
from site_configs.settings import Container
from surrogate.core.errors import ConfigError, ResourceError

PROGRAM = ("/opt/solver", "--input", "case.in")
TWO = ResourceRequest(1, 2, 2)
SHIPPED = {name: load_site(name) for name in available_sites()}
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
dialects = st.sampled_from([*sorted(DIALECTS), "template"])
RANKS = {"mpich": r"-n (\S+)", "openmpi": r"-n (\S+)", "srun": r"--ntasks=(\S+)", "template": r"-n (\S+)"}
PER_NODE = {
    "mpich": r"-ppn (\S+)", "openmpi": r"ppr:([^:]+):node", "srun": r"--ntasks-per-node=(\S+)",
    "template": r"-ppn (\S+)",
}  # fmt: skip
TEMPLATE = (
    "-n", "{ranks}", "-ppn", "{ranks_per_node}", "--depth={cores_per_rank}", "-g", "{gpus_per_rank}",
    "--hosts", "{hosts}", "--nodes={nodes}", "--mem={memory_per_node_mib}",
)  # fmt: skip
INSIDE = st.sampled_from([(), ("apptainer", "exec", "image.sif"), ("shifter", "--image=one")])


flags = st.fixed_dictionaries({"bind_cores": st.booleans(), "as_root": st.booleans(), "inside": INSIDE})


@settings(deadline=None)
@given(dialects, requests, st.booleans(), flags)
def test_every_number_is_the_integer_that_was_asked_for(dialect, resources, named, more):
    hosts = tuple(f"n{index}" for index in range(resources.nodes)) if named else ()
    more, inside = {**more, "hosts": hosts, "template": TEMPLATE}, more["inside"]
    line = launch_line(dialect, PROGRAM, resources, mpiexec="/m", **more)
    text = " ".join(line)
    assert re.search(RANKS[dialect], text).group(1) == str(resources.ranks)
    assert re.search(PER_NODE[dialect], text).group(1) == str(resources.ranks_per_node)
    assert not re.search(r"\d\.\d|None|\{|\}", text)
    assert tuple(line[-len(PROGRAM) - len(inside) :]) == (*inside, *PROGRAM)
    assert text.count(PROGRAM[0]) == 1
    assert line.count("/m") == 1
    if named:
        assert all(re.search(rf"\bn{index}\b", text) for index in range(resources.nodes))
    else:
        assert "hosts" not in text
        assert "--host" not in text


@settings(deadline=None)
@given(dialects, requests, INSIDE)
def test_a_serial_program_is_never_copied(dialect, resources, inside):
    more = {"mpiexec": "/m", "mpi": False, "template": TEMPLATE, "inside": inside}
    if resources.ranks == 1:
        assert launch_line(dialect, PROGRAM, resources, **more) == [*inside, *PROGRAM]
    else:
        with pytest.raises(ResourceError, match="copies"):
            launch_line(dialect, PROGRAM, resources, **more)


@settings(deadline=None)
@given(st.sampled_from(sorted(SHIPPED)), st.sampled_from(["simulate", "train"]), requests, st.booleans())
def test_no_shipped_site_starts_copies_of_a_serial_program(name, role, resources, named):
    launcher = SHIPPED[name].find_launcher(role, written=True)
    hosts = tuple(f"n{index}" for index in range(resources.nodes)) if named else ()
    text = " ".join(launcher.line(PROGRAM, resources, hosts=hosts))
    numbers = [int(number) for number in re.findall(r"(?:-n |--ntasks=)(\d+)(?: |$)", text)]
    assert numbers == [resources.ranks]
    assert not re.search(r"\d\.\d", text.replace(launcher.mpiexec, ""))
    if resources.ranks == 1:
        assert launcher.line(PROGRAM, resources, mpi=False, hosts=hosts) == list(PROGRAM)
    else:
        with pytest.raises(ResourceError, match="copies"):
            launcher.line(PROGRAM, resources, mpi=False, hosts=hosts)


@pytest.mark.parametrize(
    ("resources", "hosts", "expected"),
    [
        (TWO, (), "/m -n 2 -ppn 2 --depth=1 --nodes=1"),
        (WIDE, ("a", "b"), "/m -n 8 -ppn 4 --depth=3 -g 1 --hosts a,b --nodes=2 --mem=2000"),
    ],
)
def test_words_of_a_template_that_name_nothing_are_left_out(resources, hosts, expected):
    line = launch_line("template", PROGRAM, resources, mpiexec="/m", hosts=hosts, template=TEMPLATE)
    assert line == [*expected.split(), *PROGRAM]


def test_a_program_goes_inside_and_its_launcher_stays_outside():
    container = Container(runtime="apptainer", image="/images/s.sif", binds=("/scratch",), options=("--cleanenv",))
    launcher = Launcher(
        "srun", "srun",
        inside=container_words(container, gpus=False), inside_with_gpus=container_words(container, gpus=True),
        outside_python="/site/bin/python", inside_python=container.python,
    )  # fmt: skip
    for python in (sys.executable, "/site/bin/python"):
        line = " ".join(launcher.line((python, "-m", "mpi4py", "x.py"), TWO))
        assert line.endswith(
            "apptainer exec --bind=/scratch --cleanenv /images/s.sif /opt/surrogate/.venv/bin/python -m mpi4py x.py"
        )
    assert "exec --nv --bind" in " ".join(launcher.line(PROGRAM, WIDE))
    assert launcher.line(PROGRAM, ResourceRequest(), mpi=False)[:2] == ["apptainer", "exec"]
    assert Launcher.from_json(json.loads(json.dumps(launcher.to_json()))) == launcher


@pytest.mark.parametrize(
    ("container", "gpus", "expected"),
    [
        ({"runtime": "shifter", "image": "me/s:1", "binds": ("/a", "/b:/c")}, True,
         ["shifter", "--image=me/s:1", "--module=gpu", "--volume=/a:/a", "--volume=/b:/c"]),
        ({"runtime": "apptainer", "image": "s.sif", "gpu_flag": "--rocm", "program": "/opt/apptainer"}, True,
         ["/opt/apptainer", "exec", "--rocm", "s.sif"]),
    ],
)  # fmt: skip
def test_words_of_a_runtime(container, gpus, expected):
    assert list(container_words(Container(**container), gpus=gpus)) == expected


def test_podman_is_told_where_it_is_and_what_is_set(tmp_path):
    stub = tmp_path / "podman-hpc"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    container = Container(runtime="podman-hpc", program=str(stub), image="me/s:1", binds=("/a b",))
    line = launch_line("mpich", ("/opt/p", "an argument"), ResourceRequest(), mpiexec="/m", mpi=False,
                       inside=container_words(container, gpus=True))  # fmt: skip
    said = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [
        "run", "--rm", "--mpi", "--gpu", "--volume=/a b:/a b", "--env-host", f"--workdir={tmp_path}", "me/s:1",
        "/opt/p", "an argument",
    ]  # fmt: skip


def test_a_bare_program_gets_none_of_the_launchers_words():
    extra = {"options": ("-x",), "variables": (("A", "1"),), "as_root": True, "bind_cores": True}
    assert launch_line("openmpi", PROGRAM, ResourceRequest(), mpiexec="/m", mpi=False, **extra) == list(PROGRAM)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"dialect": "mpihc"}, ConfigError, "Did you mean 'mpich'"),
        ({"dialect": "template", "template": ("-n", "4")}, ConfigError, r"does not name \{ranks\}"),
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
