"""What a build of Horovod depends on, and the environment it is built in; nothing here runs anything.

Horovod 0.28.1 is built on TensorFlow ≥ 2.16 by two additions to the compiler's search path: a header under the old name
of one that moved (`tensorflow/compiler/xla/client/xla_builder.h`), and two folders of TensorFlow's own third parties.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workflows.mpi_library import MpiLibrary

VERSION = "0.28.1"
SDIST = f"horovod-{VERSION}.tar.gz"
SDIST_SHA256 = "92a43f5a94c43907a56805bad15f19700c62ffc83b7ca483f9e104e229f67ef0"
SHIM_HEADER = Path("tensorflow/compiler/xla/client/xla_builder.h")
# What would change the build behind its key, or belongs to a `make` that called us.
DROPPED = (
    "HOROVOD_",
    "MAKE",
    "MFLAGS",
    "CMAKE_GENERATOR",
    "CMAKE_TOOLCHAIN",
    "PIP_REQUIRE",
    "PIP_CONSTRAINT",
    "PYTHONPATH",
)
MEMORY_PER_JOB = 3 * 1024**3 // 2


@dataclass(frozen=True)
class BuildPlan:
    """Everything that decides whether a built Horovod fits.

    Attributes:
        python: Tag of the interpreter, for example `cp311`.
        tensorflow: Version of TensorFlow.
        mpi: The MPI it is linked with.
        machine: For example `x86_64`.
        nccl: Version of NCCL and of its CUDA, for example `2.28.7.cu13`, or None for a build without GPUs.
    """

    python: str
    tensorflow: str
    mpi: MpiLibrary
    machine: str
    nccl: str | None = None

    @property
    def label(self) -> str:
        """The local part of the built version: what was built is told by its version alone (PEP 440)."""
        parts = [self.python, f"tf{self.tensorflow}", f"{self.mpi.name}{self.mpi.version}"]
        if not self.mpi.embedded:
            parts.append(hashlib.sha256(str(self.mpi.bin).encode()).hexdigest()[:8])
        if self.nccl:
            parts.append(f"nccl{self.nccl}")
        return ".".join(piece for part in parts for piece in re.split(r"[^a-z0-9]+", part.lower()) if piece)

    @property
    def version(self) -> str:
        """The version that the built distribution carries."""
        return f"{VERSION}+{self.label}"

    @property
    def key(self) -> str:
        """Name of the folder in the cache."""
        return f"{self.version}-{self.machine}"


def python_tag() -> str:
    """Return the tag of the running interpreter, for example `cp311`."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def machine() -> str:
    """Return the kind of processor, for example `x86_64`."""
    return platform.machine()


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where built wheels are kept: below $SURROGATE_CACHE, else $XDG_CACHE_HOME, else ~/.cache."""
    root = environment.get("SURROGATE_CACHE") or environment.get("XDG_CACHE_HOME")
    base = Path(root).expanduser() if root else Path(environment.get("HOME", "~")).expanduser() / ".cache"
    return base / "surrogate" / "horovod"


def shim_header(*, nccl: bool) -> str:
    """Return the text of the header that stands under the old name of XLA's builder.

    Args:
        nccl: The GPU operations name `xla::StatusOr`, too, which is `absl::StatusOr` today.
    """
    alias = "namespace xla {\ntemplate <typename T>\nusing StatusOr = absl::StatusOr<T>;\n}  // namespace xla\n"
    return '#pragma once\n#include "absl/status/statusor.h"\n#include "xla/hlo/builder/xla_builder.h"\n' + (
        alias if nccl else ""
    )


def toolchain_file(*, nccl: bool) -> str:
    """Return a CMake toolchain file by which the library finds MPI (and NCCL) relative to itself.

    CMake would write the absolute folder of this environment into it, and the wheel would be good for no other.
    From `lib/pythonX.Y/site-packages/horovod/tensorflow` the environment's `lib` is four folders up.
    """
    folders = ["$ORIGIN/../../../.."]
    if nccl:
        folders.append("$ORIGIN/../../nvidia/nccl/lib")
    return f'set(CMAKE_BUILD_WITH_INSTALL_RPATH TRUE)\nset(CMAKE_INSTALL_RPATH "{";".join(folders)}")\n'


def parallel_jobs(cores: int, memory: int) -> int:
    """Return how many compilers run at once: one a core, and at least 1.5 GiB of memory for each."""
    return max(1, min(cores, memory // MEMORY_PER_JOB))


def build_environment(
    base: Mapping[str, str],
    plan: BuildPlan,
    *,
    tensorflow: Path,
    work: Path,
    bin_folder: Path,
    jobs: int,
    gpu: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment variables of the build.

    Args:
        base: The caller's environment.
        plan: What is built.
        tensorflow: Folder of the installed TensorFlow.
        work: Temporary folder that holds `shim/` and, for an embedded MPI, `toolchain.cmake`.
        bin_folder: Folder of this environment's programs; it comes first on PATH, the MPI's second.
        jobs: Compilers at once.
        gpu: Further variables of a GPU build: HOROVOD_NCCL_HOME, HOROVOD_CUDA_HOME, HOROVOD_BUILD_CUDA_CC_LIST.
    """
    environment = {name: value for name, value in base.items() if not name.startswith(DROPPED)}
    external = tensorflow / "include" / "external"
    headers = [work / "shim", external / "farmhash_archive" / "src", external / "highwayhash"]
    environment.update(
        {
            "HOROVOD_WITH_TENSORFLOW": "1",
            "HOROVOD_WITHOUT_PYTORCH": "1",
            "HOROVOD_WITHOUT_MXNET": "1",
            "HOROVOD_WITH_MPI": "1",
            "HOROVOD_WITH_GLOO": "1",
            "HOROVOD_LOCAL_VERSION": plan.label,
            "CPLUS_INCLUDE_PATH": _joined([*map(str, headers), base.get("CPLUS_INCLUDE_PATH", "")]),
            "PATH": _joined([str(bin_folder), str(plan.mpi.bin), base.get("PATH", "")]),
            "MAKEFLAGS": f"-j{jobs}",
            "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TMPDIR": str(work),
        }
    )
    if plan.mpi.embedded:
        environment["CMAKE_TOOLCHAIN_FILE"] = str(work / "toolchain.cmake")
    if plan.nccl:
        environment["HOROVOD_GPU_OPERATIONS"] = "NCCL"
        environment.update(gpu or {})
    return environment


def _joined(folders: list[str]) -> str:
    """Join folders as PATH does, without empty ones: an empty one would mean the current folder."""
    return os.pathsep.join(folder for folder in folders if folder)
