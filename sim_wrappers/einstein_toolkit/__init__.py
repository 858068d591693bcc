"""Numerical relativity with the Einstein Toolkit: parameter files, restarts, and waveforms from what Cactus leaves.

The executable is the user's own; nothing of it comes with this program.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of what is done with the code's output: whatever changes a bit of the result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.einstein_toolkit.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
