"""Adapter of ORCA: its input file and the parser of its output.

ORCA itself is not part of the tests: the writer and the parser were tested on small outputs made for the purpose.
F. Neese (2022), WIREs Comput. Mol. Sci. 12, e1606.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of our own part: whatever changes a result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.orca.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
