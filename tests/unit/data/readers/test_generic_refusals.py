"""Files that do not fit their mapping, are damaged or of another kind: told in a sentence."""

import h5py
import numpy as np
import pytest

from surrogate.core.errors import ConfigError
from surrogate.core.outcome import FailureKind
from surrogate.data.readers.generic import CSV, HDF5, NETCDF, NPZ
from surrogate.data.readers.protocol import SourceError
from tests.support.foreign_files import FILES, ROWS, SAMPLES, SCHEMA, options, read_all, write_hdf5


@pytest.mark.parametrize(
    ("change", "told", "kind"),
    [
        ({"inputs__speed__path": "sped"}, "has no dataset 'sped'; it has .*Did you mean 'speed'", "output_missing"),
        ({"outputs__u__unit_in_file": "s"}, "'u' in .*'s' cannot be converted to 'm'", "output_unreadable"),
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
