"""The same question always has the same name, wherever it comes from."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surrogate.core import identity
from surrogate.core.identity import (
    canonical,
    canonical_float,
    canonical_json,
    content_hash,
    digest,
    point_hash,
    run_id,
    run_namer,
    sample_id,
    split_key,
    split_position,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_rounding_is_idempotent_and_close(value: float) -> None:
    rounded = canonical_float(value)
    assert canonical_float(rounded) == rounded
    assert rounded == pytest.approx(value, rel=1e-11, abs=5e-324)
    assert math.copysign(1.0, canonical_float(-0.0)) == 1.0


@given(finite)
def test_a_value_that_went_through_text_or_another_libm_has_the_same_name(value: float) -> None:
    rounded = canonical_float(value)
    assert canonical_float(float(f"{rounded:.12g}")) == rounded
    assert canonical_float(float(json.dumps(rounded))) == rounded


def test_neighbours_that_differ_by_rounding_have_the_same_name() -> None:
    assert canonical_float(0.1 + 0.2) == canonical_float(0.3)
    assert point_hash({"a": canonical_float(0.1 + 0.2)}) == point_hash({"a": 0.3})


def test_containers_and_numpy_have_one_form() -> None:
    plain = {"a": [1.5, 2.0], "b": True, "c": 3, "d": "x", "e": None}
    numpy = {
        "e": None, "d": np.str_("x"), "c": np.int64(3), "b": np.bool_(True), "a": np.array([1.5, 2.0]),
    }  # fmt: skip
    assert canonical_json(plain) == canonical_json(numpy)
    assert digest(plain) == digest(numpy)
    assert canonical(np.float64(2.5)) == 2.5
    assert canonical(np.array(2.5)) == 2.5
    assert canonical((1, (2,))) == [1, [2]]


@pytest.mark.parametrize("value", [math.nan, math.inf, np.array([1.0, np.inf])])
def test_what_is_not_finite_has_no_name(value: object) -> None:
    with pytest.raises(ValueError, match="finite number is needed"):
        canonical(value)


def test_other_things_have_no_name() -> None:
    with pytest.raises(TypeError, match="type object has no canonical form"):
        canonical({"a": object()})


def test_run_identity_depends_on_everything_that_decides_the_result() -> None:
    names = {
        run_id("code", "1", {"cells": 4}, {"a": 1.0}),
        run_id("other", "1", {"cells": 4}, {"a": 1.0}),
        run_id("code", "2", {"cells": 4}, {"a": 1.0}),
        run_id("code", "1", {"cells": 5}, {"a": 1.0}),
        run_id("code", "1", {"cells": 4}, {"a": 1.5}),
        run_id("code", "1", {"cells": 4}, {"b": 1.0}),
    }
    assert len(names) == 6
    assert all(len(name) == 32 for name in names)
    assert len({sample_id(name, index) for name in names for index in range(3)}) == 18


def test_names_are_for_ever() -> None:
    """Were one of these to change, every existing campaign would run everything again, or move its holdout."""
    assert run_id("code", "1", {"cells": 4}, {"a": 0.3, "kind": "x"}) == RUN
    assert sample_id(RUN, 2) == SAMPLE
    assert split_key("salt", None, {"a": 0.3}) == POINT_POSITION
    assert split_key("salt", "group", {"a": 0.3}) == GROUP_POSITION
    assert content_hash({"b": np.arange(3), "a": np.array([[1.5]]), "s": np.array(b"x")}) == CONTENT


RUN = "df4adb5a65bd9b9ef747b70513c8f57e"
SAMPLE = "b9217782d8541eff508e3678accdbd0e"
POINT_POSITION = 0.2949532692038688
GROUP_POSITION = 0.6733758472195639
CONTENT = "482ea1d2950298df1e8e2900187670415b6cb032c66109b56701e51782b7b0c3"


@given(st.text(max_size=4), st.dictionaries(st.text(max_size=3), finite, max_size=3))
def test_split_key_is_in_range_and_depends_on_the_group_alone(salt: str, point: dict[str, float]) -> None:
    assert 0.0 <= split_key(salt, None, point) < 1.0
    assert split_key(salt, "g", point) == split_key(salt, "g", {})
    assert split_key(salt, None, point) == split_key(salt, "", point)
    assert split_key(salt, None, point) == split_key(salt, None, dict(reversed(point.items())))


def test_a_group_cannot_be_mistaken_for_a_point() -> None:
    assert split_key("s", point_hash({"a": 1.0}), {}) != split_key("s", None, {"a": 1.0})


def test_content_hash_sees_names_types_shapes_and_values_and_nothing_else() -> None:
    base = np.arange(6, dtype=np.float64).reshape(2, 3)
    same = content_hash({"x": base})
    assert content_hash({"x": np.asfortranarray(base)}) == same
    assert content_hash({"x": base.astype(">f8")}) == same
    assert content_hash({"x": base[::1]}) == same
    changed = base.copy()
    changed[1, 2] = np.nextafter(changed[1, 2], 9)
    others = [
        {"y": base}, {"x": base.reshape(3, 2)}, {"x": base.astype(np.float32)}, {"x": base.astype(np.int64)},
        {"x": changed}, {"x": base, "y": base}, {},
    ]  # fmt: skip
    assert len({same, *(content_hash(other) for other in others)}) == 8


def test_significant_digits_are_twelve() -> None:
    assert identity.SIGNIFICANT_DIGITS == 12
    assert canonical_float(1.23456789012345) == 1.23456789012


words = st.text(max_size=8)
points = st.dictionaries(words, finite.map(canonical_float) | st.integers() | words | st.booleans(), max_size=4)


@given(words, words, points, points)
def test_names_given_to_many_are_those_given_to_one(simulator, version, options, inputs) -> None:
    assert run_namer(simulator, version, options)(inputs) == digest("run", simulator, version, options, inputs)[:32]
    assert point_hash(inputs) == digest("point", inputs)


@given(words, words)
def test_a_place_in_the_splits_is_made_of_the_salt_and_the_name(salt, name) -> None:
    for group, point, parts in (
        (None, name, ("point", name)),
        (name, "x", ("group", name) if name else ("point", "x")),
    ):
        assert split_position(salt, group, point) == int(digest("split", salt, *parts)[:13], 16) / 16**13
