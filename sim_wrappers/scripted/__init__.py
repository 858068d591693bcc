"""A simulator that does what it is told, failures included: for tests, demonstrations and trying out a site.

Its adapter is loaded when `SIMULATOR` is first asked for: the program, which lives in this package too, starts with
every run.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of the formulas: whatever changes a bit of the result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.scripted.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
