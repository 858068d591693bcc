"""Adapter of NWChem: density functional theory over MPI.

E. Aprà et al. (2020), J. Chem. Phys. 152, 184102. At the same level of theory PySCF is its independent answer.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of our own part: whatever changes a result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.nwchem.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
