"""Molecular data by `surrogate ingest`: assumptions are stated and checked, gradients turned, the rest refused."""

import h5py
import numpy as np
import pytest

from surrogate.core.errors import ConfigError, DataError
from surrogate.core.molecules import structures_of
from surrogate.data.dataset import Dataset
from surrogate.design.xyz import write_frames
from tests.support.molecule_files import labelled, write_ani, write_rmd17
from workflows.config import load_campaign
from workflows.ingest.ingest import ingest
from workflows.ingest.layout import load_layout

CAMPAIGN = """
schema_version = 1
name = "molecules"
[data]
[gate]
metrics = { energy_rmse_median = { max = 1.0 } }
"""
BY_STRUCTURE = CAMPAIGN + '[space]\nkind = "structures"\ngroup = "structure"\n'


class Told:
    """Keeps what a person is told."""

    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)

    def stage(self, name, total=0):
        pass

    def update(self, done, note=""):
        pass


def take(tmp_path, path, form, *options, campaign=CAMPAIGN):
    (tmp_path / "campaign.toml").write_text(campaign)
    told = Told()
    layout = load_layout(None, form, options)
    result = ingest(tmp_path / "w", [path], layout, campaign=load_campaign(tmp_path / "campaign.toml"), progress=told)
    return result, " ".join(told.said)


def table(tmp_path):
    return Dataset.open(tmp_path / "w" / "dataset").load_all()


def forces_of(found):
    """Return the forces of water in the order of the structures' first coordinate."""
    rows = [row for row, group in enumerate(found.groups) if group.endswith("H2O")]
    return sorted((found.columns["coordinates"][row][0, 2], found.columns["forces"][row]) for row in rows)


@pytest.mark.parametrize(("sign", "word"), [(-1.0, "GRADIENTS"), (1.0, "minus the gradient")])
def test_ani_files_of_either_sign_give_the_same_forces(tmp_path, sign, word):
    result, said = take(tmp_path, write_ani(tmp_path / "c.h5", sign=sign, level="PBE/x"), "ani")
    assert result.samples == 24
    assert word in said
    assert "energies in hartree (assumed, and the numbers agree)" in said
    assert "'PBE/x' (as the file says)" in said
    found = table(tmp_path)
    assert set(found.groups) == {"set/CH4", "set/H2O"}
    assert set(found.columns["level_of_theory"].tolist()) == {"PBE/x"}
    water = labelled("H2O")
    for structure, forces in zip(structures_of(found.columns), found.columns["forces"], strict=True):
        if structure.name == "H2O":
            place = np.abs(water.coordinates - structure.coordinates).max(axis=(1, 2)).argmin()
            np.testing.assert_allclose(forces, water.forces[place], atol=1e-6)


def test_energies_alone_are_taken_and_structures_divided_as_asked(tmp_path):
    path = write_ani(tmp_path / "c.h5")
    with h5py.File(path, "a") as file:
        for name in ("H2O", "CH4"):
            del file[f"set/{name}/forces"]
    _, said = take(tmp_path, path, "ani", campaign=BY_STRUCTURE)
    assert "There are no forces." in said
    assert "'wb97x/6-31g(d) cartesian' (assumed)" in said
    found = table(tmp_path)
    assert "forces" not in found.columns
    assert set(found.groups) == {""}


def test_units_in_the_file_are_honoured(tmp_path):
    path = write_ani(tmp_path / "c.h5", energy=27.211386245988)
    with pytest.raises(DataError, match=r"energy is hartree in files of this format.*look like eV.*energy_unit = 'eV'"):
        take(tmp_path, path, "ani")
    with h5py.File(path, "a") as file:
        for name in ("H2O", "CH4"):
            file[f"set/{name}/energies"].attrs["units"] = "eV"
    _, said = take(tmp_path, path, "ani")
    assert "energies in eV (as the file says, and the numbers agree)" in said
    assert table(tmp_path).columns["energy"].min() == pytest.approx(labelled("H2O").energies.min(), abs=1e-6)


