"""Buckley–Leverett displacement in one dimension, with a finite-volume MPI solver of our own.

The adapter is loaded when `SIMULATOR` is first asked for: the solver, which lives in this package too, starts with
every run and pays for every import.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of the numerics: whatever changes a bit of the result changes it."""

OUTPUT_CELLS = 256
"""Cells of the output, however many the solver uses."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.buckley_leverett.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
