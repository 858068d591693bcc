"""Files of foreign layouts, read by a mapping: the same numbers from HDF5, NetCDF, NPZ and tables of text."""

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from surrogate.core.schema import Column, Ragged, Schema
from surrogate.data.readers.generic import CSV, HDF5, NETCDF, NPZ
from surrogate.data.readers.protocol import SourceError
from tests.support.foreign_files import (
    AXIS,
    FIELD,
    FILES,
    KIND,
    ROWS,
    SAMPLES,
    SCHEMA,
    SPEED,
    options,
    read_all,
    write_hdf5,
)


@pytest.mark.parametrize("name", FILES)
def test_the_same_numbers_from_every_format(name, tmp_path):
    reader, write, file = FILES[name]
    path = write(tmp_path / file)
    pieces, blocks = read_all(reader, path, options(reader, ROWS))
    assert [(piece.start, piece.stop) for piece in pieces] == [(0, 4), (4, 8), (8, 10)]
    assert np.allclose(np.concatenate([block.columns["speed"] for block in blocks]), SPEED * 1000)
    assert np.allclose(np.concatenate([block.columns["u"] for block in blocks]), FIELD / 1000)
    assert np.concatenate([block.columns["n"] for block in blocks]).tolist() == list(range(SAMPLES))
    assert [word for block in blocks for word in block.columns["kind"].tolist()] == KIND.tolist()
    assert [key for block in blocks for key in block.groups] == KIND.tolist()
    (axis,) = blocks[0].coordinates
    assert (axis.name, axis.unit) == ("x", "m")
    assert np.allclose(axis.values, AXIS / 100)
    with reader.open(path, options(reader, ROWS)) as source:
        sketch = source.sketch()
        again = source.read(pieces[2], SCHEMA)
        before = source.read(pieces[0], SCHEMA, ["speed"])
    assert sketch.inputs == {
        "speed": {"unit": "m/s", "description": ""},
        "kind": {"scale": "categorical", "unit": "1", "description": ""},
    }
    assert [(column.name, column.shape, column.unit) for column in sketch.outputs] == [("u", (4,), "m"), ("n", (), "1")]
    assert np.array_equal(again.columns["u"], blocks[2].columns["u"])
    assert set(before.columns) == {"speed"}


def test_a_table_of_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("kind,v,q\n" + "".join(f"{KIND[i]},{SPEED[i]},{i if i != 3 else 'n/a'}\n" for i in range(SAMPLES)))
    mapping = options(
        CSV,
        'sample_axis = 0\nrows_per_run = 4\ninputs.speed = { column = "v" }\ninputs.kind = { column = "kind" }\n'
        'outputs.q = { column = "q", unit_in_file = "kg", unit = "g" }',
    )
    schema = Schema((*SCHEMA.inputs, Column("q", "output", "g")))
    pieces, blocks = read_all(CSV, path, mapping, schema)
    assert [piece.rows for piece in pieces] == [4, 4, 2]
    found = np.concatenate([block.columns["q"] for block in blocks])
    assert np.isnan(found[3]), "a word among numbers spoils its own sample only"
    assert found[4] == 4000.0
    assert blocks[2].columns["kind"].tolist() == ["oil", "gas"]


