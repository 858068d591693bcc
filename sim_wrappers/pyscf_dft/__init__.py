"""Adapter of PySCF: energies and forces of molecules by density functional theory or Hartree–Fock.

Q. Sun et al. (2020), J. Chem. Phys. 153, 024109. The folder's name leaves `import pyscf` to PySCF. The adapter is
loaded when `SIMULATOR` is first asked for: the program, which lives in this package too, starts with every run.
"""

from __future__ import annotations

from typing import Any

VERSION = "1.0"
"""Version of our own part: whatever changes a bit of the result changes it."""


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.pyscf_dft.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
