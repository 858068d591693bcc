"""Intervals against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from surrogate.core.errors import IntegrityError, TrainingError
from surrogate.core.schema import Ragged
from surrogate.models.calibration import LEVELS, NOMINAL, Calibration, ColumnCalibration, weighted_quantiles
from surrogate.models.values import flat


def normal_case(samples: int, width: int = 20, seed: int = 0) -> tuple[dict, dict, dict]:
    """Residuals that are exactly N(0, (3 std)²), std itself differing from element to element."""
    random = np.random.default_rng(seed)
    std = random.uniform(0.5, 2.0, (samples, width))
    mean = random.normal(size=(samples, width))
    return {"y": mean}, {"y": std}, {"y": mean + 3.0 * std * random.normal(size=std.shape)}


def test_the_factor_of_normal_residuals_is_the_normal_quantile():
    mean, std, truth = normal_case(2000)
    calibration = Calibration.fit(mean, std, truth)
    column = calibration.columns["y"]
    assert column.factor(NOMINAL) == pytest.approx(3.0 * norm.ppf(0.95), rel=0.02)
    assert column.factor(0.5) == pytest.approx(3.0 * norm.ppf(0.75), rel=0.02)
    assert column.floor < 0.2, "a spread that tells the truth needs no floor"


def test_unseen_samples_are_covered_as_promised():
    calibration = Calibration.fit(*normal_case(400, seed=1))
    mean, std, truth = normal_case(3000, seed=2)
    for level in (0.5, 0.8, 0.9, 0.95):
        lower, upper = calibration.interval(mean, std, level)
        covered = (truth["y"] >= lower["y"]) & (truth["y"] <= upper["y"])
        assert covered.mean() == pytest.approx(level, abs=0.015)


def test_agreeing_members_that_are_wrong_get_an_open_interval():
    random = np.random.default_rng(3)
    mean, std = {"y": np.zeros((500, 1))}, {"y": np.zeros((500, 1))}
    truth = {"y": random.normal(size=(500, 1))}
    calibration = Calibration.fit(mean, std, truth)
    lower, upper = calibration.interval(mean, std)
    assert flat(upper["y"])[0, 0] == pytest.approx(norm.ppf(0.95), rel=0.12)
    assert flat(lower["y"])[0, 0] == -flat(upper["y"])[0, 0]


def test_a_perfect_prediction_has_a_closed_interval():
    exact = {"y": np.arange(6.0).reshape(3, 2)}
    calibration = Calibration.fit(exact, {"y": np.full((3, 2), 0.1)}, exact)
    lower, upper = calibration.interval(exact, {"y": np.full((3, 2), 0.1)})
    assert np.array_equal(lower["y"], exact["y"])
    assert np.array_equal(upper["y"], exact["y"])


def test_the_finite_sample_correction_widens_small_splits():
    # With 4 tune samples, 0.9 · 5/4 > 1: the widest residual is needed.
    mean, std = {"y": np.zeros(4)}, {"y": np.zeros(4)}
    truth = {"y": np.array([1.0, 2.0, 3.0, 4.0])}
    _, upper = Calibration.fit(mean, std, truth).interval(mean, std)
    assert upper["y"][0] == pytest.approx(4.0)


def test_every_sample_weighs_the_same_when_ragged():
    # One long sample with small residuals must not outvote nine short ones with large residuals.
    lengths = [1000, *[1] * 9]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    residual = np.concatenate([np.full(1000, 0.001), np.full(9, 1.0)])
    zeros = Ragged(np.zeros(1009), offsets)
    calibration = Calibration.fit({"y": zeros}, {"y": zeros}, {"y": Ragged(residual, offsets)})
    column = calibration.columns["y"]
    assert column.factor(0.5) * column.floor == pytest.approx(1.0)


def test_a_column_that_was_not_calibrated_has_no_interval():
    lower, upper = Calibration({}, 3).interval({"z": np.ones(2)}, {"z": np.ones(2)})
    assert np.isnan(lower["z"]).all()
    assert np.isnan(upper["z"]).all()


def test_json_gives_the_same_calibration_again():
    calibration = Calibration.fit(*normal_case(50))
    assert Calibration.from_json(calibration.to_json()) == calibration


@pytest.mark.parametrize("key", ["levels", "columns", "samples"])
def test_a_damaged_record_is_refused(key: str):
    record = Calibration.fit(*normal_case(10)).to_json()
    del record[key]
    with pytest.raises(IntegrityError, match="no calibration record"):
        Calibration.from_json(record)


def test_other_levels_are_refused():
    record = Calibration.fit(*normal_case(10)).to_json()
    record["levels"][0] = 0.07
    with pytest.raises(IntegrityError, match="levels"):
        Calibration.from_json(record)


def test_what_cannot_be_calibrated_is_said():
    mean, std, truth = normal_case(5)
    with pytest.raises(TrainingError, match="not finite"):
        Calibration.fit({"y": mean["y"] * np.nan}, std, truth)
    with pytest.raises(TrainingError, match="differ in shape"):
        Calibration.fit({"y": mean["y"][:3]}, std, truth)
    with pytest.raises(TrainingError, match="without tune samples"):
        Calibration.fit({"y": np.zeros((0, 2))}, {"y": np.zeros((0, 2))}, {"y": np.zeros((0, 2))})
    with pytest.raises(ValueError, match="Intervals are known"):
        ColumnCalibration(1.0, (1.0,) * len(LEVELS)).factor(0.999)


def test_weighted_quantiles_of_equal_weights_are_order_statistics():
    values = np.array([3.0, 1.0, 2.0, 4.0])
    got = weighted_quantiles(values, np.ones(4), np.array([0.25, 0.5, 0.75, 1.0]))
    assert got.tolist() == [1.0, 2.0, 3.0, 4.0]
