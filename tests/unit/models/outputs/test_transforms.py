"""Output transforms: what is learned, decoded, gives the field back; stored and restored they are the same."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.schema import Column, Coordinate, Schema
from surrogate.models.outputs.catalog import fit_output, restore_output
from surrogate.models.outputs.registered import FrontOptions, RegisteredOutput
from tests.support.fields import CELLS, POINTS, SCHEMA, TIMES, shock

SAMPLES = 60
random = np.random.default_rng(0)
SPEED, HEIGHT = random.uniform(0.4, 1.6, SAMPLES), random.uniform(0.5, 1.0, SAMPLES)
FIELD = shock(SPEED, HEIGHT)
SAMPLE_FEATURES = np.stack([np.log(SPEED), HEIGHT - 0.75], axis=1)


def rows(along_time):
    """Return features and rows, with time asked along or predicted at once."""
    if not along_time:
        return SAMPLE_FEATURES, FIELD, ("t", "x")
    times = np.tile(np.log(TIMES), SAMPLES)[:, None]
    features = np.concatenate([np.repeat(SAMPLE_FEATURES, len(TIMES), axis=0), times], axis=1)
    return features, FIELD.reshape(-1, CELLS), ("x",)


def fit(kind, along_time=False, **fronts):
    features, values, dims = rows(along_time)
    return fit_output(
        kind, SCHEMA.column("u"), dims, schema=SCHEMA, features=features, values=values, modes=8,
        fronts=FrontOptions(**fronts),
    )  # fmt: skip


def perfect(transform, features, values):
    """Return what a network without error would predict."""
    targets = transform.targets(features, values)
    if not isinstance(transform, RegisteredOutput):
        return {transform.column: targets["u.target"]}
    return {
        "u": profiles(transform, targets).reshape(len(values), -1),
        "u.positions": targets["u.positions.target"],
    }


def profiles(transform, targets):
    """Return node values `[R, L, P]` that interpolate each row's cells."""
    nodes = np.arange(transform.alignment.nodes)
    place = targets["u.node"] + targets["u.share"]
    flat = [
        np.interp(nodes, where, cells)
        for where, cells in zip(place.reshape(-1, CELLS), targets["u.target"].reshape(-1, CELLS), strict=True)
    ]
    return np.stack(flat).reshape(*place.shape[:2], -1).astype(np.float32)


@pytest.mark.parametrize("along_time", [False, True])
@pytest.mark.parametrize("kind", ["none", "pod", "registered"])
def test_a_perfect_network_gives_the_field_back(kind, along_time):
    transform = fit(kind, along_time)
    features, values, _ = rows(along_time)
    outputs = perfect(transform, features, values)
    assert {head.name: head.size for head in transform.heads} == {name: a.shape[1] for name, a in outputs.items()}
    error = np.linalg.norm(transform.decode(outputs) - values) / np.linalg.norm(values)
    # Eight modes cannot hold a moving front; cells between two nodes of a stretched piece are interpolated.
    assert error < {"none": 1e-6, "pod": 0.2, "registered": 0.01}[kind]


@pytest.mark.parametrize("kind", ["none", "pod", "registered"])
def test_a_restored_transform_is_the_same(kind):
    transform = fit(kind)
    again = restore_output("u", transform.arrays(), transform.to_json())
    assert again.heads == transform.heads
    features, values, _ = rows(along_time=False)
    for name, array in transform.targets(features, values).items():
        np.testing.assert_array_equal(array, again.targets(features, values)[name])
    outputs = perfect(transform, features, values)
    np.testing.assert_array_equal(transform.decode(outputs), again.decode(outputs))


def test_registered_profiles_of_all_rows_are_alike_near_the_front():
    transform = fit("registered", along_time=True)
    features, values, _ = rows(along_time=True)
    targets = transform.targets(features, values)
    seen = np.abs(features[:, 2] + features[:, 0] - np.log(0.6)) < 0.25
    scaled = profiles(transform, targets)[seen, 0]
    steps = transform.alignment
    band = slice(steps.stretch_steps, steps.stretch_steps + steps.band_steps)
    centre = scaled[:, band].mean(axis=1, keepdims=True)
    height = np.ptp(scaled[:, band], axis=1, keepdims=True)
    assert ((scaled[:, band] - centre) / height).std(axis=0).max() < 0.1


