"""An empty word never means this folder."""

from __future__ import annotations

import pytest

from workflows.cli import main


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["run", "campaign.toml", "--workdir", ""], "after '--workdir'"),
        (["run", "campaign.toml", "--workdir="], "to --workdir"),
        (["run", "campaign.toml", "--registry", ""], "after '--registry'"),
        (["resume", ""], "after 'resume'"),
        (["predict", "", "a=1"], "after 'predict'"),
        (["predict", "w", "--input", "p.csv", "--output", ""], "after '--output'"),
    ],
)
def test_an_empty_word_is_refused(words, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert f"An empty word was given {place}." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_word_of_a_person_may_be_empty(tmp_path, capsys):
    assert main(["promote", str(tmp_path), "--approve", "", "--note", "", "--note="]) == 2
    assert "empty word" not in capsys.readouterr().err
