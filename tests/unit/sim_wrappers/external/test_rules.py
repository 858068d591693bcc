"""Every rule by which an output is read: what it gives, and the sentence when it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from sim_wrappers.external.options import complete, read
from sim_wrappers.external.rules.parser import load_parser
from sim_wrappers.external.rules.read import read_output
from sim_wrappers.external.rules.text import number
from sim_wrappers.external.schema import output_schema
from surrogate.core.errors import ConfigError, SimulationError

FIELD = np.arange(12, dtype=np.float64).reshape(3, 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "out.h5", "w") as file:
        file["fields/u"] = FIELD
        file["label"] = "text"
    with netcdf_file(tmp_path / "old.nc", "w") as old:
        old.createDimension("t", 3)
        old.createDimension("x", 4)
        u = old.createVariable("u", "i2", ("t", "x"))
        u[:] = FIELD
        u.scale_factor, u.add_offset, u._FillValue = 0.5, 10.0, np.int16(11)
    with h5py.File(tmp_path / "new.nc", "w") as file:
        file["u"] = FIELD.astype(np.float32)
        file["u"].attrs["_FillValue"] = np.float32(11.0)
        file["u"].attrs["add_offset"] = [1.0]
    np.save(tmp_path / "u.npy", FIELD)
    np.savez(tmp_path / "u.npz", u=FIELD, words=np.array(["a"]))
    (tmp_path / "u.txt").write_text("time u v\n# a comment\n0 1.5 a\n\n1 2.5D+01 b\n2 0.25-100 c\n")
    (tmp_path / "u.csv").write_text('"t", "T at wall"\n0, 1\n1, 2\n')
    (tmp_path / "out-000.txt").write_text("7\n")
    (tmp_path / "stdout.txt").write_text("step 1 energy = -1.0\nstep 2 energy = -1.5D0\nfinal: 1e3\n")
    (tmp_path / "read.py").write_text(
        "def half(folder):\n    return [float(w) / 2 for w in (folder / 'out-000.txt').read_text().split()]\n"
        "def words(folder):\n    return ['a']\ndef broken(folder):\n    return 1 / 0\n"
    )
    return tmp_path


def get(folder: Path, **rule: Any) -> np.ndarray:
    options = read(complete({"command": ["a"], "outputs": {"T": rule}}))
    (column,) = output_schema(options).columns
    return read_output(options.outputs["T"], column, folder, folder / "stdout.txt")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"file": "out.h5", "dataset": "fields/u", "shape": [3, 4]}, FIELD),
        ({"file": "out.h5", "dataset": "/fields/u", "index": [-1], "shape": [4]}, FIELD[-1]),
        ({"file": "out.h5", "dataset": "fields/u", "index": ["1:", "::2"], "shape": [2, 2]}, FIELD[1:, ::2]),
        ({"file": "out.h5", "dataset": "fields/u", "index": [0, 1]}, FIELD[0, 1]),
        ({"file": "out.h5", "dataset": "fields/u", "index": ["0:1"], "shape": [4]}, FIELD[0]),
        ({"file": "old.nc", "variable": "u", "index": [0], "shape": [4]}, 10.0 + FIELD[0] / 2),
        ({"file": "old.nc", "variable": "u", "index": [2, -1]}, np.nan),
        ({"file": "new.nc", "variable": "u", "index": [0], "shape": [4]}, FIELD[0] + 1.0),
        ({"file": "new.nc", "variable": "u", "index": [2, -1]}, np.nan),
        ({"file": "u.npy", "shape": [3, 4]}, FIELD),
        ({"file": "u.npz", "array": "u", "shape": [3, 4]}, FIELD),
        ({"file": "u.txt", "column": 2, "skip_rows": 1, "shape": [3]}, [1.5, 25.0, 0.25e-100]),
        ({"file": "u.txt", "column": "u", "shape": [3]}, [1.5, 25.0, 0.25e-100]),
        ({"file": "u.txt", "columns": [2, "time"], "shape": [3, 2]}, [[1.5, 0], [25.0, 1], [0.25e-100, 2]]),
        ({"file": "u.txt", "column": "u", "shape": [-1]}, [1.5, 25.0, 0.25e-100]),
        ({"file": "u.csv", "column": "T at wall", "delimiter": ",", "shape": [2]}, [1.0, 2.0]),
        ({"file": "out-*.txt", "column": 1}, 7.0),
        ({"pattern": r"energy = (\S+)"}, -1.5),
        ({"pattern": r"energy = (\S+)", "match": "first"}, -1.0),
        ({"pattern": r"energy = (\S+)", "match": "all", "shape": [2]}, [-1.0, -1.5]),
        ({"pattern": r"(?<=^final: ).*"}, 1000.0),
    ],
)
def test_a_rule_reads_its_output(folder: Path, rule: dict[str, Any], expected: Any) -> None:
    values = get(folder, **rule)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, expected)


def test_a_function_of_the_user_reads_an_output(folder: Path) -> None:
    np.testing.assert_array_equal(get(folder, parser=f"{folder}/read.py:half"), 3.5)
    assert not list(folder.rglob("*.pyc"))


@pytest.mark.parametrize(
    ("rule", "kind", "says"),
    [
        ({"file": "out.h5", "dataset": "fields/w"}, "output_unreadable", "no dataset 'fields/w'.*mean 'fields/u'"),
        ({"file": "out.h5", "dataset": "label"}, "output_unreadable", "holds .* and real numbers are needed"),
        ({"file": "u.txt", "dataset": "u"}, "output_unreadable", "u.txt is damaged, or no HDF5 file"),
        ({"file": "ouf.h5", "dataset": "u"}, "output_missing", "left no ouf.h5.*Did you mean 'out.h5'"),
        ({"file": "*.nc", "variable": "u"}, "output_unreadable", r"2 files match '\*.nc' \(new.nc, old.nc"),
        ({"file": "old.nc", "variable": "v"}, "output_unreadable", "no variable 'v'; it has u"),
        ({"file": "u.npy", "variable": "v"}, "output_unreadable", "no NetCDF file of the formats"),
        ({"file": "u.npz", "array": "v"}, "output_unreadable", "no array 'v'; it has u, words"),
        ({"file": "u.npz", "array": "words"}, "output_unreadable", "real numbers are needed"),
        ({"file": "u.npy", "array": "v"}, "output_unreadable", "one array without a name"),
        ({"file": "u.txt", "column": 3, "skip_rows": 1}, "output_unreadable", "u.txt, line 3: 'a' is no number"),
        ({"file": "u.txt", "column": 4, "skip_rows": 1}, "output_unreadable", "line 3: column 4 was asked for.*has 3"),
        ({"file": "u.txt", "column": "U"}, "output_unreadable", "no column 'U' in its header; it has time, u, v"),
        ({"pattern": "enthalpy = (.*)"}, "output_unreadable", "matches nothing in the program's output"),
        ({"pattern": r"enthalpy = (\S+)"}, "output_unreadable", r"The pattern 'enthalpy = \(\\S\+\)' matches nothing"),
        ({"pattern": "(step)"}, "output_unreadable", "finds in the program's output what is no number: 'step'"),
        ({"file": "u.npy", "shape": [3, 5]}, "wrong_shape", r"has the shape \[3, 4\], and 'shape' declares \[3, 5\]"),
        ({"file": "u.npy", "index": [3]}, "wrong_shape", r"has the shape \[3, 4\], and 'index' asks for \[3\]"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_its_kind(folder: Path, rule: dict, kind: str, says: str) -> None:
    with pytest.raises(SimulationError, match=f"Output 'T': .*{says}") as caught:
        get(folder, **rule)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("words", "did not return numbers: its result is list of <U1"),
        ("broken", "'read.py:broken' failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_function_that_fails_is_named(folder: Path, function: str, says: str) -> None:
    with pytest.raises(SimulationError, match=says):
        get(folder, parser=f"{folder}/read.py:{function}")


def test_the_shape_that_axes_give_is_named_as_theirs(folder: Path) -> None:
    options = read(
        complete(
            {
                "command": ["a"],
                "outputs": {"T": {"file": "u.npy", "dims": ["t", "x"]}},
                "coordinates": {"t": {"values": [0, 1, 2]}, "x": {"values": [0, 1]}},
            }
        )
    )
    (column,) = output_schema(options).columns
    with pytest.raises(SimulationError, match=r"and its axes t, x give \[3, 2\]"):
        read_output(options.outputs["T"], column, folder, folder / "stdout.txt")


@pytest.mark.parametrize("name", ["out.h5", "old.nc", "new.nc", "u.npy", "u.npz"])
def test_a_file_that_is_cut_off_anywhere_is_a_sentence(folder: Path, name: str) -> None:
    rule = {"h5": {"dataset": "fields/u"}, "nc": {"variable": "u"}, "npy": {}, "npz": {"array": "u"}}[
        name.split(".")[1]
    ]
    path = folder / name
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        try:
            values = get(folder, file=name, shape=[3, 4], **rule)
        except SimulationError as error:
            assert error.kind in ("output_unreadable", "wrong_shape"), error  # noqa: PT017 - many lengths in one test
        else:
            assert values.shape == (3, 4), "what was cut off held no values"


def test_pickled_objects_are_never_loaded(folder: Path) -> None:
    np.save(folder / "o.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(SimulationError, match="Python objects instead of numbers"):
        get(folder, file="o.npy")


@pytest.mark.parametrize("text", ["1.5", " -1.5E+3", "1.5d3", "+.5D-3", "1.0-100", "NaN", "-Infinity"])
def test_numbers_of_fortran_are_numbers(text: str) -> None:
    assert isinstance(number(text), float)


@pytest.mark.parametrize(
    ("text", "says"), [("*****", "The field was too narrow"), ("1.5x", "is no number"), ("", "no")]
)
def test_other_words_are_no_numbers(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        number(text)


@pytest.mark.parametrize(
    ("parser", "says"),
    [
        ("{}/read.py:hlaf", "has no function 'hlaf'. Did you mean 'half'"),
        ("no_such_module_of_ours:f", "cannot be imported: ModuleNotFoundError"),
        ("{}/bad.py:f", "cannot be imported: SyntaxError"),
    ],
)
def test_a_parser_that_cannot_be_loaded_is_refused_before_anything_runs(folder: Path, parser: str, says: str) -> None:
    (folder / "bad.py").write_text("def f(:\n")
    with pytest.raises(ConfigError, match=says):
        load_parser(parser.format(folder))
