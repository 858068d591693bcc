"""A potential with random weights: forces, invariances, padding, cells, committees, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.structure import Structure
from surrogate.models.ani import potential as module
from tests.support.atoms import ALL, AMMONIA, HYDROGEN, METHANE, WATER, ask, random_potential, rattled

POTENTIAL = random_potential()
MOLECULES = [rattled(entry, seed) for seed, entry in enumerate(ALL)]


def numeric_forces(potential, structure, step=1e-5):
    forces = np.zeros_like(structure.coordinates)
    for atom, axis in np.ndindex(*forces.shape):
        move = np.zeros_like(forces)
        move[atom, axis] = step
        ends = [structure.moved(structure.coordinates + sign * move) for sign in (1, -1)]
        up, down = ask(potential, ends, forces=False).energies
        forces[atom, axis] = -(up - down) / (2 * step)
    return forces


@pytest.mark.parametrize(("activation", "hidden"), [("celu", (7, 5)), ("silu", (6, 5, 4)), ("celu", (8,))])
def test_forces_are_minus_the_gradient(activation, hidden):
    potential = random_potential(activation=activation, hidden=hidden)
    for structure in MOLECULES:
        np.testing.assert_allclose(ask(potential, [structure]).forces, numeric_forces(potential, structure), atol=2e-8)


def test_order_place_and_direction_of_a_molecule_do_not_matter():
    structure = MOLECULES[2]
    energy, forces = ask(POTENTIAL, [structure]).energies[0], ask(POTENTIAL, [structure]).forces
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    order = np.array([2, 0, 3, 1])
    other = Structure.of(structure.species[order], structure.coordinates[order] @ turn + [7.0, -3.0, 1.0])
    answer = ask(POTENTIAL, [other])
    assert answer.energies[0] == pytest.approx(energy, abs=1e-12)
    np.testing.assert_allclose(answer.forces, forces[order] @ turn, atol=1e-12)
    np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-12)


def test_neighbours_in_a_batch_do_not_leak(monkeypatch):
    """A molecule alone, and among others of other sizes and elements, has the same energy and forces."""
    alone = [ask(POTENTIAL, [structure]) for structure in MOLECULES]
    for atoms in (512, 5):
        monkeypatch.setattr(module, "ATOMS_AT_ONCE", atoms)
        together = ask(POTENTIAL, MOLECULES)
        np.testing.assert_allclose(together.energies, [one.energies[0] for one in alone], atol=1e-12, rtol=0)
        np.testing.assert_allclose(together.forces, np.concatenate([one.forces for one in alone]), atol=1e-12)


def test_molecules_far_apart_do_not_feel_each_other():
    pair = Structure.of(
        np.concatenate([WATER.species, METHANE.species]), np.concatenate([WATER.coordinates, METHANE.coordinates + 50])
    )
    assert ask(POTENTIAL, [pair]).energies[0] == pytest.approx(
        ask(POTENTIAL, [WATER, METHANE]).energies.sum(), abs=1e-12
    )


def test_a_lone_atom_has_an_energy_and_no_force():
    answer = ask(POTENTIAL, [Structure.of([6], [[0.0, 0, 0]])])
    assert np.isfinite(answer.energies).all()
    np.testing.assert_array_equal(answer.forces, 0)


def periodic(structure, cell):
    return Structure.of(structure.species, structure.coordinates, cell=cell)


CELL = np.array([[4.3, 0, 0], [0.6, 4.9, 0], [-0.4, 0.8, 5.2]])


def test_a_supercell_has_as_many_times_the_energy_and_the_same_forces():
    one = periodic(rattled(AMMONIA, 3), CELL)
    shifts = [np.array([i, j, k]) @ CELL for i in range(2) for j in range(2) for k in range(1)]
    large = Structure.of(
        np.tile(one.species, 4),
        np.concatenate([one.coordinates + shift for shift in shifts]),
        cell=CELL * np.array([[2], [2], [1]]),
    )
    small, big = ask(POTENTIAL, [one]), ask(POTENTIAL, [large])
    assert big.energies[0] == pytest.approx(4 * small.energies[0], abs=1e-10)
    np.testing.assert_allclose(big.forces, np.tile(small.forces, (4, 1)), atol=1e-10)
    np.testing.assert_allclose(small.forces, numeric_forces(POTENTIAL, one), atol=2e-8)


def test_wrapping_an_atom_changes_nothing_and_a_large_cell_is_free_space():
    one = periodic(WATER, CELL)
    moved = one.coordinates.copy()
    moved[1] += CELL[0] - 2 * CELL[2]
    assert ask(POTENTIAL, [one.moved(moved)]).energies[0] == pytest.approx(ask(POTENTIAL, [one]).energies[0], abs=1e-10)
    wide = periodic(WATER, 40 * np.eye(3))
    assert ask(POTENTIAL, [wide]).energies[0] == pytest.approx(ask(POTENTIAL, [WATER]).energies[0], abs=1e-12)


def test_the_virial_is_the_change_with_strain():
    structure = periodic(rattled(METHANE, 1), CELL)
    virial = ask(POTENTIAL, [structure], virials=True).virials[0]
    numeric = np.zeros((3, 3))
    for a, b in np.ndindex(3, 3):
        ends = []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[a, b] += sign * 1e-5
            ends.append(Structure.of(structure.species, structure.coordinates @ strain, cell=structure.cell @ strain))
        up, down = ask(POTENTIAL, ends, forces=False).energies
        numeric[a, b] = (up - down) / 2e-5
    np.testing.assert_allclose(virial, numeric, atol=1e-7)
    np.testing.assert_allclose(virial, virial.T, atol=1e-10)


def test_members_answer_alone_as_in_the_committee():
    answer = ask(POTENTIAL, MOLECULES)
    assert answer.member_energies.shape == (2, 4)
    np.testing.assert_allclose(answer.member_energies.mean(axis=0), answer.energies)
    assert np.ptp(answer.member_energies, axis=0).max() > 1e-3


def test_single_precision_is_close_and_total_energies_keep_their_digits():
    rounded = ask(random_potential(dtype=np.float32), MOLECULES)
    exact = ask(POTENTIAL, MOLECULES)
    np.testing.assert_allclose(rounded.energies, exact.energies, atol=3e-6, rtol=0)
    np.testing.assert_allclose(rounded.forces, exact.forces, atol=2e-5)


def test_what_is_no_structure_is_refused():
    with pytest.raises(DataError, match="coincide"):
        ask(POTENTIAL, [HYDROGEN.moved(np.array([[0, 0, 0], [0, 0, 0.1]]))])
    with pytest.raises(DataError, match="no atoms"):
        POTENTIAL.answer(np.zeros(0, int), np.zeros((0, 3)), np.array([0, 0]))
    with pytest.raises(DataError, match="atom of Cl"):
        ask(POTENTIAL, [Structure.of([17, 1], HYDROGEN.coordinates)])
