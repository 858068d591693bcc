"""Small files of molecules for tests: structures of GFN2-xTB with energies as large as those of all electrons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.structure import Structure
from surrogate.design.atoms import named_molecule
from surrogate.design.samplers import sampler
from surrogate.design.structures import StructureSet
from surrogate.design.xtb import energy_forces

CORES = {"H2O": -71.3, "CH4": -36.3}
"""Ha that lie between the energies of valence and of all electrons."""


@dataclass(frozen=True)
class Labelled:
    """Structures of one molecule: coordinates `[k, n, 3]` Å, energies `[k]` Ha, forces `[k, n, 3]` Ha/Å."""

    name: str
    species: NDArray[np.int64]
    coordinates: NDArray[np.float64]
    energies: NDArray[np.float64]
    forces: NDArray[np.float64]

    def structures(self) -> list[Structure]:
        """Return the structures."""
        return [Structure.of(self.species, places, name=self.name) for places in self.coordinates]


@lru_cache(maxsize=8)
def labelled(name: str = "H2O", count: int = 12) -> Labelled:
    """Return normal-mode displacements at 600 K."""
    space = StructureSet((named_molecule(name),))
    points = sampler("normal_modes", temperature=600.0).points(space, 0, count, seed=5)
    structures = [Structure.from_point(point) for point in points]
    labels = [energy_forces(structure) for structure in structures]
    return Labelled(
        name,
        structures[0].species,
        np.asarray([structure.coordinates for structure in structures]),
        np.asarray([energy + CORES[name] for energy, _ in labels]),
        np.asarray([forces for _, forces in labels]),
    )


def write_ani(path: Path, *, sign: float = -1.0, energy: float = 1.0, level: str | None = None) -> Path:
    """Write an HDF5 file as those of COMP6; `sign` −1 gives gradients."""
    symbols = {1: b"H", 6: b"C", 8: b"O"}
    with h5py.File(path, "w") as file:
        for name in CORES:
            data, group = labelled(name), file.create_group(f"set/{name}")
            group["species"] = np.asarray([symbols[number] for number in data.species.tolist()])
            group["coordinates"] = data.coordinates.astype(np.float32)
            group["energies"] = data.energies * energy
            group["forces"] = (data.forces * sign * energy).astype(np.float32)
            if level is not None:
                group["lot"] = np.asarray([level.encode()])
    return path


def write_rmd17(path: Path, *, sign: float = 1.0, rows: slice = slice(None)) -> Path:
    """Write an archive as those of revised MD17."""
    data, unit = labelled("CH4", 40), 627.5094740631
    np.savez(
        path,
        nuclear_charges=data.species.astype(np.uint8),
        coords=data.coordinates[rows],
        energies=data.energies[rows] * unit,
        forces=sign * data.forces[rows] * unit,
    )
    return path
