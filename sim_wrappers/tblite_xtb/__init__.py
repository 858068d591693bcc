"""Adapter of tblite: energies and forces of GFN2-xTB (and GFN1-xTB) in milliseconds.

For tests, for cheap ensembles, and as the lower level that a surrogate corrects. The adapter is loaded when `SIMULATOR`
is first asked for: the program, which lives in this package too, starts with every run.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of our own part: whatever changes a bit of the result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.tblite_xtb.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
