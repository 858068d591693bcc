"""Splits are for ever, whole groups go together, and too little is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surrogate.core.errors import SplitError
from surrogate.core.identity import point_hash
from surrogate.data.dataset import Dataset, DatasetWriter
from surrogate.data.split import SPLITS, SplitConfig, SplitCount
from tests.support.runs import SCHEMA, identity, write_run

SPLIT = SplitConfig("campaign", tune=0.15, holdout=0.25, minimum={"train": 10, "holdout": 4})


def test_the_border_is_where_it_was() -> None:
    """Were this to change, points would move between training and holdout of every existing campaign."""
    placed = [SPLIT.of(None, {"a": number / 8}) for number in range(12)]
    assert placed == EXPECTED_POINTS
    assert [SPLIT.of(f"molecule {number}", {}) for number in range(8)] == EXPECTED_GROUPS


EXPECTED_POINTS = [
    *("train", "holdout", "holdout", "holdout", "train", "train"),
    *("train", "tune", "holdout", "holdout", "train", "train"),
]
EXPECTED_GROUPS = ["tune", "train", "train", "train", "train", "train", "tune", "train"]


@given(
    st.text(max_size=5), st.dictionaries(st.text(max_size=3), st.floats(-1e6, 1e6) | st.text(max_size=3), max_size=3)
)
def test_a_group_goes_together_whatever_its_points(group: str, point: dict[str, float | str]) -> None:
    assert SPLIT.of(group, point) == SPLIT.of(group, {} if group else dict(reversed(point.items())))
    index = SPLIT.assign([group], [point_hash(point)])
    assert SPLITS[index[0]] == SPLIT.of(group or None, point)


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 0.4), st.floats(0, 0.4))
def test_the_holdout_does_not_move_when_tune_changes(position: float, tune: float, holdout: float) -> None:
    one, two = SplitConfig("s", tune, holdout), SplitConfig("s", 0.1, holdout)
    assert (one.of_position(position) == "holdout") == (two.of_position(position) == "holdout")


def test_shares_are_about_kept_and_salts_are_independent() -> None:
    other = SplitConfig("another campaign", tune=0.15, holdout=0.25)
    points = [{"a": number} for number in range(4000)]
    placed = [SPLIT.of(None, point) for point in points]
    assert abs(placed.count("holdout") / 4000 - 0.25) < 0.03
    assert abs(placed.count("tune") / 4000 - 0.15) < 0.03
    both = sum(a == b == "holdout" for a, b in zip(placed, (other.of(None, point) for point in points), strict=True))
    assert abs(both / 4000 - 0.0625) < 0.02


def test_groups_are_counted_as_well_as_samples(tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path / "d", SCHEMA)
    for number in range(6):
        writer.add_run(identity(number), write_run(tmp_path, number, samples=3, groups=(f"g{number % 2}",) * 3))
    writer.flush()
    dataset = Dataset.open(tmp_path / "d")
    counts = dataset.counts(SPLIT)
    assert sum(count.samples for count in counts.values()) == 18
    assert sum(count.groups for count in counts.values()) == 2
    for which in SPLITS:
        assert {SPLIT.of(group, {}) for group in dataset.load(SPLIT, which).groups} <= {which}
    strict = SplitConfig("campaign", 0.15, 0.25, minimum_groups={"holdout": 3})
    with pytest.raises(
        SplitError, match=r"'holdout' has \d groups, and at least 3 are demanded: plan about \d+ more groups"
    ):
        strict.check(counts)


def test_too_few_is_a_sentence_for_each_split() -> None:
    counts = {"train": SplitCount(9, 9), "tune": SplitCount(0, 0), "holdout": SplitCount(4, 4)}
    with pytest.raises(
        SplitError, match=r"^The split 'train' has 9 samples, and at least 10 are demanded: plan about 2 more"
    ):
        SPLIT.check(counts)
    SPLIT.check({**counts, "train": SplitCount(10, 1)})
    nothing = SplitConfig("s", tune=0.0, holdout=0.1, minimum={"tune": 1})
    with pytest.raises(SplitError, match="give 'tune' a share above 0"):
        nothing.check(counts)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tune": -0.1, "holdout": 0.2}, "'tune' is -0.1"),
        ({"tune": float("nan"), "holdout": 0.2}, "'tune' is nan"),
        ({"tune": 0.5, "holdout": 0.5}, "leave nothing to train on"),
        ({"tune": 0.1, "holdout": 0.2, "minimum": {"holdot": 3}}, "no split 'holdot'.*Did you mean 'holdout'"),
        ({"tune": 0.1, "holdout": 0.2, "minimum": {"train": -1}}, "cannot be negative"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(SplitError, match=sentence):
        SplitConfig("s", **arguments)


def test_json_round_trip() -> None:
    assert SplitConfig.from_json(SPLIT.to_json()) == SPLIT
    with pytest.raises(SplitError, match="no description of splits"):
        SplitConfig.from_json({"salt": "s"})
