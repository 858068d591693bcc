"""What a prediction may write to: never the points themselves, never a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.predicting import environment, write_points, write_workdir
from workflows.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_workdir(folder)
    environment(folder)
    return folder


@pytest.fixture
def words(made, tmp_path, monkeypatch):
    """The beginning of a command, with points in a file."""
    monkeypatch.syspath_prepend(made / "distribution")
    write_points(tmp_path / "p.csv", 20)
    return ["predict", str(made / "w"), "--input", str(tmp_path / "p.csv"), "--output"]


def hard_link(points: Path) -> Path:
    os.link(points, points.with_name("hard.csv"))
    return points.with_name("hard.csv")


def soft_link(points: Path) -> Path:
    points.with_name("soft.csv").symlink_to(points)
    return points.with_name("soft.csv")


@pytest.mark.parametrize("name", [Path, hard_link, soft_link])
def test_the_points_are_never_written_over(words, tmp_path, capsys, name):
    before = (tmp_path / "p.csv").read_bytes()
    assert main([*words, str(name(tmp_path / "p.csv"))]) == 2
    assert "is the file of the points itself, which would be lost" in capsys.readouterr().err
    assert (tmp_path / "p.csv").read_bytes() == before


def test_a_folder_is_refused_in_a_sentence(words, tmp_path, capsys):
    (tmp_path / "d.csv").mkdir()
    assert main([*words, str(tmp_path / "d.csv")]) == 2
    assert "is a folder, and the predictions are one file" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "q.csv")]) == 0