def test_rmd17_archives_are_turned_into_our_units(tmp_path):
    result, said = take(tmp_path, write_rmd17(tmp_path / "m.npz"), "rmd17")
    assert result.samples == 40
    assert "energies in kcal/mol (assumed, and the numbers agree)" in said
    found, methane = table(tmp_path), labelled("CH4", 40)
    np.testing.assert_allclose(np.sort(found.columns["energy"]), np.sort(methane.energies), atol=1e-9)
    assert set(found.groups) == {"CH4"}
    assert np.abs(found.columns["forces"].data).max() == pytest.approx(np.abs(methane.forces).max())
    again, _ = take(tmp_path, tmp_path / "m.npz", "rmd17")
    assert (again.tally.taken, again.tally.known) == (0, 40)


def test_extxyz_of_our_own_says_everything_and_others_are_told_by_their_numbers(tmp_path):
    water = labelled("H2O")
    write_frames(
        tmp_path / "own.xyz",
        water.structures(),
        water.energies,
        list(water.forces),
        [{"level_of_theory": "PBE/x"}] * 12,
    )
    _, said = take(tmp_path, tmp_path / "own.xyz", "extxyz")
    assert "hartree (as the file says, and the numbers agree)" in said
    assert "'PBE/x' (as the file says)" in said
    lines = []
    for places, energy, forces in zip(
        water.coordinates, water.energies * 27.211386, water.forces * 27.211386, strict=True
    ):
        lines += ["3", f"Properties=species:S:1:pos:R:3:forces:R:3 energy={float(energy)!r}"]
        lines += [
            " ".join([symbol, *map(repr, [*place.tolist(), *force.tolist()])])
            for symbol, place, force in zip("OHH", places, forces, strict=True)
        ]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ase.xyz").write_text("\n".join(lines) + "\n")
    _, said = take(tmp_path / "other", tmp_path / "other" / "ase.xyz", "extxyz")
    assert "energies in eV (told by the numbers)" in said
    np.testing.assert_allclose(
        np.sort(table(tmp_path / "other").columns["energy"]), np.sort(table(tmp_path).columns["energy"]), atol=1e-6
    )


def _few(path):
    return write_rmd17(path / "few.npz", rows=slice(3)), "rmd17"


def _valence(path):
    water = labelled("H2O")
    write_frames(path / "v.xyz", water.structures(), water.energies + 71.3)
    text = (path / "v.xyz").read_text().replace("energy_unit=hartree", "")
    (path / "v.xyz").write_text(text)
    return path / "v.xyz", "extxyz"


def _no_units(path):
    """Valence energies in an HDF5 file without any unit."""
    with h5py.File(write_ani(path / "u.h5"), "a") as file:
        for name, shift in (("H2O", 71.3), ("CH4", 36.3)):
            file[f"set/{name}/energies"][:] += shift
    return path / "u.h5", "ani"


def _bohr(path):
    data = labelled("CH4", 40)
    places, energies = data.coordinates * 1.8897261, data.energies * 627.5
    np.savez(path / "b.npz", nuclear_charges=data.species, coords=places, energies=energies, forces=data.forces)
    return path / "b.npz", "rmd17"


def _weak(path):
    archive = dict(np.load(write_rmd17(path / "w.npz")))
    np.savez(path / "w.npz", **{**archive, "forces": archive["forces"] / 627.5})
    return path / "w.npz", "rmd17"


def _no_group(path):
    with h5py.File(path / "n.h5", "w") as file:
        file["energies"] = np.zeros(3)
    return path / "n.h5", "ani"


