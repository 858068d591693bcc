"""A surrogate of molecules as a calculator of ASE: energies, forces, stress, and what to do outside of the domain."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from ase import units
from ase.calculators.calculator import Calculator, PropertyNotImplementedError, all_changes
from ase.stress import full_3x3_to_voigt_6_stress
from numpy.typing import NDArray

from surrogate.core.errors import ConfigError, DataError
from surrogate.core.molecules import ENERGY, FORCES, input_values, is_molecular
from surrogate.core.structure import Structure, problem
from surrogate.design.atoms import from_atoms
from surrogate.inference.predictor import Predictor
from surrogate.models.ani.potential import Potential
from surrogate.models.ani.stored import stored_potential
from surrogate.models.ani.transforms import AniTransforms
from surrogate.models.protocols import HasDomain


class OutsideDomainWarning(UserWarning):
    """A structure is unlike those that the potential was trained on."""


class SurrogateCalculator(Calculator):
    """Answers ASE by a surrogate, in eV and Å.

    `energy_std` among the results is the standard deviation between members, eV; `in_domain` whether the structure is
    like those that were trained on; `by_fallback` whether another calculator answered instead.

    Attributes:
        fallbacks: How often the other calculator was asked.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress", "energy_std"]  # noqa: RUF012 - ASE's own way

    def __init__(
        self,
        surrogate: Predictor | Path | str,
        *,
        outside: Literal["warn", "raise", "ignore"] | Calculator = "warn",
        precision: Literal["double", "single"] = "double",
        charge: int | None = None,
        multiplicity: int | None = None,
    ) -> None:
        """Load a surrogate.

        Args:
            surrogate: A loaded one, or the folder of its artifact.
            outside: What is done with a structure unlike those of the training: `warn`, `raise`, `ignore`, or another
                calculator that answers instead, for example one of density functional theory.
            precision: Of the features and networks of the family `ani`; the other families choose themselves.
            charge: Total charge; that in `atoms.info`, or 0, when None.
            multiplicity: 2S + 1; that in `atoms.info`, or the lowest possible, when None.

        Raises:
            ConfigError: If the surrogate is not one of molecules.
            IntegrityError: If its files are damaged.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self._predictor = surrogate if isinstance(surrogate, Predictor) else Predictor.load(surrogate)
        if not is_molecular(self._predictor.schema):
            names = ", ".join(column.name for column in self._predictor.schema.columns)
            raise ConfigError(f"ASE asks for energies of molecules, and this surrogate has the columns {names}.")
        self._outside, self._charge, self._multiplicity = outside, charge, multiplicity
        self._potential = _potential(self._predictor, np.float64 if precision == "double" else np.float32)
        self.fallbacks = 0

    def calculate(
        self, atoms: Any = None, properties: Sequence[str] = ("energy",), system_changes: Sequence[str] = all_changes
    ) -> None:
        """Put the answers for `atoms` into `results`.

        Raises:
            DataError: If the structure is impossible, has an element, charge or multiplicity that was not trained on,
                or is outside of the domain and `outside` is `raise`.
            PropertyNotImplementedError: If stress is asked of a molecule, or of a family that has none.
        """
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        structure = from_atoms(self.atoms, charge=self._charge, multiplicity=self._multiplicity)
        wrong = problem(structure)
        if wrong is not None:
            raise DataError(wrong)
        if "stress" in properties and not structure.periodic:
            raise PropertyNotImplementedError("A molecule in free space has no stress; give the atoms a cell and pbc.")
        self.results = self._answer(structure, properties)
        if self._outside == "ignore" or self._inside(structure):
            return
        self._beyond(properties)

    def _answer(self, structure: Structure, properties: Sequence[str]) -> dict[str, Any]:
        """Return energy eV, forces eV/Å, and stress eV/Å³ where it is asked for."""
        if self._potential is not None:
            return self._by_potential(self._potential, structure, stress="stress" in properties)
        if "stress" in properties:
            name = self._predictor.family.name
            raise PropertyNotImplementedError(f"The family '{name}' gives no stress; take one of the family 'ani'.")
        said = self._predictor.predict(input_values([structure]))
        energy = float(np.asarray(said.mean[ENERGY])[0]) * units.Hartree
        std = float(np.asarray(said.std[ENERGY])[0]) * units.Hartree
        results: dict[str, Any] = {"energy": energy, "free_energy": energy, "energy_std": std}
        if FORCES in said.mean:
            results["forces"] = np.asarray(said.mean[FORCES][0]) * units.Hartree
        return results

    def _by_potential(self, potential: Potential, structure: Structure, *, stress: bool) -> dict[str, Any]:
        """Return the answers of the family `ani`, without any runtime."""
        transforms = self._predictor.transforms
        if isinstance(transforms, AniTransforms):
            transforms.check_states(input_values([structure]))
        answer = potential.answer(
            structure.species,
            structure.coordinates,
            np.asarray([0, len(structure.species)]),
            [structure.cell] if structure.periodic else None,
            virials=stress,
        )
        energy = float(answer.energies[0]) * units.Hartree
        members: NDArray[np.float64] = answer.member_energies[:, 0] * units.Hartree
        results: dict[str, Any] = {
            "energy": energy,
            "free_energy": energy,
            "forces": answer.forces * units.Hartree,
            "energy_std": float(members.std(ddof=1)) if len(members) > 1 else 0.0,
        }
        if stress:
            volume = abs(float(np.linalg.det(structure.cell)))
            tensor = answer.virials[0] * (units.Hartree / volume)
            results["stress"] = full_3x3_to_voigt_6_stress(tensor)  # type: ignore[no-untyped-call]
        return results

    def _inside(self, structure: Structure) -> bool:
        """Return whether the structure is like those that were trained on."""
        family = self._predictor.family
        if not isinstance(family, HasDomain):
            return True
        std = {ENERGY: np.asarray([self.results["energy_std"] / units.Hartree])}
        inside = bool(family.knows(self._predictor.transforms, input_values([structure]), std)[0])
        self.results["in_domain"] = inside
        return inside

    def _beyond(self, properties: Sequence[str]) -> None:
        """Do what is to be done outside of the domain."""
        sentence = (
            "The structure is unlike those that the potential was trained on (energy "
            f"{self.results['energy']:.4f} ± {self.results['energy_std']:.4f} eV). "
        )
        if self._outside == "raise":
            raise DataError(f"{sentence}Label such structures and train on them, or let another calculator answer.")
        if isinstance(self._outside, Calculator):
            self.fallbacks += 1
            wanted = [name for name in dict.fromkeys(["energy", "forces", *properties]) if name != "energy_std"]
            for name in wanted:
                self.results[name] = self._outside.get_property(name, self.atoms)  # type: ignore[no-untyped-call]
            self.results["free_energy"] = self.results["energy"]
            self.results["by_fallback"] = True
            return
        warnings.warn(f"{sentence}Do not trust it.", OutsideDomainWarning, stacklevel=4)


def _potential(predictor: Predictor, dtype: Any) -> Potential | None:
    """Return the fast way to evaluate a surrogate of the family `ani`; None for other families."""
    transforms = predictor.transforms
    if not isinstance(transforms, AniTransforms):
        return None
    activation = predictor.artifact.record["options"]["activation"]
    return stored_potential(transforms, predictor.artifact.members("keras"), activation, dtype)
