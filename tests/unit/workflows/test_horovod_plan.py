"""The key of a build changes with everything that matters, and its environment leaks nothing."""

import dataclasses
from pathlib import Path

import pytest
from packaging.version import Version

from workflows.horovod_plan import (
    BuildPlan,
    build_environment,
    cache_folder,
    parallel_jobs,
    shim_header,
    toolchain_file,
)
from workflows.mpi_library import MpiLibrary

MPICH = MpiLibrary("mpich", "5.0.2", Path("/env/bin"), embedded=True)
PLAN = BuildPlan("cp311", "2.21.0", MPICH, "x86_64")
GIB = 1024**3


def environment(base=None, plan=PLAN, **more):
    return build_environment(
        base or {}, plan, tensorflow=Path("/tf"), work=Path("/opt"), bin_folder=Path("/env/bin"), jobs=2, **more
    )


def test_the_version_tells_what_was_built():
    assert PLAN.version == "0.28.1+cp311.tf2.21.0.mpich5.0.2"
    assert PLAN.key == "0.28.1+cp311.tf2.21.0.mpich5.0.2-x86_64"


@pytest.mark.parametrize(
    "change",
    [
        {"python": "cp312"},
        {"tensorflow": "2.21.1"},
        {"mpi": dataclasses.replace(MPICH, version="5.0.3")},
        {"mpi": dataclasses.replace(MPICH, name="openmpi")},
        {"mpi": dataclasses.replace(MPICH, embedded=False)},
        {"machine": "aarch64"},
        {"nccl": "2.28.7.cu13"},
    ],
)
def test_every_part_changes_the_key(change):
    assert dataclasses.replace(PLAN, **change).key != PLAN.key


def test_two_site_installations_of_one_version_differ():
    one = dataclasses.replace(PLAN, mpi=MpiLibrary("openmpi", "4.1.6", Path("/opt/a/bin"), embedded=False))
    other = dataclasses.replace(PLAN, mpi=MpiLibrary("openmpi", "4.1.6", Path("/opt/b/bin"), embedded=False))
    assert one.version != other.version


def test_an_embedded_mpi_is_good_for_any_folder():
    moved = dataclasses.replace(PLAN, mpi=dataclasses.replace(MPICH, bin=Path("/elsewhere/bin")))
    assert moved.key == PLAN.key


@pytest.mark.parametrize("version", ["2.21.0rc1", "2.22.0.dev20260101", "2.21.0+nv25.1"])
def test_the_label_is_a_valid_local_version(version):
    plan = dataclasses.replace(PLAN, tensorflow=version, nccl="2.28.7.cu13")
    assert str(Version(plan.version)) == plan.version


def test_cache_folder():
    assert cache_folder({"SURROGATE_CACHE": "/c", "XDG_CACHE_HOME": "/x"}) == Path("/c/surrogate/horovod")
    assert cache_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/surrogate/horovod")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/surrogate/horovod")


def test_the_shim():
    plain, gpu = shim_header(nccl=False), shim_header(nccl=True)
    assert '#include "xla/hlo/builder/xla_builder.h"' in plain
    assert "StatusOr =" not in plain
    assert "using StatusOr = absl::StatusOr<T>;" in gpu


def test_the_library_finds_mpi_relative_to_itself():
    assert '"$ORIGIN/../../../.."' in toolchain_file(nccl=False)
    assert "nvidia/nccl/lib" in toolchain_file(nccl=True)


def test_build_environment():
    found = environment({"PATH": "/usr/bin", "CPLUS_INCLUDE_PATH": "/mine", "HOME": "/h"})
    assert found["PATH"] == "/env/bin:/env/bin:/usr/bin"
    assert found["CPLUS_INCLUDE_PATH"].split(":") == [
        "/opt/shim",
        "/tf/include/external/farmhash_archive/src",
        "/tf/include/external/highwayhash",
        "/mine",
    ]
    assert found["HOROVOD_WITH_TENSORFLOW"] == found["HOROVOD_WITH_MPI"] == "1"
    assert found["HOROVOD_LOCAL_VERSION"] == "cp311.tf2.21.0.mpich5.0.2"
    assert found["CMAKE_TOOLCHAIN_FILE"] == "/opt/toolchain.cmake"
    assert found["HOME"] == "/h"


def test_no_empty_folder_enters_a_path():
    assert "" not in environment()["CPLUS_INCLUDE_PATH"].split(":")
    assert "" not in environment()["PATH"].split(":")


def test_what_the_caller_set_cannot_change_the_build():
    base = {"HOROVOD_WITHOUT_MPI": "1", "MAKEFLAGS": "--jobserver", "MAKELEVEL": "1", "PYTHONPATH": "/x"}
    found = environment({**base, "PIP_REQUIRE_HASHES": "1", "CMAKE_PREFIX_PATH": "/kept"})
    assert not {"HOROVOD_WITHOUT_MPI", "MAKELEVEL", "PYTHONPATH", "PIP_REQUIRE_HASHES"} & set(found)
    assert found["MAKEFLAGS"] == "-j2"
    assert found["CMAKE_PREFIX_PATH"] == "/kept"


def test_gpu_variables_enter_a_gpu_build_only():
    gpu = {"HOROVOD_CUDA_HOME": "/cuda"}
    assert "HOROVOD_CUDA_HOME" not in environment(gpu=gpu)
    found = environment(plan=dataclasses.replace(PLAN, nccl="2"), gpu=gpu)
    assert found["HOROVOD_CUDA_HOME"] == "/cuda"
    assert found["HOROVOD_GPU_OPERATIONS"] == "NCCL"


def test_a_sites_mpi_keeps_its_own_place():
    site = dataclasses.replace(MPICH, embedded=False, bin=Path("/opt/mpi/bin"))
    found = environment(plan=dataclasses.replace(PLAN, mpi=site))
    assert "CMAKE_TOOLCHAIN_FILE" not in found
    assert found["PATH"].split(":") == ["/env/bin", "/opt/mpi/bin"]


@pytest.mark.parametrize(
    ("cores", "memory", "expected"), [(2, 24 * GIB, 2), (64, 6 * GIB, 4), (1, GIB, 1), (4, GIB // 2, 1)]
)
def test_parallel_jobs(cores, memory, expected):
    assert parallel_jobs(cores, memory) == expected
