"""Build Horovod for this Python, TensorFlow and MPI once, keep the wheel, install it.

pip's own cache of built wheels knows the source archive only and would hand out a Horovod that was linked with another
TensorFlow or MPI; so the wheel is kept in a cache of our own under a name made of all of them (`horovod_plan`).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import psutil

from surrogate.core.errors import IntegrityError, MissingExtraError, SiteError, SurrogateError
from surrogate.core.files import atomic_path, sha256_file
from workflows import horovod_plan as plans
from workflows.horovod_needs import NCCLS, gpu_variables, require_tools
from workflows.horovod_plan import BuildPlan
from workflows.logged_run import LoggedError, Report, first_error, run_logged
from workflows.mpi_library import find_mpi, installed_version

TENSORFLOWS = ("tensorflow-cpu", "tensorflow")


def make_plan(*, nccl: bool = False) -> BuildPlan:
    """Find out what Horovod is to be built against.

    Raises:
        MissingExtraError: If TensorFlow is not installed.
        SiteError: If there is no MPI, or for NCCL no NCCL or no TensorFlow with GPUs.
    """
    version = next((found for name in TENSORFLOWS if (found := installed_version(name))), None)
    if version is None or find_spec("tensorflow") is None:
        raise MissingExtraError("Horovod is built against TensorFlow; building it", "train")
    if nccl and installed_version("tensorflow-cpu"):
        # It would compile and link, and miss TensorFlow's GPU functors when it is loaded.
        raise SiteError(
            "A build with NCCL was asked for, and this environment has tensorflow-cpu. Use an environment with "
            f"tensorflow=={version} in its place."
        )
    nccl_version = next((f"{found}.{name[-4:]}" for name in NCCLS if (found := installed_version(name))), None)
    if nccl and nccl_version is None:
        raise SiteError(
            "A build with NCCL was asked for, and NCCL is not installed in this environment. "
            f"Install the one for your CUDA: pip install {' or '.join(NCCLS)}"
        )
    return BuildPlan(plans.python_tag(), version, find_mpi(), plans.machine(), nccl_version if nccl else None)


def build_horovod(nccl: bool = False, offline: Path | None = None, report: Report = print) -> Path:
    """Install Horovod into this environment, built for it if the cache holds no fitting wheel.

    Args:
        nccl: Build the GPU operations with NCCL.
        offline: A folder that holds the source archive; nothing is fetched then.
        report: Takes one line of progress.

    Returns:
        The wheel in the cache that is installed now.

    Raises:
        SurrogateError: A sentence that says what is missing, or what failed and where its log is.
    """
    plan = make_plan(nccl=nccl)
    folder = plans.cache_folder() / plan.key
    folder.mkdir(parents=True, exist_ok=True)
    with _only_one(folder / "lock", report):
        wheel = cached_wheel(folder)
        if wheel is None:
            require_tools()
            wheel = _build(plan, folder, offline, report)
        if installed_version("horovod") != plan.version:
            _install(wheel, folder)
            report(f"Horovod {plan.version} is installed.")
    return wheel


def cached_wheel(folder: Path) -> Path | None:
    """Return the wheel in a folder of the cache, or None; a damaged one is removed."""
    for wheel in sorted(folder.glob("horovod-*.whl")):
        try:
            check_wheel(wheel)
        except IntegrityError:
            wheel.unlink()
        else:
            return wheel
    return None


def check_wheel(wheel: Path) -> None:
    """Refuse a file that is not a Horovod with its compiled TensorFlow library.

    Raises:
        IntegrityError: If the archive is damaged or lacks the library.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            damaged = archive.testzip()
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError) as error:
        raise IntegrityError(f"The wheel {wheel} is damaged: {error}.") from error
    if damaged is not None:
        raise IntegrityError(f"The wheel {wheel} is damaged at {damaged}.")
    if not any(re.fullmatch(r"horovod/tensorflow/mpi_lib\..*so", name) for name in names):
        raise IntegrityError(f"The wheel {wheel} lacks Horovod's library for TensorFlow.")


