"""Programs on real MPI ranks, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MPIEXEC = str(Path(sys.prefix) / "bin" / "mpiexec")
ROOT = Path(__file__).resolve().parents[2]


def run_ranks(ranks: int, arguments: Sequence[str], cwd: Path, timeout_s: float = 120) -> str:
    """Run `python -m mpi4py ARGUMENTS` on some ranks of this machine; return what they printed.

    Raises:
        AssertionError: If it does not end with 0.
    """
    line = [MPIEXEC, "-n", str(ranks), sys.executable, "-m", "mpi4py", *arguments]
    environment = {**os.environ, "SURROGATE_WORLD_SIZE": str(ranks), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        line, cwd=cwd, env=environment, timeout=timeout_s, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout
