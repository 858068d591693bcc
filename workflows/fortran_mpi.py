"""The MPI that Fortran programs can be built with on this machine, and the mpiexec that belongs to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import ConfigError

COMPILERS = ("mpif90", "mpifort", "mpif90.openmpi", "mpif90.mpich")
INSTALL = (
    "Install one, on Debian and Ubuntu with: apt-get install gfortran libopenmpi-dev openmpi-bin make; on a cluster "
    "load the module of its MPI. Then give the command again."
)


@dataclass(frozen=True, slots=True)
class FortranMpi:
    """A compiler for Fortran over MPI.

    Attributes:
        compiler: Absolute path of its compiler wrapper.
        mpiexec: Absolute path of the launcher of the same MPI.
    """

    compiler: Path
    mpiexec: Path


def find_fortran_mpi(path: str | None = None) -> FortranMpi:
    """Return the first compiler wrapper whose launcher is there, too.

    The two must be of one MPI: a program that is started by another's launcher runs as many programs that each believe
    to be alone. So the launcher is looked for beside the compiler, and by its name where several MPIs share a folder.

    Args:
        path: Folders to look in, as PATH has them; the PATH of this process when None.

    Raises:
        ConfigError: If there is none, with what to install.
    """
    alone = None
    for compiler in _compilers(path):
        found = _with_launcher(compiler)
        if found is not None:
            return found
        alone = alone or compiler
    if alone is not None:
        raise ConfigError(f"{alone} builds programs over MPI, and there is no mpiexec beside it. {INSTALL}")
    raise ConfigError(f"No Fortran compiler for MPI ({', '.join(COMPILERS)}) was found. {INSTALL}")


def _compilers(path: str | None) -> Iterator[Path]:
    for name in COMPILERS:
        found = shutil.which(name, path=path)
        if found is not None:
            yield Path(found).absolute()


def _with_launcher(compiler: Path) -> FortranMpi | None:
    """Return a compiler wrapper with the launcher beside it, of the same MPI where the names tell which that is."""
    places = list(_links(compiler))
    for place in places:
        if place.suffix:
            launcher = place.with_name(f"mpiexec{place.suffix}")
            return FortranMpi(place, launcher) if os.access(launcher, os.X_OK) else None
    launchers = [place.with_name(name) for place in places for name in ("mpiexec", "mpirun")]
    return next((FortranMpi(compiler, launcher) for launcher in launchers if os.access(launcher, os.X_OK)), None)


def _links(path: Path) -> Iterator[Path]:
    """Yield a path and what its links lead to, step by step."""
    yield path
    for _ in range(8):
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path
