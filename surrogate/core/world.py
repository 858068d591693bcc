"""The size of the MPI world that a launched program must find.

One MPI's launcher with another's library, or `srun` without the right `--mpi`, starts N programs that each believe to
be rank 0 of 1, and all of them write the same wrong answer. Whoever launches says how many ranks there are; every rank
compares.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from surrogate.core.errors import SiteError

WORLD_SIZE_VARIABLE = "SURROGATE_WORLD_SIZE"


def expected_world_size(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the number of ranks that were launched, or None when nobody said.

    Args:
        environment: Where the launcher said so.

    Raises:
        SiteError: If what is said is not a whole number of at least 1.
    """
    text = environment.get(WORLD_SIZE_VARIABLE)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise SiteError(f"{WORLD_SIZE_VARIABLE} must be a whole number of at least 1, and {text!r} was found.")
    return int(text)


def check_world_size(found: int, environment: Mapping[str, str] = os.environ) -> None:
    """Compare the world's size with what was launched.

    Args:
        found: `COMM_WORLD.size` of this rank.
        environment: Where the launcher said how many ranks there are; silence is accepted.

    Raises:
        SiteError: If they differ.
    """
    expected = expected_world_size(environment)
    if expected is not None and expected != found:
        raise SiteError(
            f"WORLD SIZE: {expected} ranks were launched, and this rank finds a world of {found}. The launcher and the "
            "MPI library do not belong together: use the mpiexec of the MPI that mpi4py was built with, or srun with "
            "the right --mpi."
        )
