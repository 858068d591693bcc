"""Files of foreign layouts, read by a mapping: the same numbers from HDF5, NetCDF, NPZ and tables of text."""

import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from surrogate.core.errors import ConfigError
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Ragged, Schema
from surrogate.core.tables import validated_table
from surrogate.data.readers.generic import CSV, HDF5, NETCDF, NPZ
from surrogate.data.readers.protocol import SourceError

SAMPLES, LENGTH = 10, 4
SPEED = np.linspace(1.0, 2.0, SAMPLES)
FIELD = np.arange(SAMPLES * LENGTH, dtype=float).reshape(SAMPLES, LENGTH)
AXIS = np.asarray([0.0, 10.0, 20.0, 30.0])
KIND = np.asarray(["oil", "gas"] * (SAMPLES // 2))
SCHEMA = Schema(
    (
        Column("speed", "input", "m/s"),
        Column("kind", "input", dtype="str"),
        Column("u", "output", "m", shape=(LENGTH,), dims=("x",)),
        Column("n", "output", dtype="int64"),
    )
)
ROWS = """
sample_axis = 0
rows_per_run = 4
inputs.speed = { path = "speed", unit_in_file = "km/s", unit = "m/s" }
inputs.kind = { path = "kind" }
outputs.u = { path = "u", unit_in_file = "mm", unit = "m", dims = ["x"] }
outputs.n = { path = "n", dtype = "int64" }
coordinates.x = { path = "x", unit_in_file = "cm", unit = "m" }
group = { path = "kind" }
"""


def options(reader, text, **changes):
    table = tomllib.loads(text)
    for key, value in changes.items():
        holder = table
        *path, last = key.split("__")
        for name in path:
            holder = holder.setdefault(name, {})
        if value is None:
            del holder[last]
        else:
            holder[last] = value
    return validated_table(reader.options_type, table, "mapping.toml")


def write_hdf5(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["speed"], file["u"], file["x"] = SPEED, FIELD, AXIS
        file["n"] = np.arange(SAMPLES)
        file.create_dataset("kind", data=KIND.astype(object), dtype=h5py.string_dtype())
    return path


def write_npz(path: Path) -> Path:
    np.savez_compressed(path, speed=SPEED, u=FIELD, x=AXIS, n=np.arange(SAMPLES), kind=KIND)
    return path


def write_classic(path: Path) -> Path:
    with netcdf_file(path, "w") as file:
        for name, length in (("s", SAMPLES), ("x", LENGTH), ("c", 3)):
            file.createDimension(name, length)
        for name, values, dims in (("speed", SPEED, "s"), ("u", FIELD, "sx"), ("x", AXIS, "x")):
            file.createVariable(name, "d", tuple(dims))[:] = values
        file.createVariable("n", "i", ("s",))[:] = np.arange(SAMPLES)
        file.createVariable("kind", "c", ("s", "c"))[:] = np.asarray([list(word) for word in KIND], dtype="S1")
    return path


FILES = {"hdf5": (HDF5, write_hdf5, "a.h5"), "npz": (NPZ, write_npz, "a.npz"), "nc": (NETCDF, write_classic, "a.nc")}


def read_all(reader, path, mapping, schema=SCHEMA):
    with reader.open(path, mapping) as source:
        return list(source.pieces), [source.read(piece, schema) for piece in source.pieces]


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


@pytest.mark.parametrize(
    ("change", "told", "kind"),
    [
        ({"inputs__speed__path": "sped"}, "has no dataset 'sped'; it has .*Did you mean 'speed'", "output_missing"),
        ({"outputs__u__unit_in_file": "s"}, "'u' in .*'s' cannot be converted to 'm'", "wrong_shape"),
        ({"outputs__u__dims": ["a", "b"]}, r"2 names in 'dims', .* has the shape \[4\]", "wrong_shape"),
        ({"outputs__u__index": [9], "outputs__u__dims": []}, r"'u' has index = \[9\], and its array", "wrong_shape"),
        ({"outputs__u__sample_axis": 2}, "should run along its axis 2", "wrong_shape"),
        ({"outputs__u__sample_axis": 1}, "differ in their number of samples: .*'u' has 4", "wrong_shape"),
        ({"inputs__speed__path": "u"}, "'speed' has the shape .*Pick an element with 'index'", "wrong_shape"),
        ({"outputs__n__path": "kind"}, r"'kind' in .* is text \('oil'\), and numbers are needed", "wrong_shape"),
        ({"coordinates__x__path": "u"}, "coordinate 'x' .* one axis is needed", "wrong_shape"),
        ({"inputs__speed": {"attribute": "v"}}, "has no attribute 'v'; it has none", "output_missing"),
    ],
)  # fmt: skip
def test_what_a_file_lacks_is_a_sentence(change, told, kind, tmp_path):
    path = write_hdf5(tmp_path / "a.h5")

    def use():
        with HDF5.open(path, options(HDF5, ROWS, **change)) as source:
            source.sketch()
            for piece in source.pieces:
                source.read(piece, SCHEMA)

    with pytest.raises(SourceError, match=told) as caught:
        use()
    assert caught.value.kind is FailureKind(kind)


def test_a_unit_of_the_file_that_nobody_knows(tmp_path):
    path = write_hdf5(tmp_path / "a.h5")
    with h5py.File(path, "a") as file:
        file["speed"].attrs["units"] = "furlongs/fortnite"
    mapping = options(HDF5, ROWS, inputs__speed__unit_in_file=None)
    with HDF5.open(path, mapping) as source, pytest.raises(SourceError, match=r"no unit that is known.*'unit_in_file'"):
        source.read(source.pieces[0], SCHEMA)


@pytest.mark.parametrize(("reader", "name"), [(HDF5, "a.h5"), (NETCDF, "a.nc"), (NPZ, "a.npz")])
@pytest.mark.parametrize(
    "content", [b"", b"not such a file at all", b"\x89HDF\r\n\x1a\nxx", b"CDF\x01\x00", b"PK\x03\x04"]
)
def test_files_of_another_kind_are_refused(reader, name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match="cannot be read as"):
        read_all(reader, path, options(reader, ROWS))


def test_damage_is_a_sentence_or_finite_data(tmp_path):
    sentences = []
    for reader, write, name in FILES.values():
        path = write(tmp_path / name)
        whole = path.read_bytes()
        for cut in range(0, len(whole), max(64, len(whole) // 40)):
            path.write_bytes(whole[:cut])
            try:
                _, blocks = read_all(reader, path, options(reader, ROWS))
            except SourceError as error:
                sentences.append(str(error))
            else:
                assert sum(len(block.columns["speed"]) for block in blocks) == SAMPLES
    assert sentences
    assert all(str(tmp_path) in sentence for sentence in sentences)


def test_pickles_are_not_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, speed=np.asarray([{"a": 1}], dtype=object))
    with pytest.raises(SourceError, match="Python objects, which are not read"):
        read_all(NPZ, path, options(NPZ, ROWS))


def test_arrays_in_fortran_order(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, speed=SPEED, u=np.asfortranarray(FIELD), x=AXIS, n=np.arange(SAMPLES), kind=KIND)
    _, blocks = read_all(NPZ, path, options(NPZ, ROWS))
    assert np.allclose(np.concatenate([block.columns["u"] for block in blocks]), FIELD / 1000)


@pytest.mark.parametrize(
    ("reader", "change", "told"),
    [
        (HDF5, {"sample_axis": None}, "'sample_axis' is missing: axis of the arrays that runs over samples"),
        (HDF5, {"sample_axis": "rows"}, "'sample_axis': the number of an axis, counted from 0, or 'file' is needed"),
        (HDF5, {"inputz": {}}, "'inputz' is not a known key.*Did you mean 'inputs'"),
        (HDF5, {"inputs__speed__pth": "x"}, "'inputs.speed.pth' is not a known key.*Did you mean 'path'"),
        (HDF5, {"inputs__speed__column": "x"}, "exactly one of .*path and column was found"),
        (HDF5, {"inputs__speed": {}}, "exactly one of .*none was found"),
        (HDF5, {"inputs__speed__unit": "metre/sec0nd"}, "'inputs.speed.unit': The unit 'metre/sec0nd' is not known"),
        (HDF5, {"inputs__T": {"file_name": "T(\\d+"}}, "no regular expression"),
        (HDF5, {"inputs__T": {"file_name": "T"}}, "with one group in brackets is needed, and 'T' has 0"),
        (HDF5, {"inputs__u": {"path": "u"}}, "'u' is an input and an output"),
        (HDF5, {"outputs__u__ragged": True}, "'u' is ragged, which only files of one sample each can be"),
        (HDF5, {"outputs__u__dtype": "float46"}, "a type such as 'float64'"),
        (HDF5, {"coordinates__x__values": [1.0]}, "exactly one of 'path', 'column' and 'values'"),
        (HDF5, {"delimiter": ";"}, "'delimiter' is not a known key"),
        (CSV, {"delimiter": "::"}, "'delimiter' is one character or 'whitespace'"),
    ],
)
def test_a_wrong_mapping_is_one_sentence(reader, change, told):
    with pytest.raises(ConfigError, match=told) as caught:
        options(reader, ROWS, **change)
    assert "mapping.toml" in str(caught.value)
