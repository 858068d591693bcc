"""GFN-xTB energies and forces by tblite, in milliseconds: for Hessians, dynamics, and cheap ensembles.

C. Bannwarth, S. Ehlert, S. Grimme (2019), J. Chem. Theory Comput. 15, 1652 (GFN2-xTB); S. Grimme, C. Bannwarth,
P. Shushkov (2017), ibid. 13, 1989 (GFN1-xTB).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import MissingExtraError, SimulationError
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR

METHODS = ("GFN2-xTB", "GFN1-xTB", "IPEA1-xTB")

ACCURACY = 0.01
"""Of tblite's own unit: the charges are converged to 1e-8, so that differences of forces make a smooth Hessian."""


def load() -> Any:
    """Return tblite's interface.

    Raises:
        MissingExtraError: If it is not installed.
    """
    try:
        from tblite import interface
    except ImportError as error:
        raise MissingExtraError("GFN2-xTB (tblite)", "molecules") from error
    return interface


def energy_forces(
    structure: Structure, method: str = "GFN2-xTB", *, accuracy: float = ACCURACY, cycles: int = 250
) -> tuple[float, NDArray[np.float64]]:
    """Return the energy, Ha, and the forces (minus the gradient), `[n, 3]` float64 Ha/Å.

    Args:
        structure: Atoms, charge and multiplicity; a cell is periodic in all directions.
        method: One of `METHODS`.
        accuracy: How well the charges are converged; smaller is better.
        cycles: Iterations of the charges at most.

    Raises:
        MissingExtraError: If tblite is not installed.
        SimulationError: If the charges do not converge, or tblite refuses; with its kind.
    """
    interface = load()
    periodic = {"lattice": structure.cell / BOHR, "periodic": np.ones(3, dtype=bool)} if structure.periodic else {}
    try:
        calculator = interface.Calculator(
            method,
            np.asarray(structure.species),
            structure.coordinates / BOHR,
            charge=float(structure.charge),
            uhf=structure.multiplicity - 1,
            **periodic,
        )
        for name, value in (("verbosity", 0), ("accuracy", accuracy), ("max-iter", cycles)):
            calculator.set(name, value)
        result = calculator.singlepoint()
        return float(result.get("energy")), -np.asarray(result.get("gradient"), dtype=np.float64) / BOHR
    except (RuntimeError, ValueError) as error:  # tblite's own errors are kinds of these
        told = " ".join(str(error).split())
        kind = "unconverged" if "converge" in told.lower() or "iteration" in told.lower() else "exit_status"
        raise SimulationError(f"{method} failed: {told}.", kind=kind) from error
