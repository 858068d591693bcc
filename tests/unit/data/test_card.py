"""The data card says what the data hold, what they lack, and where runs failed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surrogate.core.identity import run_id
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Schema
from surrogate.data.card import build_card
from surrogate.data.cube import Cube, cube_of
from surrogate.data.dataset import Dataset, DatasetWriter
from surrogate.data.missing import failure_place
from surrogate.data.quarantine import Refused
from surrogate.data.run_file import write_run_file
from surrogate.data.split import SPLITS, SplitConfig
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.space import Point
from tests.support.runs import fill

SPACE = ParameterSpace((Parameter("M", 0.5, 20.0, scale="log10"), Parameter("T", 0.0, 300.0, unit="K")))
SCHEMA = Schema((*SPACE.columns, Column("y", "output", unit="m", shape=(3,))))
SPLIT = SplitConfig("s", tune=0.2, holdout=0.3, minimum={"holdout": 3})


def points(count: int, seed: int = 1) -> list[Point]:
    return SPACE.from_unit(np.random.default_rng(seed).random((count, 2)))


def dataset(folder: Path, asked: list[Point], version: str = "1", groups: list[str] | None = None) -> Dataset:
    writer = DatasetWriter(folder / "d", SCHEMA)
    for number, point in enumerate(asked):
        y = np.outer([1.0], [point["M"], point["T"], 7.0])
        columns = {**{name: [value] for name, value in point.items()}, "y": y}
        facts = {"simulator": "toy", "simulator_version": version, "host": "h"}
        write_run_file(folder / "run.h5", SCHEMA, columns, [groups[number]] if groups else (), facts, durable=False)
        writer.add_run(run_id("toy", version, {"n": number if groups else 0}, point), folder / "run.h5")
    writer.flush()
    return Dataset.open(folder / "d")


def one_run(folder: Path, asked: list[Point]) -> Dataset:
    """Put all points into one run, which is quicker."""
    columns = {name: [point[name] for point in asked] for name in ("M", "T")}
    y = np.outer(columns["M"], [1.0, 2.0, 3.0])
    write_run_file(folder / "run.h5", SCHEMA, {**columns, "y": y}, durable=False)
    writer = DatasetWriter(folder / "d", SCHEMA)
    writer.add_run("run", folder / "run.h5")
    writer.flush()
    return Dataset.open(folder / "d")


def refused(asked: list[Point]) -> list[Refused]:
    return [Refused(f"f{n}", FailureKind.UNCONVERGED, f"Run {n} diverged.", point) for n, point in enumerate(asked)]


def card_of(data: Dataset, failures: list[Refused], **kwargs: Any) -> dict[str, Any]:
    card = build_card(data, SPLIT, failures, space=SPACE, **kwargs)
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    return card


def test_counts_ranges_and_identity(tmp_path: Path) -> None:
    data = dataset(tmp_path, points(50))
    card = card_of(data, [], intended_use="Displacement.", known_gaps=["No gravity."])
    assert card["dataset_hash"] == data.hash
    assert card["samples"] == card["runs"] == 50
    assert card["counts"]["by_split"] == card["counts"]["by_stratum"]["design"]
    assert sum(card["counts"]["by_split"][which]["samples"] for which in SPLITS) == 50
    columns = {column["name"]: column for column in card["columns"]}
    table = data.load_all()
    for name in ("M", "T", "y"):
        assert columns[name]["smallest"] == table.columns[name].min()
        assert columns[name]["largest"] == table.columns[name].max()
        assert columns[name]["mean"] == pytest.approx(table.columns[name].mean())
        assert columns[name]["std"] == pytest.approx(table.columns[name].std())
    assert columns["T"]["unit"] == "K"
    assert columns["y"]["shape"] == [3]
    assert card["simulators"] == [{"simulator": "toy", "version": "1", "runs": 50}]
    assert card["intended_use"] == "Displacement."
    assert {"source": "campaign", "sentence": "No gravity."} in card["known_gaps"]
    assert card["warnings"] == []


def test_the_card_does_not_depend_on_packing_host_or_time(tmp_path: Path) -> None:
    asked = points(30)
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    assert card_of(dataset(tmp_path / "x", asked), []) == card_of(dataset(tmp_path / "y", asked[::-1]), [])


def test_coverage_of_a_full_and_of_a_half_space(tmp_path: Path) -> None:
    full = card_of(one_run(tmp_path, points(300)), [])["coverage"]
    assert full["all"]["points"] == 300
    assert sum(full["all"]["axes"][0]["counts"]) == 300
    assert full["all"]["axes"][0]["edges"][0] == 0.5
    assert full["all"]["axes"][0]["edges"][-1] == pytest.approx(20.0)
    assert full["all"]["occupied"]["least"] > 0.9
    assert full["all"]["discrepancy"]["value"] < 3 * full["all"]["discrepancy"]["random"]
    assert full["train"]["points"] + full["tune"]["points"] + full["holdout"]["points"] == 300
    (tmp_path / "half").mkdir()
    half = card_of(one_run(tmp_path / "half", [point for point in points(400) if point["T"] < 150.0]), [])
    assert half["coverage"]["all"]["axes"][1]["largest_gap"] > 0.49
    assert half["coverage"]["all"]["discrepancy"]["value"] > 5 * half["coverage"]["all"]["discrepancy"]["random"]
    assert half["coverage"]["all"]["occupied"]["least"] < 0.6
    sentences = [gap["sentence"] for gap in half["known_gaps"]]
    assert "No training point has 'T' between 150 and 300 K." in sentences


def test_points_outside_of_the_space_are_told(tmp_path: Path) -> None:
    asked = [*points(20), {"M": 30.0, "T": 10.0}, {"M": 1.0, "T": -5.0}]
    card = card_of(dataset(tmp_path, asked), [])
    assert card["coverage"]["all"]["outside"] == 2
    assert any("2 of 22 points lie outside" in gap["sentence"] for gap in card["known_gaps"])


def test_failures_are_counted_by_kind_with_reasons(tmp_path: Path) -> None:
    failed = refused(points(3, seed=2))
    bad = [Refused("q", FailureKind.NOT_FINITE, "Column 'y' of sample 0 is nan.", points(1, seed=3)[0], "runs/q")]
    card = card_of(dataset(tmp_path, points(20)), failed, quarantined=bad)
    assert card["refused"]["by_kind"] == {
        "not_finite": {"runs": 1, "budget": "physics"},
        "unconverged": {"runs": 3, "budget": "solver"},
    }
    assert card["refused"]["runs"] == 4
    assert card["refused"]["share"] == pytest.approx(4 / 24)
    assert card["refused"]["reasons"][-1]["reason"] == "Column 'y' of sample 0 is nan."
    assert card["failure_place"]["tested"] is False
    assert "too few to tell" in card["failure_place"]["sentence"]
    assert any("4 runs (17%) gave nothing" in gap["sentence"] for gap in card["known_gaps"])


REGIONS: dict[str, Callable[[Point], bool]] = {
    r"where 'T' is between 22\d\.?\d? and 29\d\.?\d? K": lambda point: point["T"] > 220.0,
    r"where 'M' is between 0\.5\d* and 0\.9\d*, as": lambda point: point["M"] < 1.0,
    r"where 'T' is between 11\d\.?\d? and 18\d\.?\d? K": lambda point: 110.0 < point["T"] < 190.0,
}


@pytest.mark.parametrize("where", REGIONS)
def test_failures_that_cluster_along_an_axis_are_warned_of(tmp_path: Path, where: str) -> None:
    asked = points(250)
    data = one_run(tmp_path, [point for point in asked if not REGIONS[where](point)])
    card = card_of(data, refused([point for point in asked if REGIONS[where](point)]))
    place = card["failure_place"]
    assert place["clustered"] is True
    assert re.search(where, place["sentence"]), place["sentence"]
    assert "missing not at random" in place["sentence"]
    assert place["sentence"] in card["warnings"]
    assert min(axis["p_value"] for axis in place["axes"]) == pytest.approx(0.001)


def test_failures_that_cluster_in_a_corner_pattern_are_warned_of_too(tmp_path: Path) -> None:
    """Two opposite quadrants: each axis alone looks even, only the neighbours tell."""
    unit = np.random.default_rng(4).random((300, 2))
    bad = (unit[:, 0] > 0.5) == (unit[:, 1] > 0.5)
    asked = SPACE.from_unit(unit)
    data = one_run(tmp_path, [point for point, is_bad in zip(asked, bad, strict=True) if not is_bad])
    place = card_of(data, refused([point for point, is_bad in zip(asked, bad, strict=True) if is_bad]))["failure_place"]
    assert place["clustered"] is True
    assert not any(axis["clustered"] for axis in place["axes"])
    assert "in a region of several inputs" in place["sentence"]


def test_failures_by_chance_are_seldom_called_clustered() -> None:
    """The level is kept: of 40 harmless data sets about 2 are called clustered, more than 6 in 0.4 % of cases."""
    cube = cube_of(SPACE, SPACE.columns, [])
    called = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        record = failure_place(random.random((20, 2)), random.random((80, 2)), cube, seed)
        called += bool(record["clustered"])
    assert called <= 6


def test_ties_do_not_fool_the_test() -> None:
    cube = cube_of(SPACE, SPACE.columns, [])
    random = np.random.default_rng(0)
    levels = random.integers(0, 2, size=(100, 2)) / 2.0
    records = [failure_place(levels[:30], levels[30:], cube, seed) for seed in range(5)]
    assert not any(record["clustered"] for record in records)
    same = failure_place(np.zeros((30, 2)), np.zeros((70, 2)), cube)
    assert not same["clustered"]
    assert same["axes"][0]["p_value"] == 1.0


def test_failed_runs_without_a_place_are_counted(tmp_path: Path) -> None:
    asked = points(40)
    lost = [Refused("x", FailureKind.NODE_LOST, "Gone.", {}), Refused("y", FailureKind.NODE_LOST, "Gone.", {"M": 1.0})]
    card = card_of(dataset(tmp_path, asked), [*refused(points(9, seed=9)), *lost])
    assert card["failure_place"]["failed"] == 9
    assert card["failure_place"]["not_placed"] == 2


def test_near_duplicates_across_the_holdout_are_found(tmp_path: Path) -> None:
    asked = points(60)
    held = next(point for point in asked if SPLIT.of(None, point) == "holdout")
    twins = [SPACE.canonicalise({**held, "T": held["T"] + 300e-5 * step}) for step in range(1, 8)]
    twin = next(point for point in twins if SPLIT.of(None, point) != "holdout")
    card = card_of(dataset(tmp_path, [*asked, twin]), [])
    near = card["duplicates"]["near"]
    assert near["pairs"] >= 1
    assert near["nearest"][0]["distance"] == pytest.approx((twin["T"] - held["T"]) / 300.0 / np.sqrt(2), rel=1e-6)
    assert any("neighbour in train or tune" in warning for warning in card["warnings"])
    assert card["duplicates"]["same_inputs_across_holdout"] == 0
    assert card_of(Dataset.open(tmp_path / "d"), [], near_threshold=1e-9)["duplicates"]["near"]["pairs"] == 0


def test_the_same_point_under_two_groups_is_warned_of(tmp_path: Path) -> None:
    names = [f"g{number}" for number in range(40)]
    inside = next(name for name in names if SPLIT.of(name, {}) == "holdout")
    outside = next(name for name in names if SPLIT.of(name, {}) == "train")
    point = points(1)[0]
    data = dataset(tmp_path, [point, point, *points(5, seed=2)], groups=[inside, outside, *names[:5]])
    card = card_of(data, [])
    assert card["duplicates"]["same_inputs_across_holdout"] == 1
    assert card["duplicates"]["same_content"] == 1
    assert any("their group keys differ" in warning for warning in card["warnings"])


def test_two_versions_of_a_simulator_are_told(tmp_path: Path) -> None:
    dataset(tmp_path, points(12))
    card = card_of(dataset(tmp_path, points(5), version="2"), [])
    assert card["duplicates"]["same_inputs"] == 5
    assert any("toy 1 (12 runs), toy 2 (5 runs)" in warning for warning in card["warnings"])


def test_every_sort_of_column_and_no_space(tmp_path: Path) -> None:
    fill(tmp_path / "d", list(range(12)), tmp_path)
    card = build_card(Dataset.open(tmp_path / "d"), SPLIT)
    json.dumps(card, allow_nan=False)
    columns = {column["name"]: column for column in card["columns"]}
    assert columns["kind"]["words"] == {"": 4, "µ": 4, "µµ": 4}
    assert columns["path"]["lengths"] == {"smallest": 0, "median": 1.5, "largest": 4}
    assert 0.0 < columns["label"]["mean"] < 1.0
    assert [axis["name"] for axis in card["coverage"]["all"]["axes"]] == ["a", "steps"]
    assert "range of the data" in card["coverage"]["all"]["cube"]


def test_an_empty_dataset_has_a_card(tmp_path: Path) -> None:
    card = card_of(dataset(tmp_path, []), refused(points(8)))
    assert card["samples"] == 0
    assert card["failure_place"]["tested"] is False
    assert "The split 'train' has no sample." in [gap["sentence"] for gap in card["known_gaps"]]


def test_inputs_without_a_box_are_said_to_have_none(tmp_path: Path) -> None:
    cube = cube_of(None, (Column("xyz", "input", shape=(-1, 3)),), [{"xyz": [[0.0, 0.0, 0.0]]}])
    assert isinstance(cube, Cube)
    assert cube.axes == ()
    record = failure_place(np.zeros((7, 0)), np.zeros((7, 0)), cube)
    assert record["clustered"] is None
    assert "not tested" in record["sentence"]


def test_a_constant_column_is_a_gap(tmp_path: Path) -> None:
    card = card_of(dataset(tmp_path, [{**point, "T": 20.0} for point in points(5)]), [])
    assert "The input 'T' is 20.0 K in every sample; nothing is learned of it." in [
        gap["sentence"] for gap in card["known_gaps"]
    ]


def test_near_neighbours_of_a_dense_random_design_are_no_cause_for_a_warning(tmp_path: Path) -> None:
    card = card_of(one_run(tmp_path, points(400)), [], near_threshold=0.03)
    near = card["duplicates"]["near"]
    assert near["pairs"] > 20
    assert near["pairs"] == pytest.approx(near["pairs_by_chance"], rel=0.25)
    assert not near["more_than_chance"]
    assert card["warnings"] == []
