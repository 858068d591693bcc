"""What is missing is named, with the command that brings it."""

import sys
from pathlib import Path

import pytest

from surrogate.core.errors import MissingExtraError, SiteError
from workflows import horovod_needs
from workflows.horovod_needs import cmake_version, gpu_variables, require_tools


def script(folder: Path, name: str, text: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A PATH that holds what is put there and nothing else."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(horovod_needs, "MODULES", ())
    return tmp_path / "bin"


def test_no_compiler(tools):
    with pytest.raises(SiteError, match=r"C\+\+17 compiler.*apt-get install g\+\+ make"):
        require_tools()


def test_no_make(tools):
    script(tools, "g++")
    with pytest.raises(SiteError, match="needs make"):
        require_tools()


def test_no_cmake(tools):
    script(tools, "g++")
    script(tools, "make")
    with pytest.raises(SiteError, match=r"CMake 3\.21 or newer, and none was found.*build-horovod"):
        require_tools()


def test_an_old_cmake(tools):
    script(tools, "g++")
    script(tools, "make")
    script(tools, "cmake", "echo cmake version 3.18.4")
    with pytest.raises(SiteError, match=r"found was 3\.18"):
        require_tools()


def test_all_there(tools):
    script(tools, "g++")
    script(tools, "make")
    script(tools, "cmake", "echo cmake version 3.31.10")
    require_tools()


def test_a_missing_package(monkeypatch):
    monkeypatch.setattr(horovod_needs, "MODULES", ("json", "a_module_that_nobody_made"))
    with pytest.raises(MissingExtraError, match=r"a_module_that_nobody_made.*surrogate-hpc\[build-horovod\]"):
        require_tools()


def test_cmake_version(tmp_path):
    assert cmake_version(None) is None
    assert cmake_version(str(script(tmp_path, "a", "echo cmake version 3.25.1"))) == (3, 25)
    assert cmake_version(str(script(tmp_path, "b", "echo hello"))) is None


@pytest.fixture
def nccl(tmp_path, monkeypatch):
    """An installed NCCL."""
    package = tmp_path / "nvidia" / "nccl"
    (package / "include").mkdir(parents=True)
    (package / "lib").mkdir()
    (package / "lib" / "libnccl.so.2").touch()
    spec = type("Spec", (), {"submodule_search_locations": [str(package)]})
    monkeypatch.setattr(horovod_needs, "find_spec", lambda _: spec)
    for name in ("CUDA_HOME", "CUDA_PATH", "HOROVOD_BUILD_CUDA_CC_LIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return package


def test_gpu_variables(nccl, tmp_path, monkeypatch):
    script(tmp_path / "bin", "nvidia-smi", "echo 9.0; echo 8.0; echo 9.0")
    monkeypatch.setenv("CUDA_HOME", "/cuda")
    (tmp_path / "work").mkdir()
    found = gpu_variables(tmp_path / "work")
    assert found["HOROVOD_CUDA_HOME"] == "/cuda"
    assert found["HOROVOD_BUILD_CUDA_CC_LIST"] == "80,90"
    home = Path(found["HOROVOD_NCCL_HOME"])
    assert (home / "lib" / "libnccl.so").resolve() == nccl / "lib" / "libnccl.so.2"
    assert (home / "include").resolve() == nccl / "include"


def test_the_toolkit_is_found_by_its_compiler(nccl, tmp_path):
    script(tmp_path / "toolkit" / "bin", "nvcc")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").symlink_to(tmp_path / "toolkit" / "bin" / "nvcc")
    (tmp_path / "work").mkdir()
    found = gpu_variables(tmp_path / "work")
    assert found["HOROVOD_CUDA_HOME"] == str(tmp_path / "toolkit")
    assert "HOROVOD_BUILD_CUDA_CC_LIST" not in found


def test_no_cuda_toolkit(nccl, tmp_path):
    (tmp_path / "work").mkdir()
    with pytest.raises(SiteError, match="module load cuda"):
        gpu_variables(tmp_path / "work")


def test_no_nccl(monkeypatch, tmp_path):
    monkeypatch.setattr(horovod_needs, "find_spec", lambda _: None)
    with pytest.raises(SiteError, match="NCCL's files were not found"):
        gpu_variables(tmp_path)
