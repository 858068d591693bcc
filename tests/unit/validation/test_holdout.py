"""The count of looks at a holdout, and what becomes of it when its file is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.validation.holdout import Consultations, KnownLooks, holdout_id, record_consultation


def look(path: Path, version: str = "a", known: KnownLooks | None = None) -> Consultations:
    return record_consultation(path, salt="s", version=version, dataset_hash="d", known=known)


def counted(looks: Consultations) -> tuple[int, int, int]:
    return looks.times, looks.surrogates, looks.lost


def test_a_record_that_was_deleted_is_counted_on(tmp_path: Path):
    path = tmp_path / "holdout.json"
    assert counted(look(path)) == (1, 1, 0)
    assert counted(look(path)) == (2, 1, 0)
    path.unlink()
    found = look(path, known=KnownLooks(2, 1, frozenset({"a"})))
    assert counted(found) == (3, 1, 2)
    assert found.sentence == "This holdout has been consulted 3 times, for one version of the surrogate."
    assert counted(look(path, known=KnownLooks(3, 1, frozenset({"a"})))) == (4, 1, 0), "the record was mended"


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (KnownLooks(), (1, 1, 0)),
        (KnownLooks(3, 2, frozenset({"a", "b"})), (4, 3, 3)),
        (KnownLooks(5, 3, frozenset({"a"})), (6, 4, 5)),
        (KnownLooks(2, 2, frozenset({"c"})), (3, 2, 2)),
    ],
)
def test_what_verdicts_know(known: KnownLooks, expected: tuple[int, int, int], tmp_path: Path):
    found = look(tmp_path / "h.json", "c", known)
    assert counted(found) == expected
    assert counted(look(tmp_path / "h.json", "c")) == (expected[0] + 1, expected[1], 0)


def test_a_record_that_counts_more_is_believed(tmp_path: Path):
    for version in "abc":
        look(tmp_path / "h.json", version)
    assert counted(look(tmp_path / "h.json", "c", KnownLooks(2, 2, frozenset({"a", "b"})))) == (4, 3, 0)


def test_sources_that_counted_the_same_looks_are_not_added():
    both = KnownLooks(4, 2, frozenset({"a"})) | KnownLooks(2, 1, frozenset({"b"}))
    assert both == KnownLooks(4, 2, frozenset({"a", "b"}))
    assert len(holdout_id("s")) == 16
