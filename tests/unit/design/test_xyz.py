"""XYZ files: what is wrong is named with its line, and what was written comes back."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.structure import Structure
from surrogate.design.xyz import read_frames, read_structures, write_frames

WATER = Structure.of([8, 1, 1], [[1e-9 / 3, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]], name="water")
SALT = Structure.of([11, 17], [[0, 0, 0], [2.8, 0, 0]], cell=np.eye(3) * 5.6, name="salt")
PLAIN = "3\nwater\nO 0 0 0.119\nH 0 0.763 -0.477\nH 0 -0.763 -0.477\n"


def test_structures_and_labels_come_back(tmp_path):
    path = tmp_path / "two.extxyz"
    ion = Structure.of([8, 1], [[0, 0, 0], [0, 0, 0.97]], charge=-1, name="OH")
    forces = [np.full((3, 3), 0.25), np.zeros((2, 3)), np.ones((2, 3))]
    write_frames(
        path,
        [WATER, SALT, ion],
        [-76.25, -620.0, -75.0],
        forces,
        [{"level_of_theory": 'PBE "x" \\ y = z', "seen": True}] * 3,
    )
    frames = read_frames(path)
    assert [frame.structure.point() for frame in frames] == [entry.point() for entry in (WATER, SALT, ion)]
    assert [frame.structure.name for frame in frames] == ["water", "salt", "OH"]
    assert frames[0].numbers["energy"] == -76.25
    np.testing.assert_array_equal(frames[2].arrays["forces"], forces[2])
    assert frames[0].facts["energy_unit"] == "hartree"
    assert frames[0].facts["level_of_theory"] == 'PBE "x" \\ y = z'


def test_plain_files_have_what_they_do_not_say_by_default_or_by_order(tmp_path):
    path = tmp_path / "plain.xyz"
    path.write_text(PLAIN * 2 + "\n\n")
    found = read_structures([path])
    assert [entry.name for entry in found] == ["H2O", "H2O"]
    np.testing.assert_allclose(found[0].coordinates, WATER.coordinates, atol=1e-9)
    cation = read_structures([path], charge=1)[0]
    assert (cation.charge, cation.multiplicity) == (1, 2)
    assert read_structures([path], multiplicity=3)[0].multiplicity == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("water\n", "line 1: the number of atoms is expected, and 'water'"),
        (PLAIN.replace("3", "4", 1), "promises 4 atoms, and the file ends after 3"),
        (PLAIN.replace("3", "4", 1) + PLAIN, r"line 6: atom 4 of 4 is expected.*'3' was found.*counts wrong"),
        (PLAIN.replace("3", "2", 1) + PLAIN, "line 5: the number of atoms of a structure.*'H 0 -0.763"),
        (PLAIN.replace("O 0", "Oo 0"), "line 3: 'Oo' is no symbol"),
        (PLAIN.replace("0.119", "nan"), "line 3: nan is no finite number"),
        (PLAIN.replace("0.119", "1e999"), "line 3: 1e999 is no finite number"),
        (PLAIN.replace("0.119", "0,119"), "line 3: a coordinate is expected, and '0,119'"),
        (PLAIN.replace("water", "charge=0.5"), "charge is a whole number"),
        (PLAIN.replace("water", 'pbc="T T F" Lattice="9 0 0 0 9 0 0 0 9"'), "periodic along 2 of three"),
    ],
)
def test_bad_files_are_told_in_a_sentence_with_the_line(tmp_path, text, told):
    path = tmp_path / "bad.xyz"
    path.write_text(text)
    with pytest.raises(DataError, match=told) as caught:
        read_frames(path)
    assert "bad.xyz" in str(caught.value)


def test_files_that_are_missing_or_no_text_are_told(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_frames(tmp_path / "none.xyz")
    (tmp_path / "binary.xyz").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read as text"):
        read_frames(tmp_path / "binary.xyz")
