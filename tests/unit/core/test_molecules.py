"""The columns of molecules: tables are made, stored and read back as they were."""

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.molecules import (
    FORCES,
    input_values,
    is_molecular,
    molecule_schema,
    molecule_table,
    structures_of,
)
from surrogate.core.schema import Column, Schema
from surrogate.core.structure import Structure
from surrogate.data.run_file import read_run_file, write_run_file
from surrogate.data.samples import points

WATER = Structure.of([8, 1, 1], [[0, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]])
SALT = Structure.of([11, 17], [[0, 0, 0], [2.8, 0, 0]], cell=np.eye(3) * 5.6, name="salt")
FORCE = [np.zeros((3, 3)), np.ones((2, 3))]


def test_a_table_holds_structures_and_labels_and_gives_them_back():
    table = molecule_table([WATER, SALT], [-76.0, -620.0], FORCE, "PBE/x")
    assert len(table) == 2
    assert table.groups == ("H2O", "salt")
    assert set(table.inputs) == {"species", "coordinates", "charge", "multiplicity", "cell"}
    assert set(table.outputs) == {"energy", "forces"}
    assert [column.name for column in table.schema.facts] == ["level_of_theory"]
    assert table.columns["level_of_theory"].tolist() == ["PBE/x", "PBE/x"]
    again = structures_of(table.columns, table.groups)
    assert [entry.point() for entry in again] == [WATER.point(), SALT.point()]
    assert [entry.name for entry in again] == ["H2O", "salt"]
    assert structures_of(table.take(np.asarray([1])).columns)[0].name == "ClNa"
    assert FORCES not in molecule_table([WATER], [-76.0]).columns


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="2 structures and 1 energies"):
        molecule_table([WATER, SALT], [-76.0])
    with pytest.raises(DataError, match="forces"):
        molecule_table([WATER], [-76.0], [np.zeros((2, 3))])
    with pytest.raises(DataError, match="ragged column 'coordinates'"):
        structures_of({"species": input_values([WATER])["species"]})


def test_run_files_keep_facts_apart_and_points_hash_alike(tmp_path):
    table = molecule_table([WATER, SALT], [-76.0, -620.0], FORCE, "PBE/x")
    write_run_file(tmp_path / "run.h5", table.schema, table.columns, table.groups)
    run = read_run_file(tmp_path / "run.h5")
    assert run.schema == table.schema
    assert run.columns["level_of_theory"].tolist() == ["PBE/x", "PBE/x"]
    assert points(run.schema, run.columns, 2) == [WATER.point(), SALT.point()]
    np.testing.assert_array_equal(run.columns["forces"][1], FORCE[1])


def test_schemas_of_molecules_are_told_from_others():
    assert is_molecular(molecule_schema())
    assert is_molecular(molecule_schema(forces=False))
    assert not is_molecular(Schema((Column("x", "input"), Column("y", "output"))))
