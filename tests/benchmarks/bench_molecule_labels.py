"""The labels of our own codes: PySCF against published ones and finite differences, NWChem against PySCF."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sim_wrappers.molecular.batch import Result
from sim_wrappers.nwchem.adapter import SIMULATOR as NWCHEM
from sim_wrappers.pyscf_dft.options import complete_options
from sim_wrappers.pyscf_dft.program import engine
from site_configs.resources import ResourceRequest
from surrogate.core.elements import atomic_number
from surrogate.core.outcome import Failure
from surrogate.core.structure import Structure
from surrogate.core.units import conversion_factor
from surrogate.data.run_file import read_run_file
from surrogate.design.structures import StructureSet
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.benchmarks.potentials import data_file
from tests.support.executions import request_for, run

KCAL = conversion_factor("hartree", "kcal/mol")
ANI_1 = ((0, 0), (0, 2700), (1, 900), (2, 300), (2, 1799))
"""Molecule (CH4, NH3, H2O) and number of the conformer."""

S66X8 = (("mol00", 2), ("mol58", 3), ("mol50", 4), ("mol01", 2), ("mol07", 5))
"""Dimer and number of the distance: five of the smallest."""

STEP = 2e-3  # Å

HOW = """
Each structure is computed as the simulator `pyscf` does it, at ωB97X/6-31G(d) with Cartesian functions, grid level 3,
one thread. Labels: five conformers of ANI-1 (energies), five dimers of S66x8 (COMP6; energies, and gradients that its
file calls forces). Finite differences: central, 0.002 Å, of all nine coordinates of a water molecule, the forces
following the grid (`grid_response`). NWChem 7.0.2 and PySCF: a water molecule and the hydroxide ion at PBE/6-31G(d),
Cartesian, with NWChem's grid `xfine` and PySCF's level 6.
""".strip()


def main() -> None:
    """Measure and publish."""
    on = form.machine()
    begun = time.monotonic()
    ani = [_ani(molecule, row) for molecule, row in ANI_1]
    s66 = [_s66x8(dimer, row) for dimer, row in S66X8]
    differences = _finite_differences()
    energy, force = _nwchem()
    figures = {
        "ani1_max_kcal_mol": Figure(max(ani), "kcal/mol", "largest |ΔE| of five structures of ANI-1"),
        "ani1_kcal_mol": Figure([round(value, 5) for value in ani], "kcal/mol", "|ΔE| of each"),
        "s66x8_max_kcal_mol": Figure(max(e for e, _ in s66), "kcal/mol", "largest |ΔE| of five structures of S66x8"),
        "s66x8_kcal_mol": Figure([round(e, 5) for e, _ in s66], "kcal/mol", "|ΔE| of each"),
        "s66x8_force_max_ha_A": Figure(max(f for _, f in s66), "Ha/Å", "largest |ΔF| of a component of these"),
        "finite_difference_max_ha_A": Figure(differences, "Ha/Å", "largest |F − finite difference|"),
        "nwchem_energy_max_ha": Figure(energy, "Ha", "largest |ΔE| of NWChem from PySCF"),
        "nwchem_force_max_ha_A": Figure(force, "Ha/Å", "largest |ΔF| of a component of NWChem from PySCF"),
        "seconds": Figure(round(time.monotonic() - begun, 1), "s", "all of it"),
    }
    form.publish(
        "molecule-labels",
        "Labels of PySCF and NWChem",
        figures,
        how=HOW,
        target="0.01 kcal/mol from published labels, NWChem within 1e-5 Ha of PySCF",
        distributions=("pyscf", "numpy"),
        on=on,
    )


def _case(**options: Any) -> dict[str, Any]:
    return {"options": complete_options(options), "remedies": [], "threads": 1}


def _ani(molecule: int, row: int) -> float:
    progress(f"ANI-1, molecule {molecule}, conformer {row}")
    with h5py.File(data_file("ani_gdb_s01.h5")) as file:
        group = file[f"gdb11_s01/gdb11_s01-{molecule}"]
        found = engine(Structure.of(_species(group), group["coordinates"][row]), _case())
        return float(abs(found.energy - group["energies"][row]) * KCAL)


def _s66x8(dimer: str, row: int) -> tuple[float, float]:
    progress(f"S66x8, {dimer}, distance {row}")
    with h5py.File(data_file("s66x8_wb97x6-31gd.h5")) as file:
        group = file[f"s66x8/{dimer}"]
        found = engine(Structure.of(_species(group), group["coordinates"][row]), _case())
        force = np.abs(found.forces + np.asarray(group["forces"][row], dtype=np.float64)).max()
        return float(abs(found.energy - group["energies"][row]) * KCAL), float(force)


def _species(group: h5py.Group) -> list[int]:
    return [atomic_number(symbol.decode()) for symbol in group["species"][()]]


def _water() -> Structure:
    return Structure.of([8, 1, 1], [[0.01, 0, 0.119], [0, 0.77, -0.45], [0, -0.763, -0.477]])


def _finite_differences() -> float:
    progress("finite differences")
    water, case = _water(), _case(grid_response=True)
    forces, worst = engine(water, case).forces, 0.0
    for atom, axis in np.ndindex(3, 3):
        move = np.zeros((3, 3))
        move[atom, axis] = STEP
        ahead, behind = (engine(water.moved(water.coordinates + side * move), case).energy for side in (1, -1))
        worst = max(worst, abs(float(forces[atom, axis]) + (ahead - behind) / (2 * STEP)))
    return worst


def _nwchem() -> tuple[float, float]:
    progress("NWChem")
    structures = [_water(), Structure.of([8, 1], [[0, 0, 0], [0.1, 0.2, 0.95]], charge=-1)]
    points = [structure.point() for structure in structures]
    inputs = {name: [point[name] for point in points] for name in points[0]}
    options = {"xc": "pbe", "basis": "6-31g*", "grid": "xfine", "conv_tol": 1e-9}
    request = request_for(NWCHEM, inputs, options, resources=ResourceRequest(walltime_s=3600))
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), request, space=StructureSet())
        if isinstance(outcome, Failure):
            raise SystemExit(outcome.message)
        columns = read_run_file(Path(folder) / outcome.path).columns
    theirs = [engine(structure, _case(xc="pbe", grid=6, conv_tol=1e-10)) for structure in structures]
    return _largest(columns, theirs)


def _largest(columns: dict[str, Any], theirs: list[Result]) -> tuple[float, float]:
    energy = max(abs(float(columns["energy"][row]) - other.energy) for row, other in enumerate(theirs))
    force = max(float(np.abs(columns["forces"][row] - other.forces).max()) for row, other in enumerate(theirs))
    return energy, force


if __name__ == "__main__":
    main()