def _cut(path):
    whole = write_ani(path / "cut.h5").read_bytes()
    (path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    return path / "cut.h5", "ani"


def _text(write):
    def make(path):
        (path / "t.xyz").write_text(write)
        return path / "t.xyz", "extxyz"

    return make


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_few, r"forces or gradients cannot be told.*forces = 'forces' or 'gradients'"),
        (_valence, r"does not say the unit of energy.*energy_unit = 'hartree'"),
        (_no_units, r"does not say the unit of energy.*energy_unit = 'hartree'"),
        (_bohr, r"the unit of length is angstrom in files of this format.*look like bohr"),
        (_weak, r"make bonds of .* stiffness.*force_unit"),
        (_no_group, "no group with species, coordinates and energies"),
        (_cut, "cannot be read as HDF5"),
        (_text("3\nenergy=-76.0\nO 0 0 0\nH 0 0 0.97\n"), "promises 3 atoms, and the file ends after 2"),
        (_text("2\nenergy=-75.5\nO 0 0 0\nHh 0 0 0.97\n"), "'Hh' is no symbol"),
        (_text("2\nenergy=-75.5\nO 0 0 0\nH 0 0 nan\n"), "nan is no finite number"),
        (_text("2\nwater\nO 0 0 0\nH 0 0 0.97\n"), "structure 1 has no energy"),
        (_text("2\nenergy=-1.1 multiplicity=2\nH 0 0 0\nH 0 0 0.74\n"), "multiplicity 2 .* is impossible"),
        (_text("2\nenergy=-1.1\nH 0 0 0\nH 0 0 0.04\n"), "they coincide"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_nothing_is_written(tmp_path, make, told):
    path, form = make(tmp_path)
    with pytest.raises(DataError, match=told) as caught:
        take(tmp_path, path, form)
    assert path.name in str(caught.value)
    assert not (tmp_path / "w").exists()


def test_what_cannot_be_told_is_settled_by_an_option(tmp_path):
    path, form = _few(tmp_path)
    _, said = take(tmp_path, path, form, "forces=forces", "level_of_theory=mine")
    assert "they are forces (as given)" in said
    assert set(table(tmp_path).columns["level_of_theory"].tolist()) == {"mine"}
    (tmp_path / "v").mkdir()
    path, form = _valence(tmp_path / "v")
    result, _ = take(tmp_path / "v", path, form, "energy_unit=hartree")
    assert result.samples == 12
    (tmp_path / "u").mkdir()
    path, form = _no_units(tmp_path / "u")
    result, said = take(tmp_path / "u", path, form, "energy_unit=hartree")
    assert result.samples == 24
    assert "energies in hartree (as given)" in said


def test_impossible_structures_among_possible_ones_are_refused_by_name(tmp_path):
    path = write_ani(tmp_path / "c.h5")
    with h5py.File(path, "a") as file:
        file["set/H2O/coordinates"][3, 1] = file["set/H2O/coordinates"][3, 2]
        file["set/H2O/coordinates"][5, 0, 0] = np.nan
        file["set/CH4/energies"][2] = np.nan
    result, _ = take(tmp_path, path, "ani")
    assert result.samples == 21
    assert result.refused == 3
    reasons = " ".join(entry["reason"] for entry in result.tally.reasons)
    assert "they coincide" in reasons
    assert "nan" in reasons


def test_options_are_pairs_and_known(tmp_path):
    with pytest.raises(ConfigError, match="written name=value"):
        load_layout(None, "ani", ["forces"])
    with pytest.raises(ConfigError, match=r"'force'.*Did you mean 'forces'"):
        load_layout(None, "ani", ["force=forces"])
    np.savez(tmp_path / "x.npz", x=np.arange(4.0), y=np.arange(4.0))
    mapping = tmp_path / "m.toml"
    mapping.write_text('format = "npz"\nsample_axis = 0\n[inputs.x]\npath = "x"\n[outputs.y]\npath = "y"\n')
    (tmp_path / "campaign.toml").write_text(BY_STRUCTURE)
    campaign, layout = load_campaign(tmp_path / "campaign.toml"), load_layout(mapping)
    with pytest.raises(ConfigError, match=r"\[space\] names structures of atoms"):
        ingest(tmp_path / "w", [tmp_path / "x.npz"], layout, campaign=campaign, progress=Told())
