"""Pictures of every shape that an output can have."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.schema import RAGGED, Column, Coordinate, Schema
from surrogate.validation.report import ReportData
from surrogate.validation.report.axes import curves_of, input_axes
from surrogate.validation.report.fields import choose
from surrogate.validation.report.page import render_report
from tests.support import toy_surrogate as toy
from tests.support.toy_shapes import KINDS, X, validation_of


@pytest.mark.parametrize("kind", KINDS)
def test_every_shape_has_a_report(kind: str):
    page = render_report(ReportData("any", validation_of(*KINDS[kind]), None, {}))
    assert "Best, median and worst samples" in page
    assert "<svg" in page


def test_curves_of_a_field_are_spread_evenly():
    column = Column("y", "output", shape=(9, 3), dims=("t", "x"))
    schema = Schema((column,), (X, Coordinate("t", "s", tuple(float(i) for i in range(9)))))
    sample = np.arange(27.0).reshape(9, 3)
    curves = curves_of(schema, column, sample)
    assert curves.names == ("t = 0 s", "t = 2 s", "t = 4 s", "t = 6 s", "t = 8 s")
    assert np.array_equal(curves.curves, sample[[0, 2, 4, 6, 8]])
    assert curves.x_label == "x [m]"
    assert curves.x.tolist() == [0.0, 0.5, 1.0]


def test_volumes_are_shown_in_their_middle_and_ragged_vectors_by_their_norm():
    column = Column("y", "output", shape=(5, 2, 3))
    sample = np.arange(30.0).reshape(5, 2, 3)
    assert np.array_equal(curves_of(Schema((column,)), column, sample).curves, sample[2])
    ragged = Column("f", "output", shape=(RAGGED, 3))
    curves = curves_of(Schema((ragged,)), ragged, np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]))
    assert curves.curves.tolist() == [[5.0, 2.0]]


def test_best_median_and_worst_are_what_they_say():
    chosen = choose(np.array([5.0, 1.0, np.nan, 3.0, 2.0]))
    assert [(entry.rank, entry.row) for entry in chosen] == [("best", 1), ("median", 3), ("worst", 2)]
    assert [entry.rank for entry in choose(np.array([1.0]))] == ["best"]


def test_inputs_are_axes_on_their_own_scale():
    speed, width = input_axes(toy.table(5), toy.SPACE)
    assert (speed.label, speed.logarithmic) == ("speed [m/s]", False)
    assert (width.label, width.logarithmic) == ("width [m]", True)
    assert not input_axes(toy.table(5), None)[1].logarithmic
