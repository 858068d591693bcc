"""Tables of text that are read stretch by stretch."""

from pathlib import Path

import pytest

from surrogate.core.errors import DataError
from surrogate.core.text_table import Dialect, scan


def rows_of(table, start, stop):
    return [cells for _, cells in table.read(start, stop)]


def test_every_stretch_is_what_the_whole_is(tmp_path: Path):
    lines = [f"{number},x{number}" for number in range(25)]
    path = tmp_path / "t.csv"
    path.write_text("a, b\n" + "\n".join(lines) + "\n")
    table = scan(path, 7)
    assert (table.names, table.rows, len(table.places)) == (("a", "b"), 25, 4)
    whole = [line.split(",") for line in lines]
    assert rows_of(table, 0, 25) == whole
    for start in range(0, 25, 7):
        assert rows_of(table, start, min(start + 7, 25)) == whole[start : start + 7]
    assert rows_of(table, 5, 9) == whole[5:9]
    assert rows_of(table, 3, 3) == []
    assert [line for line, _ in table.read(7, 9)] == [9, 10]


def test_quoted_line_breaks_blank_lines_and_a_byte_order_mark(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffa,b\r\n\r\n1,"two\r\nlines, a comma"\r\n\r\n2,"a ""quote"""\r\n3,\r\n'.encode())
    table = scan(path, 1)
    assert (table.names, table.rows) == (("a", "b"), 3)
    assert rows_of(table, 0, 1) == [["1", "two\r\nlines, a comma"]]
    assert rows_of(table, 1, 3) == [["2", 'a "quote"'], ["3", ""]]
    assert [line for line, _ in table.read(1, 3)] == [6, 7]


def test_other_dialects(tmp_path: Path):
    path = tmp_path / "t.dat"
    path.write_text("made by a code\n# x  u\n 0.0   1\n\n# half way\n1.0\t2 \n")
    table = scan(path, 2, Dialect("", "#", 1, ("x", "u")))
    assert rows_of(table, 0, 2) == [["0.0", "1"], ["1.0", "2"]]
    path.write_text("#c\nx;u\n1;2\n#no\n3;4\n")
    assert rows_of(scan(path, 1, Dialect(";", "#")), 1, 2) == [["3", "4"]]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty; its first line must name the columns"),
        (b"a,b\n1\n", r"row 1 \(line 2\) has 1 cells, and there are 2 columns"),
        (b"a,b\n1,\xff\n", "is not text in UTF-8"),
        (b"\xff,b\n", "is not text in UTF-8"),
        (b'a,b\n1,"x" y\n', "cannot be read as a table"),
    ],
)
def test_what_is_no_table_is_a_sentence(content: bytes, told: str, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        list(scan(path, 4).read(0, 1))


def test_a_missing_file_is_a_sentence(tmp_path: Path):
    with pytest.raises(DataError, match="No such file"):
        scan(tmp_path / "none.csv", 1)