@contextlib.contextmanager
def _only_one(lock: Path, report: Report) -> Iterator[None]:
    """Let one process at a time into the block; the others wait, and find the wheel."""
    with lock.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("Another process is building the same Horovod; waiting for it …")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(plan: BuildPlan, folder: Path, offline: Path | None, report: Report) -> Path:
    """Build the wheel in a temporary folder and move it into the cache."""
    log = folder / "build.log"
    spec = find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("Building Horovod", "train")
    with tempfile.TemporaryDirectory(prefix="horovod-build-", ignore_cleanup_errors=True) as temporary:
        work = Path(temporary)
        _write_helpers(work, nccl=plan.nccl is not None)
        environment = plans.build_environment(
            os.environ,
            plan,
            tensorflow=Path(next(iter(spec.submodule_search_locations))),
            work=work,
            bin_folder=Path(sys.prefix) / "bin",
            jobs=plans.parallel_jobs(len(os.sched_getaffinity(0)), psutil.virtual_memory().total),
            gpu=gpu_variables(work) if plan.nccl else None,
        )
        report(f"Building Horovod {plan.version}: about four minutes on two cores, once. Log: {log}")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        with log.open("w") as output:
            archive = _source(pip, work, offline, environment, log)
            command = [*pip, "wheel", "--verbose", "--no-deps", "--no-index", "--no-build-isolation"]
            command += ["--no-cache-dir", "--wheel-dir", str(work / "out"), str(archive)]
            code = run_logged(command, environment, output.fileno(), report)
        wheels = list((work / "out").glob("horovod-*.whl"))
        if code != 0 or len(wheels) != 1:
            raise LoggedError(f"Building Horovod failed: {first_error(log.read_text(errors='replace'))}", log)
        target = folder / wheels[0].name
        with atomic_path(target, check=check_wheel) as beside:
            shutil.copyfile(wheels[0], beside)
    return target


def _write_helpers(work: Path, *, nccl: bool) -> None:
    """Write the header and the toolchain file that the build environment names."""
    header = work / "shim" / plans.SHIM_HEADER
    header.parent.mkdir(parents=True)
    header.write_text(plans.shim_header(nccl=nccl))
    (work / "toolchain.cmake").write_text(plans.toolchain_file(nccl=nccl))


def _source(pip: list[str], work: Path, offline: Path | None, environment: Mapping[str, str], log: Path) -> Path:
    """Return the source archive, fetched or from `offline`, with the right hash.

    Raises:
        SiteError: If it cannot be had.
        IntegrityError: If its bytes are not those that were locked.
    """
    if offline is not None:
        archive = offline / plans.SDIST
        if not archive.is_file():
            raise SiteError(
                f"The folder {offline} was given as --offline and does not hold {plans.SDIST}. Where there is a "
                f"network: pip download --no-deps --no-binary horovod --no-build-isolation horovod=={plans.VERSION}"
            )
    else:
        archive = work / "source" / plans.SDIST
        command = [*pip, "download", "--no-deps", "--no-binary", "horovod", "--no-build-isolation", "--no-cache-dir"]
        command += ["--dest", str(archive.parent), f"horovod=={plans.VERSION}"]
        plain = {name: value for name, value in environment.items() if name != "HOROVOD_LOCAL_VERSION"}
        with log.open("a") as output:
            code = run_logged(command, plain, output.fileno(), lambda _: None)
        if code != 0 or not archive.is_file():
            raise LoggedError(
                "Horovod's source archive could not be fetched. Without a network, copy it into a folder and say: "
                "surrogate build-horovod --offline FOLDER.",
                log,
            )
    found = sha256_file(archive)
    if found != plans.SDIST_SHA256:
        raise IntegrityError(
            f"The source archive {archive} is not the one that was locked: its SHA-256 is {found}, and "
            f"{plans.SDIST_SHA256} was expected."
        )
    return archive


def _install(wheel: Path, folder: Path) -> None:
    """Install the wheel in place of any other Horovod."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-index"]
    command += ["--no-deps", "--force-reinstall", "--no-warn-script-location", str(wheel)]
    log = folder / "install.log"
    with log.open("w") as output:
        code = run_logged(command, os.environ, output.fileno(), lambda _: None)
    if code != 0:
        raise LoggedError(f"Installing {wheel} failed: {first_error(log.read_text(errors='replace'))}", log)


def main(arguments: list[str] | None = None) -> int:
    """Run as `python -m workflows.horovod_build`, which the Makefile does; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m workflows.horovod_build", description=build_horovod.__doc__)
    parser.add_argument("--nccl", action="store_true", help="build the GPU operations with NCCL")
    parser.add_argument("--offline", type=Path, metavar="WHEELHOUSE", help="folder that holds the source archive")
    options = parser.parse_args(arguments)
    try:
        build_horovod(options.nccl, options.offline, lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201
    except SurrogateError as error:
        log = getattr(error, "log", None)
        print(f"{error}" + (f" The log is {log}." if log else ""), file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted; nothing was installed. Run it again to build Horovod.", file=sys.stderr)  # noqa: T201
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
