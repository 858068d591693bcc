"""The program of a run: density functional theory of the structures in the current folder's input file.

A field that does not converge is tried again at once, harder each time: by the second-order solver from where it is
(Q. Sun, 2016, arXiv:1610.08423), then with shifted levels and more cycles, then by the second-order solver from there.
What is not converged then is a failure, never a result.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from sim_wrappers.molecular.batch import Result, compute_all
from surrogate.core.elements import symbol_of
from surrogate.core.errors import SimulationError
from surrogate.core.structure import Structure

LEVEL_SHIFT = 0.3
"""Ha by which unoccupied levels are lifted."""

_LONGER = 4


def engine(structure: Structure, case: Mapping[str, Any]) -> Result:
    """Compute one structure.

    Raises:
        SimulationError: If it has a cell, the basis lacks an element, or the field does not converge.
    """
    from pyscf import lib
    from pyscf.data.nist import BOHR

    if structure.periodic:
        raise SimulationError("It has a cell, and this adapter computes molecules in free space.", kind="not_physical")
    lib.num_threads(int(case["threads"]))
    options, remedies = case["options"], case["remedies"]
    molecule = _molecule(structure, options)
    cycles = int(options["max_cycle"]) * _LONGER ** len(remedies)
    field, used = _converged(molecule, options, cycles, shifted=bool(remedies))
    gradient = field.nuc_grad_method()
    if options["xc"] != "hf":
        gradient.grid_response = bool(options["grid_response"])
    slope = np.asarray(gradient.kernel(), dtype=np.float64)
    return Result(float(field.e_tot), -slope / BOHR, {"remedies": used, "cycles": int(getattr(field, "cycles", 0))})


def _molecule(structure: Structure, options: Mapping[str, Any]) -> Any:
    from pyscf import gto
    from pyscf.lib.exceptions import BasisNotFoundError

    atoms = [
        (symbol_of(int(number)), tuple(place))
        for number, place in zip(structure.species, structure.coordinates.tolist(), strict=True)
    ]
    try:
        return gto.M(
            atom=atoms,
            unit="Angstrom",
            basis=options["basis"],
            cart=bool(options["cart"]),
            charge=structure.charge,
            spin=structure.multiplicity - 1,
            max_memory=int(options["memory_mb"]),
            verbose=0,
        )
    except (BasisNotFoundError, KeyError) as error:
        raise SimulationError(
            f"The basis '{options['basis']}' does not have all of its elements: {error}.", kind="exit_status"
        ) from error


def _new_field(molecule: Any, options: Mapping[str, Any], cycles: int) -> Any:
    """Return a field that was not iterated yet; restricted where all electrons are paired."""
    from pyscf import dft, scf

    paired = molecule.spin == 0
    if options["xc"] == "hf":
        field = scf.RHF(molecule) if paired else scf.UHF(molecule)
    else:
        field = dft.RKS(molecule) if paired else dft.UKS(molecule)
        field.xc = options["xc"]
        field.grids.level = int(options["grid"])
    if options["density_fit"]:
        field = field.density_fit()
    field.conv_tol = float(options["conv_tol"])
    field.max_cycle = cycles
    field.chkfile = None
    return field


def _converged(molecule: Any, options: Mapping[str, Any], cycles: int, *, shifted: bool) -> tuple[Any, list[str]]:
    """Return a converged field and the remedies that it took.

    Raises:
        SimulationError: If nothing helps.
    """
    field = _new_field(molecule, options, cycles)
    used: list[str] = []
    if not shifted:
        field.kernel()
        if field.converged:
            return field, used
        used.append("second_order")
        if _second_order(field, cycles):
            return field, used
    used.append("level_shift")
    soft = _new_field(molecule, options, cycles * _LONGER)
    soft.level_shift = LEVEL_SHIFT
    soft.kernel(dm0=None if shifted else field.make_rdm1())
    field.mo_coeff, field.mo_occ, field.mo_energy = soft.mo_coeff, soft.mo_occ, soft.mo_energy
    used.append("second_order")
    if _second_order(field, cycles):
        return field, used
    raise SimulationError(
        f"It is not converged to {options['conv_tol']:g} Ha after {cycles} cycles, second-order solver, level shift "
        f"of {LEVEL_SHIFT} Ha and {cycles * _LONGER} more cycles.",
        kind="unconverged",
    )


def _second_order(field: Any, cycles: int) -> bool:
    """Iterate a field by the second-order solver from where it is; return whether it converged."""
    solver = field.newton()
    solver.max_cycle = cycles
    solver.kernel(field.mo_coeff, field.mo_occ)
    field.converged = bool(solver.converged)
    field.mo_coeff, field.mo_occ, field.mo_energy = solver.mo_coeff, solver.mo_occ, solver.mo_energy
    field.e_tot = solver.e_tot
    return bool(field.converged)


if __name__ == "__main__":
    sys.exit(compute_all(engine))
