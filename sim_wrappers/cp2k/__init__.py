"""Adapter of CP2K: its input file and the parser of its output.

CP2K itself is not part of the tests: the writer and the parser were tested on small outputs made for the purpose.
T. D. Kühne et al. (2020), J. Chem. Phys. 152, 194103.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of our own part: whatever changes a result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.cp2k.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
