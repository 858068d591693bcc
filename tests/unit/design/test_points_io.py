"""Points in CSV, HDF5 and on the command line: exact both ways, refused in sentences."""

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surrogate.core.errors import DataError, InputError, UnitError
from surrogate.core.schema import Column
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.points_io import parse_pairs, read_columns, read_points, write_columns

SPACE = ParameterSpace(
    (
        Parameter("p", 0.0, 10.0, unit="pascal"),
        Parameter("n", 0, 9, scale="integer"),
        Parameter("how", scale="categorical", choices=("a", "b")),
    )
)
COLUMNS = SPACE.columns
VALUES = {"p": np.asarray([0.1, 1e-300, 12.5]), "n": np.asarray([1, -2, 3]), "how": np.asarray(["a", "b", "ä"])}


@pytest.mark.parametrize("name", ["x.csv", "x.h5", "x.hdf5", "X.CSV"])
def test_what_is_written_is_read_back_exactly(tmp_path, name):
    path = tmp_path / "deep" / name
    write_columns(path, COLUMNS, VALUES)
    read = read_columns(path, COLUMNS)
    assert list(read) == ["p", "n", "how"]
    assert [read[column].dtype.kind for column in read] == ["f", "i", "U"]
    for column, values in VALUES.items():
        np.testing.assert_array_equal(read[column], values)
    assert [entry.name for entry in path.parent.iterdir()] == [name]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_float_survives_csv(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    write_columns(path, COLUMNS[:1], {"p": np.asarray(numbers)})
    np.testing.assert_array_equal(read_columns(path, COLUMNS[:1])["p"], numbers)


def test_other_columns_empty_lines_spaces_and_a_byte_order_mark_are_no_matter(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("\ufeff how , id,n,p\r\n\r\n a ,7, 3.0 , 2 \r\n\r\nb,8,4,1e0\r\n".encode())
    assert read_points(path, SPACE) == [{"p": 2.0, "n": 3, "how": "a"}, {"p": 1.0, "n": 4, "how": "b"}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty; its first line must name the columns"),
        ("\n\n", "is empty"),
        ("p,n,how\n", "has a header and no rows"),
        ("p,m,how\n1,1,a\n", "has no column 'n'.*'p,m,how'.*must name p, n, how"),
        ("P,n,how,pp\n1,1,a,2\n", "has no column 'p'"),
        ("p,n,p,how\n1,1,1,a\n", "two columns 'p'"),
        ("p;n;how\n1;1;a\n", "separated by commas"),
        ("p\tn\thow\n", "separated by commas"),
        ("p,n,how\n1,1,a\n1,1\n", r"row 2 \(line 3\) has 2 cells, and the header has 3"),
        ("p,n,how\n1,1,a\n1,5,2,b\n", r"row 2 \(line 3\) has 4 cells"),
        ("p,n,how\n1,1,a\n\nx,1,a\n", r"row 2 \(line 4\), column 'p': a finite number is needed, and 'x' was found"),
        ("p,n,how\nnan,1,a\n", r"row 1 \(line 2\), column 'p': a finite number is needed, and 'nan' was found"),
        ("p,n,how\n-inf,1,a\n", "column 'p': a finite number is needed"),
        ("p,n,how\n1_000,1,a\n", "column 'p': a finite number is needed, and '1_000' was found"),
        ("p,n,how\n,1,a\n", "column 'p': a finite number is needed, and nothing was found"),
        ("p,n,how\n1,1.5,a\n", "column 'n': a whole number is needed, and '1.5' was found"),
        ("p,n,how\n1,a,a\n", "column 'n': a whole number is needed, and 'a' was found"),
        ("p,n,how\n1,1e400,a\n", "column 'n': a whole number is needed"),
        ("p,n,how\n1,99999999999999999999,a\n", "'n' is too large"),
        ("p,n,how\n1,1, \n", "column 'how': a word is needed, and nothing was found"),
        ('p,n,how\n1,1,"a\n', "cannot be read as CSV: unexpected end of data"),
        ("p,n,how\n1,1,c\n", "row 1: Input 'how' must be one of 'a', 'b'"),
    ],
)
def test_a_bad_csv_names_row_and_column(tmp_path, text, told):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=told) as caught:
        read_points(path, SPACE)
    assert "x.csv" in str(caught.value) or "column 'n'" in str(caught.value)
    assert caught.value.exit_code == 2


