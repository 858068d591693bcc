"""Points in large files, read stretch by stretch."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.schema import Column
from surrogate.design.points_chunks import look_over, read_chunk
from surrogate.design.points_io import read_columns, write_columns

COLUMNS = (Column("M", "input", "m"), Column("n", "input", dtype="int64"), Column("kind", "input", dtype="str"))
VALUES = {
    "M": np.linspace(0.5, 20.0, 23),
    "n": np.arange(23),
    "kind": np.asarray([f"w{number % 3}, é" for number in range(23)]),
}


@pytest.mark.parametrize("name", ["p.csv", "p.h5"])
@pytest.mark.parametrize("rows", [1, 5, 23, 100])
def test_chunks_together_are_the_whole(name: str, rows: int, tmp_path: Path):
    path = tmp_path / name
    write_columns(path, COLUMNS, VALUES)
    found = look_over(path, COLUMNS, rows)
    assert found.rows == 23
    assert [chunk.stop - chunk.start for chunk in found.chunks][:-1] == [rows] * (len(found.chunks) - 1)
    parts = [read_chunk(path, found.names, COLUMNS, chunk) for chunk in found.chunks]
    whole = read_columns(path, COLUMNS)
    for column in COLUMNS:
        joined = np.concatenate([part[column.name] for part in parts])
        assert joined.dtype.kind == whole[column.name].dtype.kind
        assert np.array_equal(joined, whole[column.name])


def test_a_bad_value_is_named_by_its_place_in_the_file(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text("M\n" + "\n".join("1.0" if number != 7 else "x" for number in range(10)) + "\n")
    found = look_over(path, COLUMNS[:1], 5)
    with pytest.raises(DataError, match=r"row 8 \(line 9\), column 'M': a finite number is needed, and 'x' was found"):
        read_chunk(path, found.names, COLUMNS[:1], found.chunks[1])
    other = tmp_path / "p.h5"
    with h5py.File(other, "w") as file:
        file["M"] = np.asarray([1.0] * 7 + [np.inf])
    found = look_over(other, COLUMNS[:1], 5)
    with pytest.raises(DataError, match="row 8, column 'M': a finite number is needed, and inf was found"):
        read_chunk(other, found.names, COLUMNS[:1], found.chunks[1])


def test_what_is_no_file_of_points_is_refused_at_once(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text("N\n1\n")
    with pytest.raises(DataError, match="has no column 'M'"):
        look_over(path, COLUMNS[:1], 5)
    path.write_text("M\n")
    with pytest.raises(DataError, match="has a header and no rows below it"):
        look_over(path, COLUMNS[:1], 5)
    with pytest.raises(DataError, match="does not exist"):
        look_over(tmp_path / "q.csv", COLUMNS[:1], 5)
    with pytest.raises(DataError, match=r"named .csv, .h5 or .hdf5"):
        look_over(tmp_path / "q.txt", COLUMNS[:1], 5)
    with pytest.raises(DataError, match="has shape"):
        look_over(path, (Column("u", "input", shape=(3,)),), 5)


def test_a_file_that_shrinks_is_noticed(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text("M\n1\n2\n3\n4\n")
    found = look_over(path, COLUMNS[:1], 2)
    path.write_text("M\n1\n2\n3\n")
    with pytest.raises(DataError, match="was changed while it was read"):
        read_chunk(path, found.names, COLUMNS[:1], found.chunks[1])