def test_positions_cost_what_their_error_costs_in_the_field():
    transform = fit("registered", along_time=True)
    features, values, _ = rows(along_time=True)
    inside = np.flatnonzero(np.abs(np.exp(features[:, 0] + features[:, 2]) - 0.5) < 0.2)
    targets = transform.targets(features[inside], values[inside])
    outputs = {**perfect(transform, features[inside], values[inside])}
    exact = transform.decode(outputs)
    step = 0.02
    outputs["u.positions"] = outputs["u.positions"] + step
    caused = np.mean((transform.decode(outputs) - exact) ** 2, axis=1) / transform.scale**2
    expected = targets["u.positions.cost"][:, 0] * step**2
    assert 0.4 < np.median(caused / expected) < 2.5


def test_a_field_without_fronts_is_learned_cell_by_cell():
    smooth = 1.0 + np.sin(3 * POINTS) * HEIGHT[:, None]
    schema = Schema((Column("u", "output", shape=(CELLS,), dims=("x",)),), SCHEMA.coordinates[1:])
    transform = fit_output(
        "registered", schema.column("u"), ("x",), schema=schema, features=SAMPLE_FEATURES, values=smooth, modes=8,
        fronts=FrontOptions(),
    )  # fmt: skip
    assert [head.name for head in transform.heads] == ["u"]
    targets = transform.targets(SAMPLE_FEATURES, smooth)
    np.testing.assert_allclose(transform.decode({"u": targets["u.target"].reshape(SAMPLES, -1)}), smooth, atol=1e-6)


def test_scalars_are_predicted_as_they_are():
    column = Column("load", "output")
    transform = fit_output(
        "registered", column, (), schema=Schema((column,)), features=SAMPLE_FEATURES, values=HEIGHT, modes=3,
        fronts=FrontOptions(),
    )  # fmt: skip
    assert transform.to_json()["kind"] == "none"
    np.testing.assert_allclose(transform.decode({"load": ((HEIGHT - HEIGHT.mean()) / HEIGHT.std())[:, None]}), HEIGHT)


def test_a_network_without_a_number_gives_nan_and_no_error():
    transform = fit("registered", along_time=True)
    features, values, _ = rows(along_time=True)
    outputs = perfect(transform, features[:2], values[:2])
    outputs["u.positions"][0] = np.nan
    decoded = transform.decode(outputs)
    assert np.isnan(decoded[0]).all()
    assert np.isfinite(decoded[1]).all()


def test_pod_coefficients_share_one_scale():
    transform = fit("pod")
    target = transform.targets(SAMPLE_FEATURES, FIELD)["u.target"]
    spread = target.std(axis=0)
    assert (np.diff(spread) < 1e-6).all()
    assert spread[0] > 3 * spread[-1]
    total = np.sum(target**2, axis=1) + transform.targets(SAMPLE_FEATURES, FIELD)["u.rest"]
    assert total.mean() == pytest.approx(1.0, rel=1e-4)


def test_constant_outputs_have_a_scale():
    values = np.full((5, 4), 0.1)
    transform = fit_output(
        "none", Column("c", "output", shape=(4,)), ("",), schema=Schema(()), features=np.zeros((5, 1)), values=values,
        modes=1, fronts=FrontOptions(),
    )  # fmt: skip
    np.testing.assert_allclose(transform.decode({"c": transform.targets(np.zeros((5, 1)), values)["c.target"]}), values)


def test_an_unknown_axis_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"along 'xx'.*Did you mean 'x'"):
        fit("registered", axis="xx")


def test_an_axis_with_few_cells_is_refused():
    with pytest.raises(ConfigError, match="5 cells, and at least 16 are needed"):
        fit("registered", axis="t")


def test_a_coordinate_that_does_not_rise_is_refused():
    axis = Coordinate("x", "m", tuple(POINTS[::-1].tolist()))
    column = Column("u", "output", shape=(CELLS,), dims=("x",))
    with pytest.raises(ConfigError, match="does not rise"):
        fit_output(
            "registered", column, ("x",), schema=Schema((column,), (axis,)), features=SAMPLE_FEATURES,
            values=FIELD[:, 0], modes=1, fronts=FrontOptions(),
        )  # fmt: skip


def test_a_transform_of_a_newer_version_is_refused():
    with pytest.raises(IntegrityError, match="'warped'"):
        restore_output("u", {}, {"kind": "warped"})