def test_files_that_are_no_tables_are_refused(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_columns(tmp_path / "no.csv", COLUMNS)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="is a folder or"):
        read_columns(tmp_path / "folder.csv", COLUMNS)
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        read_columns(tmp_path / ("x" * 300 + ".csv"), COLUMNS)
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"\.csv, \.h5 or \.hdf5"):
        read_columns(tmp_path / "x.xlsx", COLUMNS)
    with pytest.raises(DataError, match=r"\.csv, \.h5 or \.hdf5"):
        write_columns(tmp_path / "y.xlsx", COLUMNS, VALUES)
    (tmp_path / "latin.csv").write_bytes("p,n,how\n1,1,\xe4\n".encode("latin-1"))
    with pytest.raises(DataError, match="not a CSV file in UTF-8"):
        read_columns(tmp_path / "latin.csv", COLUMNS)
    (tmp_path / "text.h5").write_text("p,n,how\n1,1,a\n")
    with pytest.raises(DataError, match="cannot be read as HDF5"):
        read_columns(tmp_path / "text.h5", COLUMNS)
    with pytest.raises(DataError, match="one number a cell"):
        read_columns(tmp_path / "x.csv", [Column("field", "input", shape=(3,))])
    with pytest.raises(DataError, match="differ in length"):
        write_columns(tmp_path / "z.csv", COLUMNS, {**VALUES, "p": np.zeros(2)})
    assert not (tmp_path / "z.csv").exists()


def test_a_huge_cell_is_a_sentence(tmp_path):
    (tmp_path / "x.csv").write_text("p,n,how\n1,1," + "a" * 200_000 + "\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_columns(tmp_path / "x.csv", COLUMNS)


def write_hdf5(path, **changes):
    values = {"p": np.asarray([1.0, 2.0]), "n": np.asarray([1, 2]), "how": ["a", "b"], **changes}
    with h5py.File(path, "w") as file:
        for name, value in values.items():
            if value is not None:
                file[name] = value
    return path


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n": None, "m": [1, 2]}, "no dataset 'n'; it has how, m, p"),
        ({"p": np.ones((2, 2))}, r"column 'p' must have one axis \(its rows\), and its shape is \(2, 2\)"),
        ({"p": 1.0}, "must have one axis"),
        ({"p": ["1", "2"]}, "column 'p' holds text, and numbers are needed"),
        ({"how": [1, 2]}, "column 'how' holds int64, and text are needed|and text"),
        ({"p": [1.0, np.nan]}, "row 2, column 'p': a finite number is needed, and nan was found"),
        ({"n": [1.0, 1.5]}, "row 2, column 'n': a whole number is needed, and 1.5 was found"),
        ({"n": [1.0, 1e30]}, "row 2, column 'n': a whole number is needed"),
        ({"p": [1.0 + 2j, 0]}, "holds complex128"),
        ({"p": [1.0]}, "must be equally long: 'p' has 1, 'n' has 2"),
        ({"p": np.zeros(0), "n": np.zeros(0), "how": np.zeros(0, "S1")}, "has no rows"),
        ({"how": [b"a", b"\xff"]}, "not UTF-8"),
    ],
)
def test_a_bad_hdf5_table_names_what_is_wrong(tmp_path, changes, told):
    with pytest.raises(DataError, match=told):
        read_columns(write_hdf5(tmp_path / "x.h5", **changes), COLUMNS)


def test_hdf5_units_are_honoured_and_a_group_inputs_is_read(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["inputs/p"] = [1.0, 2.0]
        file["inputs/p"].attrs["units"] = "kilopascal"
        file["inputs/n"] = np.asarray([1.0, 2.0], dtype=np.float32)
        file["how"] = ["a", "b"]
    assert read_columns(tmp_path / "x.h5", COLUMNS)["p"].tolist() == [1000.0, 2000.0]
    with h5py.File(tmp_path / "x.h5", "a") as file:
        file["inputs/p"].attrs["units"] = "metre"
    with pytest.raises(UnitError, match="column 'p': 'metre' cannot be converted to 'pascal'"):
        read_columns(tmp_path / "x.h5", COLUMNS)


def test_a_torn_hdf5_file_is_refused_or_whole(tmp_path):
    path = write_hdf5(tmp_path / "x.h5")
    whole = path.read_bytes()
    expected = read_columns(path, COLUMNS)
    for end in range(0, len(whole), 211):
        path.write_bytes(whole[:end])
        try:
            read = read_columns(path, COLUMNS)
        except InputError:
            continue
        for name, values in expected.items():
            np.testing.assert_array_equal(read[name], values)


def test_pairs_make_one_point():
    read = parse_pairs(["how=b", " n = 3 ", "p=1e-3"], COLUMNS)
    assert {name: values.tolist() for name, values in read.items()} == {"p": [0.001], "n": [3], "how": ["b"]}
    assert list(read) == ["p", "n", "how"]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["p"], "written name=value, and 'p' was found"),
        (["=1"], "written name=value"),
        (["q=1"], "no input 'q'; there are p, n, how"),
        (["howw=a"], "Did you mean 'how'"),
        (["p=1", "p=2"], "'p' is given twice"),
        (["p=1", "how=a"], "input 'n' is missing"),
        (["p=x", "n=1", "how=a"], "Input 'p': a finite number is needed, and 'x' was found"),
        (["p=", "n=1", "how=a"], "Input 'p': a finite number is needed, and nothing was found"),
        ([], "input 'p' is missing"),
    ],
)
def test_bad_pairs_are_told(pairs, told):
    with pytest.raises(DataError, match=told):
        parse_pairs(pairs, COLUMNS)
