"""What a machine must have to build Horovod: compiler, make, CMake, Python packages; CUDA and NCCL for GPUs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from surrogate.core.errors import MissingExtraError, SiteError

NCCLS = ("nvidia-nccl-cu13", "nvidia-nccl-cu12")
MODULES = ("setuptools", "wheel", "packaging", "cffi", "cloudpickle", "psutil", "yaml")
OLDEST_CMAKE = (3, 21)


def require_tools() -> None:
    """Refuse to start a build that cannot succeed.

    Raises:
        SiteError: If compiler, make or cmake is missing or too old.
        MissingExtraError: If a Python package that the build needs is missing.
    """
    missing = [name for name in MODULES if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"Building Horovod (which lacks {', '.join(missing)})", "build-horovod")
    if find_spec("pip") is None:
        raise SiteError("Horovod is built by pip, and this environment has none. Run: python -m ensurepip")
    path = _path()
    compiler = os.environ.get("CXX") or "c++"
    if shutil.which(compiler.split()[0], path=path) is None and shutil.which("g++", path=path) is None:
        raise SiteError(
            "Horovod is built from source and needs a C++17 compiler, and none was found on PATH. On Debian and "
            "Ubuntu: apt-get install g++ make; on a cluster: module load gcc (or what your site calls it)."
        )
    if shutil.which("make", path=path) is None:
        raise SiteError(
            "Horovod's build needs make, and it was not found on PATH. On Debian and Ubuntu: apt-get install make"
        )
    version = cmake_version(shutil.which("cmake", path=path))
    if version is None or version < OLDEST_CMAKE:
        found = "none was found" if version is None else "found was " + ".".join(map(str, version))
        raise SiteError(
            f"Horovod's build needs CMake {'.'.join(map(str, OLDEST_CMAKE))} or newer, and {found}. "
            "Install it into this environment: pip install 'surrogate-hpc[build-horovod]'"
        )


def cmake_version(program: str | None) -> tuple[int, int] | None:
    """Return major and minor version of a cmake, or None when there is none or it does not answer."""
    if program is None:
        return None
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)
    match = re.search(r"version (\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else None


def _path() -> str:
    """Return PATH with this environment's programs first."""
    return f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"


def gpu_variables(work: Path) -> dict[str, str]:
    """Return what a build with NCCL needs to know.

    Raises:
        SiteError: If the CUDA toolkit or the NCCL package cannot be found.
    """
    spec = find_spec("nvidia.nccl")
    if spec is None or not spec.submodule_search_locations:
        raise SiteError(f"NCCL's files were not found in this environment. Reinstall {' or '.join(NCCLS)}.")
    nccl = Path(next(iter(spec.submodule_search_locations)))
    # The package has libnccl.so.2 only; the linker asks for libnccl.so.
    home = work / "nccl"
    (home / "lib").mkdir(parents=True)
    (home / "include").symlink_to(nccl / "include")
    (home / "lib" / "libnccl.so").symlink_to(nccl / "lib" / "libnccl.so.2")
    nvcc = shutil.which("nvcc")
    cuda = (
        os.environ.get("CUDA_HOME")
        or os.environ.get("CUDA_PATH")
        or (str(Path(nvcc).resolve().parents[1]) if nvcc else None)
    )
    if cuda is None:
        raise SiteError(
            "A build with NCCL needs the CUDA toolkit, and neither CUDA_HOME nor nvcc on PATH says where it is. "
            "On a cluster: module load cuda"
        )
    variables = {"HOROVOD_NCCL_HOME": str(home), "HOROVOD_CUDA_HOME": cuda}
    wanted = os.environ.get("HOROVOD_BUILD_CUDA_CC_LIST") or _gpu_generations()
    if wanted:
        variables["HOROVOD_BUILD_CUDA_CC_LIST"] = wanted
    return variables


def _gpu_generations() -> str:
    """Return the compute capabilities of the GPUs here, as `80,90`, or an empty string."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    command = [program, "--query-gpu=compute_cap", "--format=csv,noheader"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return ",".join(sorted({line.strip().replace(".", "") for line in answer.stdout.splitlines() if line.strip()}))
