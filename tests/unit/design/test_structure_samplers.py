"""Samplers of structures: sequences go on, energies are those that were asked for, and what was made is kept."""

import numpy as np
import pytest

from surrogate.core.errors import DataError, IntegrityError, SpaceError
from surrogate.core.structure import Structure, problem
from surrogate.core.units import BOHR
from surrogate.design.atoms import named_molecule
from surrogate.design.kept_points import KeptPoints
from surrogate.design.normal_modes import KELVIN, WAVENUMBER, hessian, normal_modes, relaxed
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.samplers import choose, sampler
from surrogate.design.structure_samplers import masses
from surrogate.design.structures import StructureSet
from surrogate.design.xtb import energy_forces

SPACE = StructureSet((named_molecule("H2O"), named_molecule("NH3")))
STIFFNESS = 0.3  # Ha/bohr²


def springs(structure):
    """Return energy and forces of a harmonic pair at 1 Å, Ha and Ha/Å."""
    apart = structure.coordinates[1] - structure.coordinates[0]
    length = float(np.linalg.norm(apart))
    stretch = (length - 1.0) / BOHR
    pull = STIFFNESS * stretch / BOHR * apart / length
    return 0.5 * STIFFNESS * stretch**2, np.stack([pull, -pull])


def test_a_harmonic_pair_has_one_mode_of_the_right_frequency_and_energies_up_to_the_limit():
    pair = relaxed(Structure.of([1, 1], [[0, 0, 0], [0.3, 0.2, 1.1]], name="pair"), springs)
    assert np.linalg.norm(pair.coordinates[1] - pair.coordinates[0]) == pytest.approx(1.0, abs=1e-4)
    modes = normal_modes(pair, hessian(pair, springs), masses(pair))
    reduced = masses(pair)[0] / 2 * 1822.888486283
    assert modes.wavenumbers == pytest.approx([np.sqrt(STIFFNESS / reduced) * WAVENUMBER], rel=1e-4)
    rng = np.random.default_rng(0)
    energies = np.asarray([springs(modes.displaced(1000.0, rng))[0] for _ in range(300)])
    limit = 1.5 * 2 * 1000.0 * KELVIN
    assert energies.max() <= limit * 1.001
    # The share is uniform on [0, 1]: its mean is one half, with an error of 0.29/√300.
    assert energies.mean() / limit == pytest.approx(0.5, abs=0.07)


def test_a_saddle_point_is_told():
    flat = Structure.of([8, 1, 1], [[0, 0, 0], [0.94, 0, 0], [-0.94, 0, 0]], name="straight water")
    with pytest.raises(SpaceError, match="'straight water' is no minimum: its softest mode is imaginary"):
        normal_modes(flat, hessian(flat, energy_forces), masses(flat))


def test_normal_modes_continue_and_name_their_molecules():
    chooser = sampler("normal_modes", temperature=2000.0)
    points = chooser.points(SPACE, 0, 7, seed=3)
    assert chooser.points(SPACE, 4, 3, seed=3) == points[4:]
    assert chooser.points(SPACE, 0, 1, seed=4) != points[:1]
    assert chooser.groups(SPACE, 0, 3) == ["H2O", "NH3", "H2O"]
    assert all(SPACE.contains(point) for point in points)
    assert [len(point["species"]) for point in points[:3]] == [3, 4, 3]
    design = choose(chooser, SPACE, start=0, count=7, seed=3)
    assert design.groups == ("H2O", "NH3", "H2O", "NH3", "H2O", "NH3", "H2O")
    alone = StructureSet(SPACE.molecules, "structure")
    assert choose(chooser, alone, start=0, count=7, seed=3).groups == ()


def test_a_given_hessian_replaces_the_cheap_one(tmp_path):
    water = relaxed(named_molecule("H2O"), energy_forces)
    second = hessian(water, energy_forces)
    np.savez(tmp_path / "h2o.npz", species=water.species, coordinates=water.coordinates, hessian=4 * second)
    only = StructureSet((named_molecule("H2O"),))
    soft = sampler("normal_modes", temperature=500.0).points(only, 0, 1, seed=1)
    stiff = sampler("normal_modes", temperature=500.0, hessians=(tmp_path / "h2o.npz",)).points(only, 0, 1, seed=1)
    moved = [np.asarray(points[0]["coordinates"]) - water.coordinates for points in (soft, stiff)]
    # Twice the frequency, half the way.
    np.testing.assert_allclose(moved[1], moved[0] / 2, atol=2e-3)
    np.savez(tmp_path / "bad.npz", species=water.species, coordinates=water.coordinates, hessian=second[:3])
    with pytest.raises(DataError, match=r"the Hessian must be \[9, 9\]"):
        sampler("normal_modes", temperature=500.0, hessians=(tmp_path / "bad.npz",)).points(only, 0, 1, seed=1)


