"""Run files come back as they were written, or are refused in a sentence."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surrogate.core.errors import DataError, IntegrityError
from surrogate.core.schema import Column, Ragged, Schema
from surrogate.data.run_file import read_run_file, write_run_file
from surrogate.data.sealed import SEAL_BYTES, Seal
from tests.support.hdf5_headers import headers_with_times
from tests.support.runs import SCHEMA, run_columns, write_run


def test_every_sort_of_column_comes_back(tmp_path: Path) -> None:
    path = write_run(tmp_path, 7, samples=3, groups=("g", "", "ö"))
    run = read_run_file(path)
    written = run_columns(7, 3)
    assert headers_with_times(path.read_bytes()) == 0
    assert run.schema == SCHEMA
    assert run.samples == 3
    assert run.groups == ("g", "", "ö")
    assert run.provenance == {"number": 7, "host": "here"}
    assert run.columns["kind"].tolist() == written["kind"]
    assert run.columns["label"].dtype == np.bool_
    np.testing.assert_array_equal(run.columns["field"], written["field"])
    path_column = run.columns["path"]
    assert isinstance(path_column, Ragged)
    assert path_column.data.dtype == np.float32
    for row in range(3):
        np.testing.assert_array_equal(path_column[row], written["path"][row].astype(np.float32))


def test_other_programs_can_read_it(tmp_path: Path) -> None:
    with h5py.File(write_run(tmp_path, 1)) as file:
        assert file["outputs/field"].attrs["unit"] == "K"
        assert file["outputs/field"].attrs["dims"] == "t x"
        assert file["inputs/a"].attrs["description"] == "a length"
        assert file["coordinates/x"].attrs["unit"] == "m"
        assert file["outputs/path/offsets"][()].tolist() == [0, 1]
        assert file.attrs["format_version"] == 1


numbers = st.sampled_from(["float64", "float32", "int64", "int8", "bool", "complex128"])


@st.composite
def columns(draw: st.DrawFn) -> tuple[Column, Any, int]:
    samples = draw(st.integers(1, 4))
    dtype = draw(numbers)
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    if draw(st.booleans()):
        parts = [
            draw(
                hnp.arrays(
                    dtype,
                    (draw(st.integers(0, 3)), *shape),
                    elements={"allow_nan": False} if dtype[0] in "fc" else None,
                )
            )
            for _ in range(samples)
        ]
        return Column("v", "output", dtype=dtype, shape=(-1, *shape)), parts, samples
    values = draw(hnp.arrays(dtype, (samples, *shape)))
    return Column("v", "output", dtype=dtype, shape=shape), values, samples


@settings(deadline=None, max_examples=60)
@given(columns())
def test_round_trip_of_any_column(case: tuple[Column, Any, int]) -> None:
    column, values, samples = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        write_run_file(path, Schema((column,)), {"v": values}, durable=False)
        run = read_run_file(path)
    assert run.samples == samples
    assert run.schema.columns == (column,)
    for row in range(samples):
        np.testing.assert_array_equal(run.columns["v"][row], values[row])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_round_trip_of_any_text(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        write_run_file(path, Schema((Column("w", "input", dtype="str"),)), {"w": words}, words, durable=False)
        run = read_run_file(path)
    assert run.columns["w"].tolist() == words
    assert list(run.groups) == words


def test_what_json_cannot_say_is_written_as_text(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    facts = {"cfl": np.float32(0.5), "residual": float("nan"), "folder": tmp_path, "ranks": np.arange(2), 3: {"set"}}
    write_run_file(path, SCHEMA, run_columns(1), provenance=facts)
    assert read_run_file(path).provenance == {
        "cfl": 0.5, "residual": "nan", "folder": str(tmp_path), "ranks": [0, 1], "3": ["set"],
    }  # fmt: skip


def test_text_with_a_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"kind.*NUL"):
        write_run(tmp_path, 1, kind=["a\0b"])


@pytest.mark.parametrize("values", [[object()], [[1.0], [1.0, 2.0]], np.zeros(1, dtype="datetime64[s]")])
def test_what_is_no_array_is_refused_by_name(tmp_path: Path, values: Any) -> None:
    with pytest.raises(DataError, match="'a'"):
        write_run(tmp_path, 1, a=values)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, 3, samples=2)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 61), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(IntegrityError, match=r"run-3\.h5.*resume the campaign"):
            read_run_file(path)


def test_a_file_damaged_anywhere_is_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, 3, samples=2)
    whole = path.read_bytes()
    for place in range(0, len(whole), 64):
        damaged = bytearray(whole)
        damaged[place] ^= 0x20
        path.write_bytes(damaged)
        with pytest.raises((IntegrityError, DataError), match=r"run-3\.h5"):
            read_run_file(path)


def test_bytes_after_the_end_are_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, 3)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(IntegrityError, match="torn"):
        read_run_file(path)


def test_a_newer_format_and_another_kind_are_told(tmp_path: Path) -> None:
    path = write_run(tmp_path, 3)
    whole = path.read_bytes()
    head = whole[:SEAL_BYTES].decode().split("\n")
    sha256 = head[4].split()[1]
    path.write_bytes(Seal("run", 2, len(whole), sha256).to_bytes() + whole[SEAL_BYTES:])
    with pytest.raises(DataError, match=r"version 2.*newer surrogate-hpc"):
        read_run_file(path)
    path.write_bytes(Seal("shard", 1, len(whole), sha256).to_bytes() + whole[SEAL_BYTES:])
    with pytest.raises(DataError, match="is a shard file"):
        read_run_file(path)


def test_a_whole_hdf5_file_of_others_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.zeros(2000)
    with pytest.raises(IntegrityError, match="not a seal"):
        read_run_file(tmp_path / "other.h5")


def test_an_old_file_stays_when_writing_fails(tmp_path: Path) -> None:
    path = write_run(tmp_path, 3)
    before = path.read_bytes()
    with pytest.raises(DataError):
        write_run(tmp_path, 3, a=[object()])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run-3.h5"]
