"""Files of predictions."""

from __future__ import annotations

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.schema import RAGGED, Column, Ragged, Schema
from surrogate.inference.outputs import open_output, write_prediction
from surrogate.inference.predictor import Predictor
from surrogate.models.protocols import Prediction
from surrogate.models.values import cut
from tests.support import toy_surrogate as toy


def test_a_table_has_a_column_for_every_number(predictor: Predictor, tmp_path: Path):
    inputs = toy.table(5, seed=4).inputs
    answer = predictor.predict(inputs)
    write_prediction(tmp_path / "out.csv", toy.SCHEMA, inputs, answer)
    with (tmp_path / "out.csv").open() as source:
        rows = list(csv.DictReader(source))
    assert len(rows) == 5
    assert list(rows[0])[:2] == ["speed", "width"]
    assert float(rows[3]["speed"]) == inputs["speed"][3], "every digit is kept"
    assert float(rows[3]["height[2,7] [m]"]) == answer.mean["height"][3, 2, 7]
    assert float(rows[3]["height[2,7]_upper [m]"]) == answer.upper["height"][3, 2, 7]
    assert float(rows[1]["load_std [newton]"]) == answer.std["load"][1]
    assert rows[0]["in_domain"] in {"true", "false"}


def test_hdf5_carries_units_and_axes(predictor: Predictor, tmp_path: Path):
    inputs = toy.table(7, seed=4).inputs
    answer = predictor.predict(inputs)
    with open_output(tmp_path / "out.h5", toy.SCHEMA, {"version": "abc"}) as writer:
        for start in (0, 3, 6):
            stop = min(start + 3, 7)
            picks = {pick: cut(getattr(answer, pick), start, stop) for pick in ("mean", "std", "lower", "upper")}
            writer.append(cut(inputs, start, stop), Prediction(**picks, in_domain=answer.in_domain[start:stop]))
    with h5py.File(tmp_path / "out.h5") as file:
        assert file.attrs["rows"] == 7
        assert file.attrs["version"] == "abc"
        for pick in ("mean", "std", "lower", "upper"):
            assert np.array_equal(file[f"{pick}/height"][()], getattr(answer, pick)["height"])
        assert file["mean/height"].attrs["unit"] == "m"
        assert file["inputs/speed"].attrs["unit"] == "m/s"
        assert file["mean/height"].dims[2].label == "x"
        assert np.array_equal(file["mean/height"].dims[1][0][()], toy.TIMES)
        assert file["coordinates/t"].attrs["unit"] == "s"
        assert np.array_equal(file["in_domain"][()], answer.in_domain)


RAGGED_SCHEMA = Schema(
    (
        Column("kind", "input", dtype="str"),
        Column("positions", "input", "angstrom", "float64", (RAGGED, 3), ("atom", "axis")),
        Column("forces", "output", "hartree/angstrom", "float64", (RAGGED, 3), ("atom", "axis")),
    )
)


def ragged_case() -> tuple[dict, Prediction]:
    offsets = np.array([0, 2, 2, 5])
    inputs = {"kind": np.array(["a", "bb", "c"]), "positions": Ragged(np.arange(15.0).reshape(5, 3), offsets)}
    forces = {"forces": Ragged(np.arange(15.0).reshape(5, 3) / 7, offsets)}
    return inputs, Prediction(forces, forces, forces, forces, np.ones(3, bool))


def test_ragged_outputs_are_flat_data_and_offsets(tmp_path: Path):
    inputs, answer = ragged_case()
    with open_output(tmp_path / "out.h5", RAGGED_SCHEMA) as writer:
        writer.append(inputs, answer)
        writer.append(inputs, answer)
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["mean/forces/offsets"][()].tolist() == [0, 2, 2, 5, 7, 7, 10]
        assert np.array_equal(file["mean/forces/data"][5:], answer.mean["forces"].data)
        assert file["inputs/kind"].asstr()[()].tolist() == ["a", "bb", "c", "a", "bb", "c"]
        assert file["mean/forces/data"].attrs["unit"] == "hartree/angstrom"


def test_what_no_table_can_hold_is_refused_before_anything_is_written(tmp_path: Path):
    inputs, answer = ragged_case()
    with pytest.raises(DataError, match=r"differ in length.*Write a \.h5 file"):
        write_prediction(tmp_path / "out.csv", RAGGED_SCHEMA, inputs, answer)
    wide = Schema((Column("f", "output", shape=(5000,)),))
    with pytest.raises(DataError, match="20001 columns"):
        write_prediction(tmp_path / "out.csv", wide, {}, answer)
    with pytest.raises(DataError, match=r"\.csv or \.h5, and out\.xlsx"):
        write_prediction(tmp_path / "out.xlsx", wide, {}, answer)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".h5"])
def test_a_writer_that_fails_leaves_the_old_file(predictor: Predictor, tmp_path: Path, suffix: str):
    target = tmp_path / f"out{suffix}"
    target.write_text("old")
    inputs = toy.table(2, seed=4).inputs
    answer = predictor.predict(inputs)

    def write_and_fail() -> None:
        with open_output(target, toy.SCHEMA) as writer:
            writer.append(inputs, answer)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_family_adds_is_written_too(tmp_path: Path):
    schema = Schema((Column("x", "input"), Column("word", "output", dtype="str")))
    share = {"word_probability": np.array([[0.2, 0.8], [0.6, 0.4]])}
    answer = Prediction(share, share, share, share, np.ones(2, bool))
    write_prediction(tmp_path / "out.csv", schema, {"x": np.zeros(2)}, answer)
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header.startswith("x,word_probability[0],word_probability[1],word_probability[0]_std")
    write_prediction(tmp_path / "out.h5", schema, {"x": np.zeros(2)}, answer)
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["mean/word_probability"].shape == (2, 2)
