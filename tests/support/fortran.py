"""The Fortran compiler for MPI of this machine, for tests."""

from __future__ import annotations

import pytest

from surrogate.core.errors import ConfigError
from workflows.fortran_mpi import FortranMpi, find_fortran_mpi


def fortran_mpi() -> FortranMpi:
    """Return it, or skip the test with what to install."""
    try:
        return find_fortran_mpi()
    except ConfigError as error:
        pytest.skip(str(error))