def test_one_sample_a_file(tmp_path):
    """Inputs from attributes, an element of an array and the name; a profile and a ragged trace as outputs."""
    path = tmp_path / "case_T300_7.h5"
    with h5py.File(path, "w") as file:
        file.attrs["nu"] = np.asarray([0.25])
        file["setup"] = np.asarray([[1.0, 2.0], [3.0, 4.0]])
        file["setup"].attrs["units"] = "cm"
        file["res/u"] = AXIS
        file["res"].attrs["run"] = 7.0
        file["trace"] = np.arange(5.0)
    mapping = options(
        HDF5,
        """
sample_axis = "file"
inputs.nu = { attribute = "nu" }
inputs.width = { path = "setup", index = [1, 0], unit = "m" }
inputs.T = { file_name = 'T(\\d+)_', unit = "K" }
outputs.u = { path = "/res/u" }
outputs.trace = { path = "trace", ragged = true }
group = { path = "res", attribute = "run" }
""",
    )
    schema = Schema(
        (
            Column("nu", "input"), Column("width", "input", "m"), Column("T", "input", "K"),
            Column("u", "output", shape=(4,)), Column("trace", "output", shape=(-1,)),
        )
    )  # fmt: skip
    assert HDF5.tags(path, mapping) == {"T": "300"}
    (piece,), (block,) = read_all(HDF5, path, mapping, schema)
    assert piece.rows == 1
    assert {name: block.columns[name].tolist() for name in ("nu", "width", "T")} == {
        "nu": [0.25], "width": [0.03], "T": [300.0],
    }  # fmt: skip
    assert block.columns["u"].tolist() == [AXIS.tolist()]
    assert isinstance(block.columns["trace"], Ragged)
    assert block.groups == ("7",)
    with pytest.raises(SourceError, match=r"does not have the form 'T\(\\d\+\)_'"):
        HDF5.tags(tmp_path / "other.h5", mapping)


def test_samples_along_another_axis_and_shared_values(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["u"], file["speed"], file["T"], file["p"] = FIELD.T, SPEED, 300.0, np.asarray([1.0, 2.0])
    mapping = options(
        HDF5,
        """
sample_axis = 0
rows_per_run = 6
inputs.speed = { path = "speed" }
inputs.T = { path = "T" }
inputs.p = { path = "p", index = [1], sample_axis = "none" }
outputs.u = { path = "u", sample_axis = 1 }
""",
    )
    schema = Schema(
        (Column("speed", "input"), Column("T", "input"), Column("p", "input"), Column("u", "output", shape=(4,)))
    )
    _, blocks = read_all(HDF5, path, mapping, schema)
    assert np.array_equal(np.concatenate([block.columns["u"] for block in blocks]), FIELD)
    assert blocks[1].columns["T"].tolist() == [300.0] * 4
    assert blocks[0].columns["p"].tolist() == [2.0] * 6


def test_large_samples_make_small_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("surrogate.data.readers.mapped.PIECE_BYTES", 120)
    path = write_hdf5(tmp_path / "a.h5")
    pieces, _ = read_all(HDF5, path, options(HDF5, ROWS))
    assert [piece.rows for piece in pieces] == [2] * 5


def test_packed_values_and_fill_values_of_netcdf(tmp_path):
    classic, modern = tmp_path / "a.nc", tmp_path / "b.nc"
    raw = np.asarray([0, 10, -1, 30], dtype="i2")
    with netcdf_file(classic, "w") as file:
        file.createDimension("s", 4)
        variable = file.createVariable("u", "h", ("s",))
        variable[:] = raw
        variable._FillValue, variable.scale_factor, variable.add_offset = np.int16(-1), 0.5, 100.0
        variable.units = "K"
        file.run = b"seven"
    with h5py.File(modern, "w") as file:
        file["u"] = raw
        file["u"].attrs.update({"_FillValue": np.int16(-1), "scale_factor": 0.5, "add_offset": 100.0, "units": "K"})
        file.attrs["run"] = "seven"
    text = 'sample_axis = 0\ninputs.a = { path = "u" }\noutputs.u = { path = "u" }\ngroup = { attribute = "run" }'
    schema = Schema((Column("a", "input", "K"), Column("u", "output", "mK")))
    for path in (classic, modern):
        _, (block,) = read_all(NETCDF, path, options(NETCDF, text), schema)
        assert np.array_equal(block.columns["a"], [100.0, 105.0, np.nan, 115.0], equal_nan=True)
        assert block.columns["u"][3] == pytest.approx(115e3)
        assert block.groups == ("seven",) * 4


def test_arrays_in_fortran_order(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, speed=SPEED, u=np.asfortranarray(FIELD), x=AXIS, n=np.arange(SAMPLES), kind=KIND)
    _, blocks = read_all(NPZ, path, options(NPZ, ROWS))
    assert np.allclose(np.concatenate([block.columns["u"] for block in blocks]), FIELD / 1000)
