"""Normal modes of a molecule, and displacements along them at a temperature.

The displacements are those of the ANI-1 data set: J. S. Smith, O. Isayev, A. E. Roitberg (2017), Sci. Data 4, 170193,
and Chem. Sci. 8, 3192, section 2.2: an energy of at most 3/2 n kT is split at random among the modes, and each mode is
displaced to where its harmonic energy is its share, to a random side. Here the shares are uniform on the simplex, and
their sum is uniform on [0, 1], so that structures near the minimum are as frequent as hot ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SpaceError
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR

Floats = NDArray[np.float64]
Engine = Callable[[Structure], tuple[float, Floats]]
"""Gives the energy, Ha, and the forces, `[n, 3]` Ha/Å, of a structure."""

KELVIN = 3.166811563455546e-06
"""kT in Ha at one Kelvin (CODATA 2022)."""

WAVENUMBER = 219474.63136314
"""One Ha in cm⁻¹ (CODATA 2022)."""

_ELECTRON_MASSES = 1822.888486283
"""One atomic mass unit in electron masses (CODATA 2022)."""

SOFTEST = 50.0
"""Modes below this many cm⁻¹ are displaced as if they were this stiff: a harmonic mode goes far where it is softer."""

_STEP = 0.005  # Å: the error of central differences, of second order, stays below the noise of the forces
_FLAT = 1e-4  # smallest singular value of a rotation that is one; a linear molecule has one that is none
_TIGHT = 1e-5  # Ha/Å


@dataclass(frozen=True, slots=True, eq=False)
class NormalModes:
    """The vibrations of a molecule around a minimum.

    Attributes:
        reference: The minimum.
        wavenumbers: `[k]` float64, cm⁻¹, rising; k = 3n − 6, or 3n − 5 when linear.
        displacements: `[k, n, 3]` float64: Å that the atoms move where the mass-weighted coordinate of the mode is one
            atomic unit.
    """

    reference: Structure
    wavenumbers: Floats
    displacements: Floats

    def displaced(self, temperature: float, rng: np.random.Generator) -> Structure:
        """Return the molecule with energy in its modes.

        Args:
            temperature: In K; the largest harmonic energy is 3/2 n kT.
            rng: Where randomness comes from.
        """
        count, atoms = len(self.wavenumbers), len(self.reference.species)
        if count == 0:
            return self.reference
        shares = rng.dirichlet(np.ones(count)) * rng.uniform()
        sides = rng.choice((-1.0, 1.0), size=count)
        energies = 1.5 * atoms * temperature * KELVIN * shares
        stiffness = (np.maximum(self.wavenumbers, SOFTEST) / WAVENUMBER) ** 2
        coordinates = sides * np.sqrt(2.0 * energies / stiffness)
        moves = np.einsum("k,kij->ij", coordinates, self.displacements)
        return self.reference.moved(self.reference.coordinates + moves)


def relaxed(structure: Structure, engine: Engine, steps: int = 500) -> Structure:
    """Return the nearest minimum; a cell stays as it is.

    Raises:
        SpaceError: If there is none within so many steps.
        SimulationError: If the engine fails.
    """
    from scipy import optimize

    shape = structure.coordinates.shape

    def value_and_slope(flat: Floats) -> tuple[float, Floats]:
        energy, forces = engine(structure.moved(flat.reshape(shape)))
        return energy, -forces.ravel()

    if len(structure.species) == 1:
        return structure
    found = optimize.minimize(
        value_and_slope,
        structure.coordinates.ravel(),
        jac=True,
        method="BFGS",
        options={"gtol": _TIGHT, "maxiter": steps},
    )
    slope = float(np.abs(np.asarray(found.jac)).max())
    if slope > 20 * _TIGHT:
        raise SpaceError(
            f"'{structure.name}' was not brought to a minimum: after {found.nit} steps a force of {slope:.2g} Ha/Å is "
            "left. Start from a better structure, or give a Hessian."
        )
    return structure.moved(np.asarray(found.x, dtype=np.float64).reshape(shape))


def hessian(structure: Structure, engine: Engine) -> Floats:
    """Return the second derivatives of the energy, `[3n, 3n]` float64 Ha/bohr², by central differences of forces.

    Raises:
        SimulationError: If the engine fails.
    """
    size = structure.coordinates.size
    rows = np.empty((size, size))
    for place in range(size):
        step = np.zeros(size)
        step[place] = _STEP
        ahead, behind = (
            engine(structure.moved(structure.coordinates + side * step.reshape(-1, 3)))[1] for side in (1.0, -1.0)
        )
        rows[place] = -(ahead - behind).ravel() / (2.0 * _STEP)
    return 0.5 * (rows + rows.T) * BOHR**2


def normal_modes(structure: Structure, second: Floats, masses: Floats) -> NormalModes:
    """Return the modes of a Hessian; translations and rotations are taken out.

    Args:
        structure: The minimum.
        second: `[3n, 3n]` Ha/bohr².
        masses: `[n]` atomic mass units.

    Raises:
        SpaceError: If a mode is imaginary: the structure is no minimum.
    """
    weights = np.repeat(1.0 / np.sqrt(masses * _ELECTRON_MASSES), 3)
    weighted = second * np.outer(weights, weights)
    inner = _vibrations(structure.coordinates, masses)
    curvatures, vectors = np.linalg.eigh(inner.T @ weighted @ inner)
    if len(curvatures) and curvatures[0] < -((20.0 / WAVENUMBER) ** 2):
        imaginary = np.sqrt(-curvatures[0]) * WAVENUMBER
        raise SpaceError(
            f"'{structure.name}' is no minimum: its softest mode is imaginary ({imaginary:.0f}i cm⁻¹). Let it be "
            "relaxed, start from another structure, or give the Hessian of a minimum."
        )
    moves = (inner @ vectors) * weights[:, None] * BOHR
    wavenumbers = np.sqrt(np.maximum(curvatures, 0.0)) * WAVENUMBER
    return NormalModes(structure, wavenumbers, moves.T.reshape(len(wavenumbers), -1, 3))


def _vibrations(coordinates: Floats, masses: Floats) -> Floats:
    """Return an orthonormal basis of mass-weighted motions that neither shift nor turn the molecule, `[3n, k]`."""
    roots = np.sqrt(masses)
    centred = coordinates - np.average(coordinates, axis=0, weights=masses)
    shifts = [np.outer(roots, axis).ravel() for axis in np.eye(3)]
    turns = [(np.cross(axis, centred) * roots[:, None]).ravel() for axis in np.eye(3)]
    outer, sizes, _ = np.linalg.svd(np.stack([*shifts, *turns], axis=1), full_matrices=True)
    rigid = int((sizes > _FLAT * sizes[0]).sum())
    return np.asarray(outer[:, rigid:], dtype=np.float64)
