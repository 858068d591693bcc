"""Checks that start ranks: does an MPI program really get its world, and does Horovod reduce across it?"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from site_configs.launch import launch_line
from site_configs.resources import ResourceRequest
from surrogate.core.errors import SurrogateError
from surrogate.core.process import run_process, scrubbed_environment
from workflows.doctor_check import Check
from workflows.horovod_build import make_plan
from workflows.mpi_library import MpiLibrary, find_mpi, installed_version

RANKS = 2
HELLO_TIMEOUT_S = 60
HOROVOD_TIMEOUT_S = 180
# Each rank writes one line; the folder of the mapped library shows whose it is.
HELLO = """
import json
from mpi4py import MPI
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split()[-1] for line in maps if "/libmpi" in line})
say = {"rank": MPI.COMM_WORLD.rank, "size": MPI.COMM_WORLD.size, "library": MPI.Get_library_version(), "loaded": loaded}
print("\\n" + json.dumps(say), flush=True)
"""
REDUCE = """
import json
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
total = hvd.allreduce(tf.constant([float(hvd.rank() + 1)]), op=hvd.Sum)
say = {"rank": hvd.rank(), "size": hvd.size(), "sum": float(total[0]), "mpi": hvd.mpi_built()}
print("\\n" + json.dumps(say), flush=True)
"""
VENDORS = {"mpich": ("MPICH",), "openmpi": ("Open MPI",), "mvapich": ("MVAPICH",), "intelmpi": ("Intel",)}


def check_mpi(folder: Path) -> list[Check]:
    """Find the MPI, start two ranks with it, and compare what they see with what was found.

    Args:
        folder: Where scratch files may be made.
    """
    try:
        mpi = find_mpi()
    except SurrogateError as error:
        return [Check("MPI", "fail", str(error))]
    mpiexec = mpi.program("mpiexec")
    origin = "the wheel in this environment" if mpi.embedded else "found on PATH"
    found = [Check("MPI", "ok", f"{mpi.name} {mpi.version}, {origin}; ranks are started by {mpiexec}.")]
    first = shutil.which("mpiexec")
    if first is not None and Path(first).resolve() != mpiexec.resolve():
        found.append(
            Check(
                "mpiexec on PATH",
                "warn",
                f"{first} comes first on PATH and belongs to another MPI. Surrogate calls {mpiexec} by its full path; "
                "do so in your own commands, too, or each rank may believe to be alone.",
            )
        )
    found.append(_hello(mpi, folder))
    return found


def _hello(mpi: MpiLibrary, folder: Path) -> Check:
    """Check that two ranks see a world of two, with the library that was found."""
    name = f"{RANKS} ranks"
    answers, problem = _run_ranks(mpi, HELLO, folder, HELLO_TIMEOUT_S)
    if problem:
        return Check(name, "fail", problem)
    sizes = sorted({int(answer["size"]) for answer in answers})
    if sizes != [RANKS] or len(answers) != RANKS:
        return Check(
            name,
            "fail",
            f"{RANKS} ranks were started, {len(answers)} answered, and they saw worlds of size {sizes}: mpiexec and "
            "the library that mpi4py loads belong to different MPIs. Install mpi4py and MPI into one environment anew.",
        )
    return judge_library(mpi, str(answers[0]["library"]), [str(path) for path in answers[0]["loaded"]])


def judge_library(mpi: MpiLibrary, library: str, loaded: list[str]) -> Check:
    """Compare the library that a rank loaded with the MPI that was found.

    Args:
        mpi: What was found.
        library: What the library says of itself.
        loaded: Paths of the mapped MPI libraries.
    """
    name = f"{RANKS} ranks"
    first_line = " ".join(library.replace("\0", "").strip().partition("\n")[0].split()) or "nothing"
    where = ", ".join(loaded) or "a place that could not be told"
    known = VENDORS.get(mpi.name)
    if known is not None and not any(word in library for word in known):
        return Check(
            name,
            "fail",
            f"{mpi.name} {mpi.version} was found, and mpi4py loads another MPI ({first_line}) from {where}. Install "
            "mpi4py and MPI into one environment anew.",
        )
    lib = (mpi.bin.parent / "lib").resolve()
    if mpi.embedded and loaded and not any(Path(path).resolve().is_relative_to(lib) for path in loaded):
        return Check(
            name,
            "fail",
            f"mpi4py loads {where}, which is not the MPI of this environment ({lib}). Unset LD_LIBRARY_PATH, "
            "MPI4PY_MPIABI and MPI4PY_LIBMPI, or make the environment anew.",
        )
    return Check(name, "ok", f"They see a world of {RANKS}, with {first_line} from {where}.")


def check_horovod(folder: Path) -> Check:
    """Compare the installed Horovod with this environment, and let two ranks reduce a number with it.

    Args:
        folder: Where scratch files may be made.
    """
    name = "Horovod"
    version = installed_version("horovod")
    if version is None:
        return Check(
            name, "warn", "It is not installed, so training uses one process. To get it: surrogate build-horovod"
        )
    try:
        plan = make_plan(nccl=".nccl" in version)
    except SurrogateError as error:
        return Check(name, "fail", f"Version {version} is installed, and what it was built for is not: {error}")
    if version != plan.version:
        return Check(
            name,
            "fail",
            f"Version {version} is installed, and this environment needs {plan.version}. Run: surrogate build-horovod",
        )
    answers, problem = _run_ranks(plan.mpi, REDUCE, folder, HOROVOD_TIMEOUT_S)
    if problem:
        return Check(name, "fail", problem)
    expected = RANKS * (RANKS + 1) / 2
    wrong = [answer for answer in answers if answer["size"] != RANKS or answer["sum"] != expected or not answer["mpi"]]
    if wrong or len(answers) != RANKS:
        return Check(
            name,
            "fail",
            f"{RANKS} ranks were to add their numbers and answered {answers}. Run: surrogate build-horovod",
        )
    return Check(name, "ok", f"Version {version}; {RANKS} ranks added their numbers right.")


def _run_ranks(mpi: MpiLibrary, code: str, folder: Path, timeout_s: float) -> tuple[list[dict[str, Any]], str]:
    """Run Python code on two ranks.

    Returns:
        The JSON objects that they printed, and a sentence when that failed.
    """
    with tempfile.TemporaryDirectory(prefix=".surrogate-doctor-", dir=folder) as scratch:
        program = Path(scratch) / "ranks.py"
        program.write_text(code)
        request = ResourceRequest(nodes=1, ranks_per_node=RANKS, ranks=RANKS)
        argv = [sys.executable, "-m", "mpi4py", str(program)]
        line = launch_line(
            "openmpi" if mpi.name == "openmpi" else "mpich",
            argv,
            request,
            mpiexec=str(mpi.program("mpiexec")),
            as_root=os.geteuid() == 0,
        )
        output = Path(scratch) / "output"
        environment = {**scrubbed_environment(os.environ), "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
        try:
            done = run_process(line, cwd=Path(scratch), env=environment, stdout=output, timeout_s=timeout_s)
        except OSError as error:
            return [], f"The ranks could not be started by {mpi.program('mpiexec')}: {error.strerror}."
        lines = [text.strip() for text in output.read_text(errors="replace").splitlines() if text.strip()]
    if done.timed_out:
        return [], f"{RANKS} ranks did not answer within {timeout_s:.0f} s: {' '.join(line)}"
    if done.returncode != 0:
        last = lines[-1] if lines else "it said nothing"
        return [], f"{RANKS} ranks ended with exit code {done.returncode}: {last} (run as: {' '.join(line)})"
    return [json.loads(text) for text in lines if text.startswith("{")], ""
