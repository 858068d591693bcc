"""Sifting: each sample is judged for itself."""

import numpy as np

from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Ragged, Schema
from surrogate.data.readers.protocol import Block, Piece
from surrogate.design.parameters import Parameter, ParameterSpace
from workflows.ingest.sift import sift

SPACE = ParameterSpace((Parameter("a", 0.0, 1.0), Parameter("kind", scale="categorical", choices=("gas", "oil"))))
SCHEMA = Schema((*SPACE.columns, Column("y", "output", "m", shape=(2,), low=0.0)))


def block(**changes):
    columns = {
        "a": np.asarray([0.1, 0.2, 0.3, 1.0 + 1e-14]), "kind": np.asarray(["oil", "gas", "oil", "gas"]),
        "y": np.ones((4, 2)), **changes,
    }  # fmt: skip
    return Block(columns, ("g", "g", "h", "h"))


def test_good_samples_are_kept_with_their_groups():
    found = sift(block(), Piece(10, 14), SCHEMA, SPACE)
    assert (found.samples, found.left_out, found.refused) == (4, (), ())
    y = np.ones((4, 2))
    y[1, 1], y[2, 0] = np.nan, -1.0
    found = sift(block(y=y, kind=np.asarray(["oil", "gas", "oil", "water"])), Piece(10, 14), SCHEMA, SPACE)
    assert found.samples == 1
    assert found.kept.groups == ("g",)
    assert found.left_out == (11, 12, 13)
    assert [entry.row for entry in found.refused] == [11, 12, 13]
    assert [entry.kind.value for entry in found.refused] == ["not_finite", "out_of_bounds", "out_of_bounds"]
    assert "of sample 11 is nan m at [1]" in found.refused[0].reason
    assert "of sample 12 is -1 m at [0]; at least 0" in found.refused[1].reason
    assert "'kind' of sample 13 is 'water'; one of gas, oil is expected" in found.refused[2].reason
    assert found.refused[1].inputs == {"a": 0.3, "kind": "oil"}


def test_inputs_are_rounded_as_points_are():
    found = sift(block(a=np.asarray([0.1 + 1e-17, 1 / 3, 0.2, 0.3])), Piece(0, 4), SCHEMA, SPACE)
    assert found.kept.columns["a"].tolist() == [0.1, 0.333333333333, 0.2, 0.3]


def test_a_wrong_shape_refuses_the_whole_piece():
    found = sift(block(y=np.ones((4, 3))), Piece(0, 4), SCHEMA, SPACE)
    assert found.kept is None
    (entry,) = found.refused
    assert (entry.samples, entry.row, entry.kind) == (4, None, FailureKind.WRONG_SHAPE)
    assert "has the shape [3] in a sample; [2] is expected" in entry.reason
    found = sift(block(y=np.asarray([object()] * 4)), Piece(0, 4), SCHEMA, SPACE)
    assert found.refused[0].kind is FailureKind.OUTPUT_UNREADABLE


def test_ragged_samples_are_judged_for_themselves():
    schema = Schema((Column("a", "input"), Column("t", "output", shape=(-1,), high=9.0)))
    space = ParameterSpace((Parameter("a", 0.0, 1.0),))
    trace = Ragged.from_list([np.ones(2), np.asarray([1.0, 10.0]), np.zeros(0), np.asarray([np.inf])])
    found = sift(Block({"a": np.asarray([0.1, 0.2, 0.3, 0.4]), "t": trace}), Piece(0, 4), schema, space)
    assert found.left_out == (1, 3)
    assert found.kept.columns["t"].offsets.tolist() == [0, 2, 2]
    assert "is 10 at [1]; at most 9 is expected" in found.refused[0].reason
