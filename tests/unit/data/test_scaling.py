"""Scalers are undone exactly enough, survive constants, and know nothing but the rows they were given."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surrogate.core.errors import DataError
from surrogate.core.schema import Ragged
from surrogate.data.scaling import MinMaxScaler, StandardScaler, restore_scaler

RANDOM = np.random.default_rng(3)
KINDS = [StandardScaler, MinMaxScaler]
arrays = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(-1e9, 1e9, width=64)
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per", ["element", "column"])
@given(values=arrays)
def test_inverse_undoes_transform(kind: type[StandardScaler], per: str, values: np.ndarray) -> None:
    scaler = kind.fit(values, per=per)
    scaled = scaler.transform(values)
    assert scaled.dtype == np.float64
    assert np.isfinite(scaled).all()
    np.testing.assert_allclose(scaler.inverse(scaled), values, rtol=1e-9, atol=1e-9 * np.abs(values).max())


@pytest.mark.parametrize("kind", KINDS)
def test_log_option(kind: type[StandardScaler]) -> None:
    values = 10.0 ** RANDOM.uniform(-20, 5, size=(50, 2))
    scaler = kind.fit(values, log=True)
    np.testing.assert_allclose(scaler.inverse(scaler.transform(values)), values, rtol=1e-10)
    with pytest.raises(DataError, match="smallest value is 0; it must be positive"):
        scaler.transform(np.zeros((1, 2)))
    with pytest.raises(DataError, match="must be positive"):
        kind.fit(np.array([1.0, np.nan]), log=True)


def test_standard_scaler_against_its_definition() -> None:
    values = RANDOM.normal(5.0, 3.0, size=(200, 4))
    scaled = StandardScaler.fit(values).transform(values)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-12)
    common = StandardScaler.fit(values * [1, 1, 1, 100], per="column")
    assert common.scale.shape == ()
    ratio = common.transform(values * [1, 1, 1, 100]).std(axis=0)
    assert ratio[3] / ratio[0] == pytest.approx(100 * values[:, 3].std() / values[:, 0].std())


def test_min_max_scaler_against_its_definition() -> None:
    values = RANDOM.normal(5.0, 3.0, size=(200, 4))
    scaled = MinMaxScaler.fit(values).transform(values)
    np.testing.assert_allclose(scaled.min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.max(axis=0), 1.0, rtol=1e-12)
    bounds = MinMaxScaler.from_bounds(0.1, 10.0, log=True)
    np.testing.assert_allclose(bounds.transform(np.array([0.1, 1.0, 10.0])), [0.0, 0.5, 1.0], atol=1e-15)
    with pytest.raises(DataError, match="span no range"):
        MinMaxScaler.from_bounds(1.0, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_become_zero_and_come_back(kind: type[StandardScaler]) -> None:
    values = np.column_stack([np.full(7, 0.1) * 3, np.arange(7.0), np.zeros(7)])
    values[3, 0] = np.nextafter(values[3, 0], 1)  # equal but for rounding
    scaler = kind.fit(values)
    scaled = scaler.transform(values)
    np.testing.assert_allclose(scaled[:, [0, 2]], 0.0, atol=1e-12)
    np.testing.assert_allclose(scaler.inverse(scaled), values, rtol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_ragged_rows_count_alike(kind: type[StandardScaler]) -> None:
    parts = [RANDOM.random((length, 3)) for length in (0, 5, 2)]
    ragged = Ragged.from_list(parts)
    scaler = kind.fit(ragged)
    np.testing.assert_array_equal(scaler.shift, kind.fit(np.concatenate(parts)).shift)
    back = scaler.inverse(scaler.transform(ragged))
    assert isinstance(back, Ragged)
    np.testing.assert_allclose(back[1], parts[1], rtol=1e-12)
    np.testing.assert_array_equal(back.offsets, ragged.offsets)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_scaled_in_double(kind: type[StandardScaler]) -> None:
    values = (1e8 + np.arange(8)).astype(np.float32)
    assert kind.fit(values).transform(values).dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("log", [False, True])
def test_arrays_and_json_rebuild_it(kind: type[StandardScaler], log: bool) -> None:
    values = 1.0 + RANDOM.random((20, 3))
    scaler = kind.fit(values, log=log)
    again = restore_scaler(scaler.arrays(), json.loads(json.dumps(scaler.to_json())))
    assert type(again) is kind
    np.testing.assert_array_equal(again.transform(values), scaler.transform(values))


def test_what_is_no_scaler_is_refused() -> None:
    arrays = {"shift": np.zeros(2), "scale": np.ones(2)}
    with pytest.raises(DataError, match="no scaler"):
        restore_scaler(arrays, {"scaler": "robust", "log": False})
    with pytest.raises(DataError, match="no scaler"):
        restore_scaler({"shift": np.zeros(2)}, {"scaler": "standard", "log": False})
    with pytest.raises(DataError, match="damaged"):
        restore_scaler({**arrays, "scale": np.zeros(2)}, {"scaler": "standard", "log": False})
    with pytest.raises(DataError, match="no training row"):
        StandardScaler.fit(np.zeros((0, 3)))
