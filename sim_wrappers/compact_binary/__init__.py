"""Waveforms of compact binaries by the effective-one-body (EOB) method, through lalsimulation.

EOB integrates the motion of a test body in an effective metric that is calibrated to numerical relativity; it is not
numerical relativity itself. The adapter is loaded when `SIMULATOR` is first asked for: the program, which lives in this
package too, starts with every run and pays for every import.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of what is done with lalsimulation's waveforms: whatever changes a bit of the result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.compact_binary.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
