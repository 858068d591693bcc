"""What a site's check found becomes a line each: fine, or a sentence that says what to change."""

from __future__ import annotations

import copy
import re

import pytest

from site_configs.launch import Launcher
from site_configs.partition import Partition
from site_configs.site import Site
from workflows.site_job import JobResult, Probe, folders, probe_job, probes
from workflows.site_judge import judge
from workflows.site_probe import facts, look_at_folder, run_step

MPICH = "MPICH Version: 5.0.2 MPICH Release date: Fri Sep 25"
OPEN_MPI = "Open MPI v4.1.4, package: Debian"
SITE = Site(name="big", scheduler="slurm", nodes=2, cores=4, memory_mib=100, partitions={"a": Partition(name="a")})
SRUN = Launcher("srun", "/usr/bin/srun", ("--mpi=pmi2",))
PACKAGES = dict.fromkeys(("surrogate-hpc", "parsl", "dill", "numpy", "h5py", "mpi4py", "horovod"), "1.0")
NODE = {
    "host": "n1", "time": 100.0, "python": "3.11.7", "packages": PACKAGES, "machine": "x86_64",
    "flags": ["avx2", "fma"], "cores": 4, "gpus": 0, "mpi": MPICH,
}  # fmt: skip
FINE = {"path": "/scratch", "error": "", "locks": "work"}


def rank(number, host, size=4, library=MPICH, cores=(0, 1, 2, 3)):
    return {"rank": number, "size": size, "host": host, "library": library, "cores": list(cores)}


def ranks(**changes):
    said = [rank(0, "n1"), rank(1, "n1"), rank(2, "n2"), rank(3, "n2")]
    return {"line": ["srun", "x"], "code": 0, "said": said, "text": "", "seconds": 1.0, **changes}


def found(step=None, node=None, folder=None, **steps):
    return {
        "node": {**NODE, **(node or {})},
        "hosts": ["n1", "n2"],
        "folders": {"workdir": {**FINE, **(folder or {})}},
        "steps": {"ranks": step or ranks(), **steps},
    }


SIMULATE, TRAIN = Probe("simulate", 2, 2, False), Probe("train", 2, 1, True)


def verdicts(*, probe=SIMULATE, site=SITE, launcher=SRUN, login=None, result=None, **parts):
    outcome = result or JobResult(state="COMPLETED", found=found(**parts), submitted=99.0, seen=101.0)
    login = {**copy.deepcopy(NODE), **(login or {})}
    checks = judge(site, probe, outcome, login, launcher=launcher, kinds=("pmix", "pmi2"))
    return {check.name: (check.state, check.sentence) for check in checks}


def test_all_is_well():
    said = verdicts()
    assert {state for state, _ in said.values()} == {"ok"}
    assert said["ranks (simulate)"][1] == "4 ranks on 2 node(s) see each other, with MPICH 5.0.2."
    assert list(said) == [
        "partition (simulate)", "versions", "processor", "clock", "folder (workdir)", "ranks (simulate)",
        "binding (simulate)",
    ]  # fmt: skip


RANKS, PARTITION, FOLDER, BINDING = "ranks (simulate)", "partition (simulate)", "folder (workdir)", "binding (simulate)"


@pytest.mark.parametrize(
    ("parts", "name", "state", "words"),
    [
        ({"node": {"python": "3.12.1"}}, "versions", "fail", "python 3.12.1 there and 3.11.7 here"),
        ({"node": {"packages": {}}}, "versions", "fail", r"numpy None there and 1\.0 here"),
        ({"node": {"machine": "aarch64"}}, "processor", "fail", "This machine is x86_64, and node n1 is aarch64"),
        ({"login": {"flags": ["avx2", "avx512f"]}}, "processor", "warn", "nodes lack avx512f"),
        ({"node": {"time": 90.0}}, "clock", "fail", r"9\.0 s behind this machine's"),
        ({"node": {"time": 111.0}}, "clock", "fail", r"10\.0 s ahead of this machine's"),
        ({"folder": {"error": "Read-only file system"}}, FOLDER, "fail", "Read-only file system. Work elsewhere"),
        ({"folder": {"locks": "refused"}}, FOLDER, "fail", "storage.file_locks = false"),
        ({"folder": {"locks": "no effect"}}, FOLDER, "warn", "locks have no effect"),
        ({"step": ranks(code=None, said=[])}, RANKS, "fail", "did not answer"),
        ({"step": ranks(said=[rank(n, "n1") for n in range(4)])}, RANKS, "fail", "does not know the job's nodes"),
        (
            {"step": ranks(said=[rank(n, "n1", 1) for n in range(4)]), "launcher": Launcher("srun", "srun")},
            RANKS,
            "fail",
            r"saw worlds of 1: srun was given no --mpi, .* MPICH 5\.0\.2 speaks\. Set --mpi=pmi2",
        ),
        (
            {"step": ranks(said=[], code=1), "node": {"mpi": OPEN_MPI}},
            RANKS,
            "fail",
            r"--mpi=pmi2, which is not what Open MPI 4\.1\.4 speaks\. Set --mpi=pmix",
        ),
        (
            {"step": ranks(said=[rank(n, "n1", 1) for n in range(4)]), "launcher": Launcher("openmpi", "/opt/mpirun")},
            RANKS,
            "fail",
            r"two MPIs are mixed\. The launcher /opt/mpirun is of openmpi, and mpi4py loads MPICH",
        ),
        (
            {
                "step": ranks(said=[], code=1, text="ImportError: libmpi.so.12: cannot open\n"),
                "node": {"mpi": ""},
                "launcher": Launcher("mpich", "/m"),
            },
            RANKS,
            "fail",
            "mpi4py finds no MPI library on the node",
        ),
        (
            {
                "step": ranks(
                    said=[],
                    code=9,
                    text="Traceback\nRuntimeError: no\nsrun: error: n1: task 0: Exited with exit code 9\n",
                )
            },
            RANKS,
            "fail",
            r"none came up \(RuntimeError: no\)\. Started as: srun x",
        ),
        (
            {"step": ranks(said=[rank(n, f"n{1 + n // 2}", cores=[0]) for n in range(4)])},
            BINDING,
            "fail",
            r"2 ranks on node n1 share 1 core\(s\)",
        ),
        ({"launcher": Launcher("mpich", "/m", bind_cores=True)}, BINDING, "fail", "on node n1 they overlap"),
        ({"result": JobResult(refused="invalid account")}, PARTITION, "fail", "in partition 'a': invalid account"),
        ({"result": JobResult(state="PENDING", waits="Resources")}, PARTITION, "fail", "SLURM says: Resources"),
        ({"result": JobResult(state="FAILED")}, "folders", "fail", "does not see the folder"),
        (
            {"result": JobResult(state="FAILED", output="module: not found\nlmod: no such module\n")},
            "environment",
            "fail",
            "it last said: lmod: no such module",
        ),
        (
            {"result": JobResult(state="FAILED", output="x\nsurrogate-site-check no-python n7\n")},
            "environment",
            "fail",
            "There is no Python at .* on node n7",
        ),
    ],
)
def test_each_fault_is_told(parts, name, state, words):
    said = verdicts(**parts)
    assert said[name][0] == state, said
    assert re.search(words, said[name][1]), said[name][1]
    assert [other for other, (found_state, _) in said.items() if found_state == "fail"] in ([name], [])


