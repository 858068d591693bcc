"""Parts of a large prediction."""

from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import IntegrityError
from surrogate.core.schema import Column, Ragged, Schema
from surrogate.inference.outputs import PARTS, open_output
from surrogate.inference.parts import part_is_whole, read_part, write_part
from surrogate.models.protocols import Prediction
from tests.support.hdf5_headers import headers_with_times

SCHEMA = Schema(
    (
        Column("a", "input"),
        Column("kind", "input", dtype="str"),
        Column("u", "output", shape=(3,)),
        Column("t", "output", shape=(-1,)),
    )
)
INPUTS = {"a": np.arange(4.0), "kind": np.asarray(["oil", "gas", "é", "oil"])}
U, T = np.arange(12.0).reshape(4, 3), Ragged.from_list([np.ones(n) * n for n in (0, 3, 1, 2)])
ANSWER = Prediction(*[{"u": U + i, "t": Ragged(T.data + i, T.offsets)} for i in range(4)], np.asarray([1, 0, 1, 1]) > 0)


def test_a_part_reads_back(tmp_path: Path):
    path = tmp_path / "p.h5"
    write_part(path, INPUTS, ANSWER)
    assert part_is_whole(path)
    assert headers_with_times(path.read_bytes()) == 0
    inputs, answer = read_part(path, SCHEMA)
    assert inputs["kind"].tolist() == INPUTS["kind"].tolist()
    for part in PARTS:
        assert np.array_equal(getattr(answer, part)["u"], getattr(ANSWER, part)["u"])
        assert np.array_equal(getattr(answer, part)["t"].data, getattr(ANSWER, part)["t"].data)
        assert np.array_equal(getattr(answer, part)["t"].offsets, T.offsets)
    assert answer.in_domain.tolist() == [True, False, True, True]


def test_a_part_that_is_not_whole_is_none(tmp_path: Path):
    path = tmp_path / "p.h5"
    assert not part_is_whole(path)
    write_part(path, INPUTS, ANSWER)
    whole = path.read_bytes()
    for place in range(0, len(whole), 997):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert not part_is_whole(path)
        path.write_bytes(whole[:place])
        assert not part_is_whole(path)
    with pytest.raises(IntegrityError, match="give the same command again"):
        read_part(path, SCHEMA)
    path.write_bytes(whole)
    with pytest.raises(IntegrityError, match="belongs to another surrogate"):
        read_part(path, Schema(SCHEMA.columns[1:]))


@pytest.mark.parametrize("name", ["a.h5", "a.csv"])
def test_the_same_answers_are_the_same_bytes(name: str, tmp_path: Path):
    schema = Schema(SCHEMA.columns[:3])
    answer = Prediction(*[{"u": getattr(ANSWER, part)["u"]} for part in PARTS], ANSWER.in_domain)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        with open_output(tmp_path / folder / name, schema, {"surrogate": "x"}) as writer:
            writer.append(INPUTS, answer)
            # HDF5 notes times in whole seconds.
            _sleep_a_second()
            writer.append(INPUTS, answer)
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def _sleep_a_second() -> None:
    import time

    time.sleep(1.05)
