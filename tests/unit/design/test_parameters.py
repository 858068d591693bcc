"""The parameter space: what it refuses, and its exact way to the unit cube and back."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surrogate.core.errors import SpaceError, UnitError
from surrogate.core.identity import canonical_float
from surrogate.design.catalogue import space_from_json
from surrogate.design.discrete import Integer
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.scales import Linear, Log10
from surrogate.design.space import InputSpace

SPACE = ParameterSpace(
    (
        Parameter("M", 0.5, 20.0, scale="log10", description="mobility ratio"),
        Parameter("Swc", 0.0, 0.3),
        Parameter("cells", 3, 9, scale="integer"),
        Parameter("limiter", scale="categorical", choices=("minmod", "van_leer")),
        Parameter("T", -40.0, 60.0, unit="kelvin"),
    )
)
POINT = {"M": 2.0, "Swc": 0.1, "cells": 4, "limiter": "minmod", "T": 0.0}


def test_it_is_an_input_space_and_names_its_columns():
    assert isinstance(SPACE, InputSpace)
    assert SPACE.kind == "parameters"
    assert SPACE.dimensions == 5
    assert [(c.name, c.role, c.unit, c.dtype, c.shape) for c in SPACE.columns] == [
        ("M", "input", "1", "float64", ()),
        ("Swc", "input", "1", "float64", ()),
        ("cells", "input", "1", "int64", ()),
        ("limiter", "input", "1", "str", ()),
        ("T", "input", "kelvin", "float64", ()),
    ]
    assert (SPACE.columns[0].low, SPACE.columns[0].high) == (0.5, 20.0)
    assert SPACE.columns[0].description == "mobility ratio"


def test_json_round_trip():
    rebuilt = space_from_json(SPACE.to_json())
    assert rebuilt == SPACE
    assert rebuilt.to_json() == SPACE.to_json()


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({}, "no 'kind'"),
        ({"kind": "parametres"}, "Did you mean 'parameters'?"),
        ({"kind": "parameters"}, "no record"),
        ({"kind": "parameters", "parameters": [{"nmae": "x", "choices": []}]}, "no record"),
    ],
)
def test_a_record_of_something_else_is_refused(record, told):
    with pytest.raises(SpaceError, match=told.replace("?", r"\?")):
        space_from_json(record)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "x", "low": 2, "high": 1}, "'low' must be below 'high', and low = 2, high = 1 was found"),
        ({"name": "x", "low": 1, "high": 1}, "'low' must be below 'high'"),
        ({"name": "x", "low": 1.0, "high": 1.0 + 1e-14}, "'low' must be below 'high'"),
        ({"name": "x", "low": 0, "high": 1, "scale": "log10"}, "must be above 0 on a log10 scale"),
        ({"name": "x", "low": -1, "high": 1, "scale": "log10"}, "must be above 0 on a log10 scale"),
        ({"name": "x", "low": 0, "high": 1, "scale": "log"}, "'log' is not known.*Did you mean 'log10'"),
        ({"name": "x", "low": 0}, "'high' is missing"),
        ({"name": "x", "high": 0}, "'low' is missing"),
        ({"name": "x", "low": 0, "high": math.inf}, "must be a finite number"),
        ({"name": "x", "low": math.nan, "high": 1}, "must be a finite number"),
        ({"name": "x", "low": "0", "high": 1}, "must be a number"),
        ({"name": "x", "low": True, "high": 2}, "must be a number"),
        ({"name": "x", "low": 0, "high": 1e305}, "1e300"),
        ({"name": "x", "low": 1e-310, "high": 1, "scale": "log10"}, "1e-300"),
        ({"name": "x", "low": 0.5, "high": 3, "scale": "integer"}, "must be a whole number"),
        ({"name": "x", "low": 0, "high": 2**51, "scale": "integer"}, "2⁵⁰"),
        ({"name": "x", "scale": "categorical"}, "at least one word"),
        ({"name": "x", "scale": "categorical", "choices": ("a", "a")}, "'a' appears twice"),
        ({"name": "x", "scale": "categorical", "choices": (1, 2)}, "words in quotation marks, and 1 was found"),
        ({"name": "x", "scale": "categorical", "choices": ("a", "")}, "words in quotation marks"),
        ({"name": "x", "scale": "categorical", "choices": ("a", "b"), "low": 0}, "neither 'low' nor 'high'"),
        ({"name": "x", "low": 0, "high": 1, "choices": ("a",)}, "belong to the scale 'categorical'"),
        ({"name": "2x", "low": 0, "high": 1}, "name is a letter"),
        ({"name": "a b", "low": 0, "high": 1}, "name is a letter"),
        ({"name": "a/b", "low": 0, "high": 1}, "name is a letter"),
        ({"name": "", "low": 0, "high": 1}, "name is a letter"),
    ],
)
def test_what_is_no_parameter_is_told_in_a_sentence(arguments, told):
    with pytest.raises(SpaceError, match=told) as caught:
        Parameter(**arguments)
    assert str(caught.value).endswith((".", "?"))


def test_an_unknown_unit_names_the_input():
    with pytest.raises(UnitError, match="Input 'x': The unit 'metre per fortnigt'"):
        Parameter("x", 0, 1, unit="metre per fortnigt")


def test_a_space_needs_inputs_of_different_names():
    with pytest.raises(SpaceError, match="at least one input"):
        ParameterSpace(())
    with pytest.raises(SpaceError, match="'x' is declared twice"):
        ParameterSpace((Parameter("x", 0, 1), Parameter("y", 0, 1), Parameter("x", 0, 2)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Swc": "0.1"}, "'Swc' must be a number, and '0.1' was found"),
        ({"Swc": None}, "'Swc' must be a number"),
        ({"Swc": True}, "'Swc' must be a number"),
        ({"Swc": math.nan}, "'Swc' must be a finite number, and nan was found"),
        ({"Swc": 10**400}, "'Swc' must be a finite number"),
        ({"cells": 3.5}, "'cells' must be a whole number, and 3.5 was found"),
        ({"cells": "3"}, "'cells' must be a whole number"),
        ({"cells": math.inf}, "'cells' must be a whole number"),
        ({"limiter": "minmood"}, "must be one of 'minmod', 'van_leer', and 'minmood' was found. Did you mean 'minmod'"),
        ({"limiter": 1}, "must be one of"),
        ({"Sor": 0.1}, "no input 'Sor'; there are M, Swc, cells, limiter, T"),
        ({1: 0.1}, "no input '1'"),
    ],
)
def test_a_point_of_another_type_is_refused(change, told):
    with pytest.raises(SpaceError, match=told):
        SPACE.canonicalise({**POINT, **change})


def test_a_point_without_an_input_is_refused():
    with pytest.raises(SpaceError, match="no value for 'cells'"):
        SPACE.canonicalise({name: value for name, value in POINT.items() if name != "cells"})


def test_canonical_points_have_order_types_and_twelve_digits():
    point = SPACE.canonicalise(
        {"limiter": np.str_("van_leer"), "cells": 4.0, "T": np.float32(1.5), "Swc": -0.0, "M": 1.23456789012345}
    )
    assert list(point) == ["M", "Swc", "cells", "limiter", "T"]
    assert point == {"M": 1.23456789012, "Swc": 0.0, "cells": 4, "limiter": "van_leer", "T": 1.5}
    assert [type(value) for value in point.values()] == [float, float, int, str, float]
    assert math.copysign(1, point["Swc"]) == 1


def test_bounds_are_no_error_and_are_told():
    outside = SPACE.canonicalise({**POINT, "T": 99})
    assert not SPACE.contains(outside)
    assert SPACE.outside(outside) == "'T' is 99.0 kelvin, outside [-40.0, 60.0] kelvin"
    assert SPACE.contains(SPACE.canonicalise(POINT))
    assert SPACE.outside(SPACE.canonicalise(POINT)) is None
    unit = SPACE.to_unit([outside, SPACE.canonicalise({**POINT, "M": -1.0, "cells": 2})])
    assert unit[0, 4] > 1
    assert unit[1, 0] == -np.inf
    assert unit[1, 2] < 0


def test_unit_points_of_another_shape_or_outside_are_refused():
    for bad in (np.zeros(5), np.zeros((2, 4)), np.full((1, 5), 1.1), np.full((1, 5), np.nan), np.full((1, 5), -0.1)):
        with pytest.raises(SpaceError):
            SPACE.from_unit(bad)
    assert SPACE.from_unit(np.zeros((0, 5))) == []


def test_the_corners_of_the_cube_are_the_bounds():
    low, high = SPACE.from_unit(np.asarray([[0.0] * 5, [1.0] * 5]))
    assert low == {"M": 0.5, "Swc": 0.0, "cells": 3, "limiter": "minmod", "T": -40.0}
    assert high == {"M": 20.0, "Swc": 0.3, "cells": 9, "limiter": "van_leer", "T": 60.0}


def test_integers_and_words_own_equal_parts():
    unit = np.zeros((700, 5))
    unit[:, 2] = (np.arange(700) + 0.5) / 700
    cells = [point["cells"] for point in SPACE.from_unit(unit)]
    assert [cells.count(value) for value in range(3, 10)] == [100] * 7


places = st.floats(0, 1)
positive = st.floats(1e-299, 1e299)
finite = st.floats(-1e290, 1e290, allow_subnormal=True)


@given(finite, finite, st.lists(places, min_size=1, max_size=5), st.lists(places, max_size=3))
def test_linear_is_exactly_invertible_on_canonical_values(low, high, unit, between):
    assume(canonical_float(low) < canonical_float(high))
    assume(max(abs(low), abs(high)) >= 1e-300)  # narrower ones are refused
    scale = Linear(low, high)
    assume(scale.low < scale.high)
    values = scale.from_unit(np.asarray(unit))
    values += [scale.canonical(scale.low + place * (scale.high / 2 - scale.low / 2)) for place in between]
    values = [value for value in values if scale.contains(value)] + [scale.low, scale.high]
    assert scale.from_unit(scale.to_unit(values)) == values
    assert [scale.canonical(value) for value in values] == values


@given(
    st.floats(1e-299, 1e299),
    st.floats(1e-299, 1e299),
    st.lists(places, min_size=1, max_size=5),
    st.floats(1e-299, 1e299),
)
def test_log10_is_exactly_invertible_on_canonical_values(low, high, unit, other):
    assume(canonical_float(low) < canonical_float(high))
    scale = Log10(low, high)
    values = [*scale.from_unit(np.asarray(unit)), scale.canonical(other), scale.low, scale.high]
    values = [value for value in values if scale.contains(value)]
    assert len(values) >= len(unit) + 2
    assert scale.from_unit(scale.to_unit(values)) == values


@given(st.floats(1e-9, 1e9), st.floats(1.001, 1e9), st.floats(-1, 1), st.floats(1e-12, 1e12))
def test_ordinary_values_near_zero_survive(low, ratio, centre, tiny):
    for scale in (Linear(-low, low * ratio), Linear(0, low * ratio), Log10(low, low * ratio)):
        value = scale.canonical(min(max(tiny * abs(centre), scale.low), scale.high))
        assert scale.from_unit(scale.to_unit([value])) == [value]


@given(st.integers(-(2**50), 2**50), st.integers(-(2**50), 2**50), st.lists(places, min_size=1), st.data())
def test_integer_is_exactly_invertible(low, high, unit, data):
    assume(low < high)
    scale = Integer(low, high)
    values = [*scale.from_unit(np.asarray(unit)), data.draw(st.integers(low, high)), low, high]
    assert all(scale.contains(value) for value in values)
    assert scale.from_unit(scale.to_unit(values)) == values


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.data())
def test_integer_levels_are_even_and_different(low, width, data):
    scale = Integer(low, low + width)
    levels = data.draw(st.integers(2, width + 1))
    values = [scale.level(index, levels) for index in range(levels)]
    assert values[0] == low
    assert values[-1] == low + width
    steps = np.diff(values)
    assert steps.min() >= 1
    assert steps.max() - steps.min() <= 1


@given(st.lists(st.lists(places, min_size=5, max_size=5), min_size=1, max_size=10))
def test_the_whole_space_is_exactly_invertible_and_inside(unit):
    points = SPACE.from_unit(np.asarray(unit))
    assert all(SPACE.contains(point) for point in points)
    assert [SPACE.canonicalise(point) for point in points] == points
    assert SPACE.from_unit(SPACE.to_unit(points)) == points


def test_doubtful_twelfth_digits_are_settled_in_decimal_arithmetic():
    # The middle of [0.5, 2] is 1 exactly, the middle of [1, 10] is √10 = 3.16227766016838 to 15 digits.
    assert Log10(0.5, 2).from_unit(np.asarray([0.5])) == [1.0]
    assert Log10(1, 10).from_unit(np.asarray([0.5])) == [3.16227766017]
    scale = Log10(1e-3, 1e5)
    unit = np.random.default_rng(1).random(2000)
    plain = [canonical_float(value) for value in 10.0 ** (-3 + 8 * unit)]
    assert scale.from_unit(unit) == pytest.approx(plain, rel=2e-12)


def test_an_input_without_that_name_gets_the_nearest():
    with pytest.raises(SpaceError, match=r"no input 'cell'.*Did you mean 'cells'"):
        SPACE.parameter("cell")
    assert SPACE.parameter("M").scale == "log10"