def test_gpus_are_counted():
    site = SITE.model_copy(update={"gpus": 4})
    assert verdicts(site=site, node={"gpus": 4})["GPUs (simulate)"] == ("ok", "4 on node n1.")
    state, sentence = verdicts(site=site, node={"gpus": 1})["GPUs (simulate)"]
    assert state == "fail"
    assert "asked for 4 GPU(s) on node n1, and programs see 1 there" in sentence
    refused = JobResult(refused="Invalid generic resource (gres) specification")
    assert (
        "nodes of partition 'a' have 4 GPUs, and SLURM refused"
        in verdicts(site=site, result=refused)["partition (simulate)"][1]
    )


def met(size=2, total=3.0, data="NCCL", hosts=("n1", "n2")):
    said = [
        {"rank": n, "size": size, "sum": total, "control": "MPI", "data": data, "host": host}
        for n, host in enumerate(hosts)
    ]
    return {"line": ["srun"], "code": 0, "said": said, "text": "Error: x\n", "seconds": 2.0}


@pytest.mark.parametrize(
    ("step", "node", "state", "words"),
    [
        (met(), {}, "ok", "2 ranks on 2 node(s) met over MPI and added their numbers over NCCL."),
        (met(size=1, total=1.0), {}, "fail", "0 did it right"),
        ({**met(), "code": None, "said": []}, {}, "fail", "did not meet"),
        (met(), {"packages": {**PACKAGES, "horovod": None}}, "ok", "met over MPI"),
        (met(), {"packages": {k: v for k, v in PACKAGES.items() if k != "horovod"}}, "warn", "surrogate build-horovod"),
    ],
)
def test_ranks_meet_by_horovod(step, node, state, words):
    two = ranks(said=[rank(0, "n1", 2), rank(1, "n2", 2)])
    said = verdicts(probe=TRAIN, step=two, node=node, horovod=step)
    assert said["Horovod"][0] == state
    assert words in said["Horovod"][1]
    assert "versions" not in said


def test_ranks_that_do_not_see_each_other_are_not_asked_to_meet():
    assert "Horovod" not in verdicts(probe=TRAIN, step=ranks(said=[]), horovod=met(size=1))


def test_a_job_is_as_large_as_its_partition_allows(tmp_path):
    assert probes(SITE, training=True) == [Probe("simulate", 2, 2, False), TRAIN]
    lonely = SITE.model_copy(update={"nodes": 1, "cores": 1})
    assert probes(lonely, training=False) == [Probe("simulate", 1, 1, False)]
    site = SITE.model_copy(
        update={"gpus": 2, "partitions": {"a": Partition(name="a", exclusive=False, walltime_s=100)}}
    )
    job = probe_job(site, TRAIN, tmp_path)
    assert (job.nodes, job.cores, job.gpus, job.exclusive, job.walltime_s) == (2, 1, 2, False, 100)
    assert folders(site, tmp_path) == {"workdir": str(tmp_path)}


def test_the_probe_looks_around(tmp_path):
    seen = facts()
    assert seen["packages"]["numpy"]
    assert seen["mpi"].startswith(("MPICH", "Open MPI"))
    folder = look_at_folder(str(tmp_path / "new" / "folder"))
    assert (folder["error"], folder["locks"]) == ("", "work")
    assert not (tmp_path / "new").exists()
    assert look_at_folder("/proc/nothing/here")["error"]


def test_a_launcher_that_is_not_there_is_told(tmp_path):
    step = {
        "name": "ranks",
        "code": "ranks",
        "line": ["/no/launcher", "@0@"],
        "timeout_s": 5,
        "drop": "X",
        "keep": [],
        "variables": {},
    }
    assert run_step(step, ["n1"], tmp_path)["text"] == "/no/launcher: No such file or directory"
    late = {**step, "line": ["sleep", "9"], "timeout_s": 0.1}
    assert run_step(late, ["n1"], tmp_path)["code"] is None
