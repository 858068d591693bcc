"""What is stamped is what the library writes, and what is cut is what the library reads."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surrogate.core.schema import Column, Coordinate, Schema
from surrogate.data import run_file
from surrogate.data.run_file import read_run_file, write_run_file
from surrogate.data.sealed import SEAL_BYTES
from surrogate.data.stencil import LARGEST_BYTES, Stencil

SCHEMA = Schema(
    (
        Column("a", "input", unit="m", description="a length"),
        Column("kind", "input", dtype="str"),
        Column("n", "input", dtype="int64"),
        Column("field", "output", shape=(2, 3), dims=("t", "x")),
        Column("flag", "output", dtype="bool"),
        Column("z", "output", dtype="complex64"),
        Column("none", "output", dtype="float32", shape=(0,)),
    ),
    (Coordinate("x", "m", (0.0, 0.5, 1.0)),),
)
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308)


def a_run(seed, samples=2):
    """Return the columns, groups and provenance of one run; odd numbers and words among them."""
    random = np.random.default_rng(seed)

    def numbers(*shape):
        return np.where(random.random(shape) < 0.3, random.choice(ODD, shape), random.normal(size=shape))

    return (
        {
            "a": numbers(samples),
            "kind": random.choice(["", "µ", "word", "another"], samples).tolist(),
            "n": random.integers(-(2**60), 2**60, samples),
            "field": numbers(samples, 2, 3),
            "flag": random.random(samples) < 0.5,
            "z": random.normal(size=(samples, 2)).astype(np.float32).view(np.complex64)[:, 0],
            "none": np.zeros((samples, 0), np.float32),
        },
        random.choice(["", "g1", "g22"], samples).tolist(),
        {"note": "µ" * int(random.integers(0, 300)), "seed": seed},
    )


def fresh(monkeypatch):
    monkeypatch.setattr(run_file, "_LAYOUTS", run_file._Layouts(16))


def same(one, other):
    for fact in ("schema", "samples", "groups", "provenance"):
        assert getattr(one, fact) == getattr(other, fact)
    for name, values in one.columns.items():
        assert values.dtype == other.columns[name].dtype
        np.testing.assert_array_equal(values, other.columns[name])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 2**32), min_size=3, max_size=3, unique=True))
def test_stamped_files_are_those_of_the_library_byte_for_byte(tmp_path_factory, seeds):
    folder = tmp_path_factory.mktemp("stencil")
    made = [a_run(seed) for seed in seeds]
    with pytest.MonkeyPatch.context() as patch:
        library_read = []
        for number, (columns, groups, facts) in enumerate(made):
            fresh(patch)
            write_run_file(folder / f"library-{number}.h5", SCHEMA, columns, groups, facts, durable=False)
            library_read.append(read_run_file(folder / f"library-{number}.h5"))
        fresh(patch)
        for number, (columns, groups, facts) in enumerate(made):
            path = folder / f"stamped-{number}.h5"
            write_run_file(path, SCHEMA, columns, groups, facts, durable=False)
            assert path.read_bytes() == (folder / f"library-{number}.h5").read_bytes()
            same(read_run_file(path), library_read[number])


def columns_of(value: float):
    return {
        "a": [value], "kind": ["x"], "n": [1], "field": np.full((1, 2, 3), value), "flag": [True],
        "z": np.full(1, value, np.complex64), "none": np.zeros((1, 0), np.float32),
    }  # fmt: skip


def test_files_of_one_layout_are_stamped_and_cut(tmp_path, monkeypatch):
    fresh(monkeypatch)
    used = []
    monkeypatch.setattr(
        Stencil, "stamp", lambda self, arrays, stamp=Stencil.stamp: used.append("stamp") or stamp(self, arrays)
    )
    monkeypatch.setattr(Stencil, "cut", lambda self, content, cut=Stencil.cut: used.append("cut") or cut(self, content))
    for number in range(3):
        path = tmp_path / f"{number}.h5"
        write_run_file(path, SCHEMA, columns_of(number), (), {"number": number}, durable=False)
        assert read_run_file(path).columns["field"][0, 0, 0] == number
    assert used == ["stamp", "cut", "stamp", "cut"]
    with h5py.File(tmp_path / "2.h5") as file:
        assert file["outputs/field"][0, 1, 2] == 2.0
        assert file["inputs/kind"].asstr()[0] == "x"


def test_what_is_cut_may_be_changed(tmp_path, monkeypatch):
    fresh(monkeypatch)
    for number in range(2):
        write_run_file(tmp_path / "x.h5", SCHEMA, columns_of(number), durable=False)
        run = read_run_file(tmp_path / "x.h5")
    run.columns["a"][0] = 7.0
    assert read_run_file(tmp_path / "x.h5").columns["a"][0] == 1.0


def small_file(value: float, note: str = "") -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver=("v108", "latest")) as file:
        file["x"] = np.full(4, value)
        file["y"] = np.array([value])
        file.attrs["note"] = note
    return buffer.getvalue()


def test_another_byte_outside_the_arrays_is_another_layout():
    stencil = Stencil.of(small_file(1.0, "aa"), ("x", "y"), 0)
    assert stencil.fits(stencil.image)
    assert not stencil.fits(small_file(2.0, "ab"))
    assert not stencil.fits(small_file(2.0, "aaa"))
    for position in range(0, len(stencil.image), 7):
        changed = bytearray(stencil.image)
        changed[position] ^= 1
        inside = any(span.start <= position < span.stop for span in stencil.spans)
        assert stencil.fits(bytes(changed)) is inside


def test_arrays_that_do_not_stand_there_as_plain_bytes_have_no_stencil():
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("x", data=np.arange(100.0), chunks=(10,), compression="gzip")
    assert Stencil.of(buffer.getvalue(), ("x",), 0) is None
    big = io.BytesIO()
    with h5py.File(big, "w") as file:
        file["x"] = np.zeros(LARGEST_BYTES)
    assert Stencil.of(big.getvalue(), ("x",), 0) is None


def test_the_seal_is_no_part_of_a_layout(tmp_path, monkeypatch):
    fresh(monkeypatch)
    write_run_file(tmp_path / "x.h5", SCHEMA, columns_of(1.0), durable=False)
    content = (tmp_path / "x.h5").read_bytes()
    stencil = Stencil.of(content, ("inputs/a",), SEAL_BYTES)
    assert stencil.shared[0][0] == SEAL_BYTES
    assert stencil.fits(b"\0" * SEAL_BYTES + content[SEAL_BYTES:])
