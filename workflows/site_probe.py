"""What `surrogate site check` runs inside a job: it looks around on the node and writes down what it finds.

    python site_probe.py SPEC RESULT      on the first node of the job
    python -m mpi4py site_probe.py rank   on every rank that a launcher starts

It is copied to the job and run by its path, with nothing but the standard library: whether anything else is there is
what it finds out.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import re
import socket
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "surrogate-hpc",
    "numpy",
    "h5py",
    "mpi4py",
    "parsl",
    "dill",
    "keras",
    "tensorflow-cpu",
    "tensorflow",
    "horovod",
)
MARK = "surrogate-site-check"
"""How a line begins that a rank prints, and that the job prints where there is no Python."""
_SECOND_WRITER = """
import sys, h5py
try:
    h5py.File(sys.argv[1], "r+").close()
except OSError:
    sys.exit(3)
"""
_LIBRARY = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())
"""
_REDUCE = """
import json, os, socket
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
total = hvd.allreduce(tf.constant([float(hvd.rank() + 1)]), op=hvd.Sum)
control = "MPI" if hvd.mpi_enabled() else "Gloo"
say = {"rank": hvd.rank(), "size": hvd.size(), "sum": float(total[0]), "control": control, "data": control}
say["host"] = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
if hvd.nccl_built() and tf.config.list_physical_devices("GPU"):
    say["data"] = "NCCL"
print("surrogate-site-check " + json.dumps(say), flush=True)
"""


def facts() -> dict[str, Any]:
    """Return what kind of machine and environment this is."""
    return {
        "host": node_name(),
        "time": time.time(),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name)) is not None},
        "machine": platform.machine(),
        "flags": sorted(_flags()),
        "cores": len(os.sched_getaffinity(0)),
        "gpus": count_gpus(),
        "mpi": mpi_library(),
    }


def node_name() -> str:
    """Return this node's name, as SLURM calls it."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def mpi_library() -> str:
    """Return what the MPI library that mpi4py loads says of itself; MPI is not started. Empty where none is loaded."""
    try:
        asked = subprocess.run([sys.executable, "-P", "-c", _LIBRARY], stdout=subprocess.PIPE, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " ".join(asked.stdout.decode(errors="replace").replace("\0", "").split())[:120]


def count_gpus() -> int:
    """Return how many GPUs programs see here: NVIDIA's by its tool, AMD's by its driver."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False)
        found = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
        if found:
            return found
    except (OSError, subprocess.TimeoutExpired):
        pass
    nodes = [Path(path) for path in glob.glob("/sys/class/kfd/kfd/topology/nodes/*/gpu_id")]  # noqa: PTH207
    return sum(path.read_text().strip() not in ("", "0") for path in nodes)


def look_at_folder(path: str) -> dict[str, Any]:
    """Return whether a folder can be written to here, and whether HDF5's locks work in it.

    Args:
        path: The folder, with variables of the node in it; it is made when missing, and taken away again.
    """
    place = Path(os.path.expandvars(path))
    made = next((part for part in reversed([place, *place.parents]) if not part.exists()), None)
    found: dict[str, Any] = {"path": str(place), "error": "", "locks": "unknown"}
    probe = place / f".surrogate-site-check-{node_name()}-{os.getpid()}.h5"
    try:
        place.mkdir(parents=True, exist_ok=True)
        probe.touch()
        found["locks"] = _locks(probe)
    except OSError as error:
        found["error"] = error.strerror or str(error)
    finally:
        probe.unlink(missing_ok=True)
        while made is not None and place.is_dir() and not any(place.iterdir()):
            place.rmdir()
            if place == made:
                break
            place = place.parent
    return found


def run_step(step: dict[str, Any], hosts: list[str], folder: Path) -> dict[str, Any]:
    """Start ranks by the line of a step and return what they printed.

    Args:
        step: `line` (words, `@0@` for the first node and so on), `timeout_s`, `keep` (variables of the job that the
            launcher must know), `drop` (pattern of those that it must not), `code` ("ranks" or "horovod").
        hosts: Names of the job's nodes.
        folder: Where the ranks' program may be written.
    """
    program = folder / f"step_{step['name']}.py"
    program.write_text(
        _REDUCE if step["code"] == "horovod" else Path(__file__).read_text(encoding="utf-8"), encoding="utf-8"
    )
    line = [_named(word, hosts, program) for word in step["line"]]
    drop = re.compile(step["drop"])
    kept = {name: value for name, value in os.environ.items() if not drop.match(name) or name in step["keep"]}
    began = time.monotonic()
    try:
        done = subprocess.run(
            line, env={**kept, **step["variables"]}, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=step["timeout_s"], check=False,
        )  # fmt: skip
        code: int | None = done.returncode
        text = done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        code, text = None, (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        code, text = 127, f"{line[0]}: {error.strerror}"
    said = [json.loads(found) for found in re.findall(rf"{MARK} (\{{.*?\}})(?=\s|$)", text)]
    return {"line": line, "code": code, "said": said, "text": text[-4000:], "seconds": time.monotonic() - began}


def say_rank() -> None:
    """Print what this rank sees of its world."""
    from mpi4py import MPI

    library = " ".join(MPI.Get_library_version().replace("\0", "").split())[:120]
    seen = {
        "rank": MPI.COMM_WORLD.rank,
        "size": MPI.COMM_WORLD.size,
        "host": node_name(),
        "library": library,
        "cores": sorted(os.sched_getaffinity(0)),
    }
    sys.stdout.write(f"{MARK} {json.dumps(seen)}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Look around, start the ranks of every step, and write the result beside the specification."""
    if arguments == ["rank"]:
        say_rank()
        return
    spec, result = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), Path(arguments[1])
    hosts = _hosts()
    found: dict[str, Any] = {"node": facts(), "hosts": hosts}
    found["folders"] = {name: look_at_folder(path) for name, path in spec["folders"].items()}
    found["steps"] = {step["name"]: run_step(step, hosts, result.parent) for step in spec["steps"]}
    part = result.with_name(f".{result.name}.part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(result)


def _hosts() -> list[str]:
    nodes = os.environ.get("SLURM_JOB_NODELIST")
    if not nodes:
        return [node_name()]
    answer = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True)
    return answer.stdout.split()


def _named(word: str, hosts: list[str], program: Path) -> str:
    for number, host in enumerate(hosts):
        word = word.replace(f"@{number}@", host)
    return word.replace("@program@", str(program))


def _locks(path: Path) -> str:
    """Return whether a second writer of an HDF5 file is stopped: `work`, `no effect`, `refused` or `unknown`."""
    try:
        import h5py
    except Exception:  # noqa: BLE001 - whatever keeps it from loading is told by the versions
        return "unknown"
    try:
        with h5py.File(path, "w"):
            second = subprocess.run([sys.executable, "-c", _SECOND_WRITER, str(path)], check=False, timeout=60)
    except OSError:
        return "refused"
    return {3: "work", 0: "no effect"}.get(second.returncode, "unknown")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _flags() -> set[str]:
    """Return those features of the processor that compilers use when asked for the native machine."""
    wanted = {"avx", "avx2", "avx512f", "fma", "sve", "asimd"}
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    lines = [line for line in text.splitlines() if line.startswith(("flags", "Features"))]
    return wanted & set(lines[0].split()) if lines else set()


if __name__ == "__main__":
    main(sys.argv[1:])