def test_rattles_have_their_width_and_impossible_ones_are_drawn_again():
    points = sampler("rattle", stdev=0.05).points(SPACE, 0, 200, seed=1)
    moves = [
        np.asarray(point["coordinates"]) - SPACE.molecules[place % 2].coordinates for place, point in enumerate(points)
    ]
    assert np.concatenate(moves).std() == pytest.approx(0.05, rel=0.1)
    wild = sampler("rattle", stdev=0.6).points(SPACE, 0, 50, seed=1)
    assert all(problem(Structure.from_point(point)) is None for point in wild)


def test_dynamics_continue_and_stay_warm():
    chooser = sampler("dynamics", temperature=300.0, spacing=5)
    points = chooser.points(SPACE, 0, 6, seed=2)
    assert chooser.points(SPACE, 4, 2, seed=2) == points[4:]
    assert all(SPACE.contains(point) for point in points)
    assert points[0] != points[2]


def test_frames_come_in_their_order_and_end():
    chooser = sampler("frames", structures=SPACE.molecules)
    assert chooser.length(SPACE) == 2
    assert chooser.points(SPACE, 1, 1, seed=9)[0]["species"] == [7, 1, 1, 1]
    with pytest.raises(SpaceError, match="2 structures; 2 from number 1"):
        chooser.points(SPACE, 1, 2, seed=9)


def test_samplers_of_structures_need_molecules():
    box = ParameterSpace((Parameter("x", 0.0, 1.0),))
    with pytest.raises(SpaceError, match="moves the atoms of molecules, and the inputs are of kind 'parameters'"):
        sampler("rattle", stdev=0.1).points(box, 0, 1, seed=1)
    with pytest.raises(SpaceError, match="names none"):
        sampler("rattle", stdev=0.1).length(StructureSet())
    with pytest.raises(SpaceError, match=r"sobol.*structures"):
        sampler("sobol").points(SPACE, 0, 1, seed=1)
    salt = StructureSet((Structure.of([11, 17], [[0, 0, 0], [2.8, 0, 0]], cell=np.eye(3) * 5.6),))
    with pytest.raises(SpaceError, match="has a cell"):
        sampler("normal_modes", temperature=10.0).points(salt, 0, 1, seed=1)


def test_kept_points_are_read_back_and_continued(tmp_path):
    inner = sampler("rattle", stdev=0.1)
    first = KeptPoints(inner, SPACE, ["rattle", 0.1], 1, tmp_path)
    points = first.points(SPACE, 0, 4, seed=1)
    first.save(tmp_path)
    written = (tmp_path / first.name).read_bytes()
    other = KeptPoints(sampler("rattle", stdev=0.2), SPACE, ["rattle", 0.1], 1, tmp_path)
    assert other.points(SPACE, 0, 3, seed=1) == points[:3], "they come from the file"
    other.save(tmp_path)
    assert (tmp_path / first.name).read_bytes() == written
    assert other.points(SPACE, 0, 5, seed=1)[:4] == points
    other.save(tmp_path)
    assert KeptPoints(inner, SPACE, ["rattle", 0.1], 1, tmp_path).points(SPACE, 0, 5, seed=1)[:4] == points
    assert KeptPoints(inner, SPACE, ["rattle", 0.1], 2, tmp_path).name != first.name
    (tmp_path / first.name).write_bytes(written[: len(written) // 2])
    with pytest.raises(IntegrityError, match="damaged"):
        KeptPoints(inner, SPACE, ["rattle", 0.1], 1, tmp_path)


def test_molecules_are_known_by_name():
    assert named_molecule("CH3CH2OH").name == "CH3CH2OH"
    assert named_molecule("O2").multiplicity == 3
    with pytest.raises(SpaceError, match=r"no molecule 'CH5'.*Did you mean"):
        named_molecule("CH5")
