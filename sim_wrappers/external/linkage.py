"""Which MPI a program was built with, as its shared libraries tell.

One MPI's launcher with another's library starts N programs that each believe to be alone, and all of them write the
same wrong answer. The library's name tells the family: Open MPI's is libmpi.so.20 and above, that of MPICH and of those
who share its binary interface (Intel MPI, MVAPICH, Cray) is libmpi.so.12 or libmpich.so.12.
"""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

from surrogate.core.errors import ConfigError

_LIBRARY = re.compile(r"^\s*(libmpi(?:ch)?(?:_mpifh|fort|chfort)?)\.so\.(\d+)", re.MULTILINE)
_FIRST_OPENMPI = 20
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
_PATIENCE_S = 30


def family_of(libraries: str) -> tuple[str, str] | None:
    """Return (family, library) from the libraries that a program is linked with, or None when they do not tell.

    Args:
        libraries: What `ldd` prints.
    """
    for name, number in _LIBRARY.findall(libraries):
        return ("openmpi" if int(number) >= _FIRST_OPENMPI else "mpich"), f"{name}.so.{number}"
    return None


@lru_cache(maxsize=16)
def linked_libraries(program: Path) -> str:
    """Return what `ldd` prints of a program; empty for a script, a static program, or where there is no ldd."""
    try:
        answer = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout if answer.returncode == 0 else ""


def check_launcher(program: Path, dialect: str, mpiexec: str) -> None:
    """Refuse to start a program by the launcher of another MPI than its own.

    Args:
        program: Absolute path.
        dialect: The launcher's dialect; only `mpich` and `openmpi` tell a family.
        mpiexec: Path of the launcher.

    Raises:
        ConfigError: If the two do not belong together.
    """
    found = family_of(linked_libraries(program))
    if found is None or dialect not in _NAMES or found[0] == dialect:
        return
    family, library = found
    raise ConfigError(
        f"The program {program} is linked with {_NAMES[family]} ({library}), and {mpiexec}, which is to start it, "
        f"belongs to {_NAMES[dialect]}: each rank would believe to be alone. Put a site file beside the campaign that "
        "names the program's own launcher under [roles.simulate.launcher], for example "
        f'mpiexec = "/usr/bin/mpiexec.{family}", and give it with --site.'
    )
