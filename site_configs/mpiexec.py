"""Finding the launcher of MPI programs, and asking it what it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from site_configs.launch import DIALECTS
from surrogate.core.errors import SiteError

_SELF_NAMES = {"openmpi": ("open mpi", "openrte", "prrte"), "mpich": ("hydra", "mpich", "intel(r) mpi")}


def find_mpiexec(program: str, site: str) -> str:
    """Return the absolute path of a site's launcher.

    The environment's own launcher is named by its path, never searched for: another MPI's mpiexec would start N
    programs that each believe to be alone.

    Args:
        program: `embedded`, an absolute path, or a name on PATH.
        site: Name of the site, for the sentence.

    Raises:
        SiteError: If there is no such program.
    """
    if program == "embedded":
        path = Path(sys.executable).parent / "mpiexec"
        if not os.access(path, os.X_OK):
            raise SiteError(
                f"Site '{site}' starts MPI programs with the mpiexec of this Python's own environment, and {path} is "
                "not there. Install one with: pip install 'surrogate-hpc[mpich]', or name another mpiexec in the site."
            )
        return str(path)
    found = shutil.which(program)
    if found is None:
        raise SiteError(
            f"Site '{site}' starts MPI programs with '{program}', and no such program was found. "
            "Load the module that brings it, or correct 'launcher.mpiexec' in the site."
        )
    return str(Path(found).absolute())


@lru_cache(maxsize=8)
def detect_dialect(mpiexec: str) -> str:
    """Return the dialect that a launcher says it speaks.

    Args:
        mpiexec: Absolute path of the launcher.

    Raises:
        SiteError: If it does not say.
    """
    try:
        answer = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30, check=False)
        text = (answer.stdout + answer.stderr).lower()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SiteError(f"The launcher {mpiexec} cannot be started: {error}.") from error
    for dialect, words in _SELF_NAMES.items():
        if any(word in text for word in words):
            return dialect
    raise SiteError(
        f"The launcher {mpiexec} does not say which MPI it belongs to. "
        f"Set 'launcher.dialect' in the site to one of: {', '.join(DIALECTS)}."
    )
