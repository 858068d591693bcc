"""The ASE calculator: units, stress, cells, and what happens outside of the domain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms, units
from ase.calculators.calculator import PropertyNotImplementedError
from ase.calculators.emt import EMT
from ase.md.verlet import VelocityVerlet
from ase.optimize import BFGS
from ase.vibrations import Vibrations

from surrogate.core.errors import ConfigError, DataError
from surrogate.core.molecules import molecule_schema
from surrogate.design.atoms import to_atoms
from surrogate.inference import ase_calculator as module
from surrogate.inference.ase_calculator import OutsideDomainWarning, SurrogateCalculator
from surrogate.inference.predictor import Predictor
from surrogate.models.ani.family import FAMILY
from surrogate.models.ani.reach import Reach
from surrogate.models.ani.transforms import AniTransforms
from tests.support.atoms import AMMONIA, FUNCTIONS, METHANE, WATER, ask, random_potential, rattled

POTENTIAL = random_potential(members=3)
TRANSFORMS = AniTransforms(
    schema=molecule_schema(),
    functions=FUNCTIONS,
    columns=(np.arange(FUNCTIONS.length),) * 4,
    scales=(np.ones(FUNCTIONS.length),) * 4,
    self_energies=np.zeros(4),
    unit=1.0,
    states=((0, 1),),
    forces=True,
    energy_weight=1.0,
    force_weight=0.1,
    level_of_theory="",
    reach=Reach((), ()),
)


class Stub(Predictor):
    """A loaded surrogate whose networks are the random potential."""

    def __init__(self, transforms=TRANSFORMS):
        self._transforms, self._family = transforms, FAMILY

    @property
    def schema(self):
        return self._transforms.schema


@pytest.fixture(autouse=True)
def _random_networks(monkeypatch):
    monkeypatch.setattr(module, "_potential", lambda predictor, dtype: POTENTIAL)


def distrustful() -> Stub:
    """Return a surrogate that trusts itself nowhere: any disagreement is too much."""
    return Stub(replace(TRANSFORMS, reach=Reach((), (), 0.0)))


def atoms_of(structure):
    atoms = to_atoms(structure)
    atoms.calc = SurrogateCalculator(Stub())
    return atoms


def test_answers_are_in_electronvolts():
    structure = rattled(METHANE, 0)
    answer, atoms = ask(POTENTIAL, [structure]), atoms_of(structure)
    assert atoms.get_potential_energy() == pytest.approx(answer.energies[0] * units.Hartree)
    np.testing.assert_allclose(atoms.get_forces(), answer.forces * units.Hartree)
    spread = answer.member_energies[:, 0].std(ddof=1) * units.Hartree
    assert atoms.calc.results["energy_std"] == pytest.approx(spread)


def test_stress_is_the_change_with_strain_over_the_volume():
    cell = np.array([[4.3, 0, 0], [0.6, 4.9, 0], [-0.4, 0.8, 5.2]])
    atoms = Atoms(numbers=AMMONIA.species, positions=AMMONIA.coordinates, cell=cell, pbc=True)
    atoms.calc = SurrogateCalculator(Stub())
    for place, (a, b) in enumerate([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]):
        energies = []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[a, b] += 0.5 * sign * 1e-4
            strain[b, a] += 0.5 * sign * 1e-4
            strained = atoms.copy()
            strained.set_cell(cell @ strain, scale_atoms=True)
            strained.calc = SurrogateCalculator(Stub())
            energies.append(strained.get_potential_energy())
        numeric = (energies[0] - energies[1]) / (2e-4 * atoms.get_volume())
        assert atoms.get_stress()[place] == pytest.approx(numeric, abs=1e-6)


def test_a_molecule_has_no_stress_and_a_slab_is_refused():
    atoms = atoms_of(WATER)
    with pytest.raises(PropertyNotImplementedError, match="free space"):
        atoms.calc.get_property("stress", atoms)
    atoms.pbc = [True, True, False]
    with pytest.raises(DataError):
        atoms.get_potential_energy()


def test_coincident_atoms_unknown_elements_and_charges_are_refused():
    atoms = atoms_of(WATER)
    atoms.positions[1] = atoms.positions[0]
    with pytest.raises(DataError, match="coincide"):
        atoms.get_potential_energy()
    salt = Atoms("NaCl", positions=[[0, 0, 0], [0, 0, 2.4]], calculator=SurrogateCalculator(Stub()))
    with pytest.raises(DataError, match="atom of Na"):
        salt.get_potential_energy()
    ion = to_atoms(WATER)
    ion.calc = SurrogateCalculator(Stub(), charge=1)
    with pytest.raises(DataError, match=r"charge \+1"):
        ion.get_potential_energy()


def test_outside_of_the_domain_it_warns_raises_or_asks_another():
    atoms = to_atoms(rattled(WATER, 1))
    atoms.calc = SurrogateCalculator(distrustful())
    with pytest.warns(OutsideDomainWarning, match="unlike those"):
        atoms.get_potential_energy()
    atoms.calc = SurrogateCalculator(distrustful(), outside="raise")
    with pytest.raises(DataError, match="unlike those"):
        atoms.get_potential_energy()
    other = SurrogateCalculator(distrustful(), outside=EMT())
    atoms.calc = other
    reference = to_atoms(rattled(WATER, 1))
    reference.calc = EMT()
    assert atoms.get_potential_energy() == pytest.approx(reference.get_potential_energy())
    np.testing.assert_allclose(atoms.get_forces(), reference.get_forces())
    assert (other.fallbacks, other.results["by_fallback"]) == (1, True)


def test_a_surrogate_of_something_else_is_refused():
    from tests.support.fields import SCHEMA

    with pytest.raises(ConfigError, match="energies of molecules"):
        SurrogateCalculator(Stub(replace(TRANSFORMS, schema=SCHEMA)))


def test_dynamics_keep_the_energy():
    atoms = atoms_of(METHANE)
    widths = np.sqrt(atoms.get_masses() * units.kB * 300)[:, None]
    atoms.set_momenta(widths * np.random.default_rng(0).normal(size=(len(atoms), 3)))
    begin = atoms.get_total_energy()
    drift = []
    run = VelocityVerlet(atoms, 0.2 * units.fs)
    run.attach(lambda: drift.append(abs(atoms.get_total_energy() - begin)))
    run.run(60)
    assert max(drift) < 0.02 * 300 * units.kB * len(atoms)


def test_relaxation_and_vibrations_run(tmp_path):
    atoms = atoms_of(rattled(WATER, 2))
    start = atoms.get_potential_energy()
    BFGS(atoms, logfile=None).run(fmax=0.3, steps=10)
    assert atoms.get_potential_energy() <= start
    vibrations = Vibrations(atoms, name=str(tmp_path / "vib"))
    vibrations.run()
    assert len(vibrations.get_frequencies()) == 9
