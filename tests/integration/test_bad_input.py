"""Every mistake in a request ends in one sentence and exit code 2, before anything is started."""

from __future__ import annotations

import pytest

from tests.support.campaigns import write_campaign
from workflows.cli import main

CASES = {
    "unknown key": ("[design]\n", "[design]\nrunz = 3\n", "Did you mean 'runs'?"),
    "unknown table": ("[design]\n", "[dezign]\n", "Did you mean 'design'?"),
    "low not below high": ("[design]\n", "[inputs]\na = { low = 2.0, high = 1.0 }\n[design]\n", "low"),
    "unknown simulator": ('name = "scripted"', 'name = "scriptd"', "Did you mean 'scripted'?"),
    "unknown unit": ("[design]\n", '[inputs]\na = { unit = "furlnog" }\n[design]\n', "furlnog"),
    "ranks that do not divide": ("ranks = 1\nwalltime", "ranks = 3\nnodes = 2\nwalltime", "divide"),
    "more cores than there are": ("ranks = 1\nwalltime", "ranks = 1\ncores_per_rank = 4096\nwalltime", "4096 cores"),
    "training on more cores than there are": ("ranks = 1\nbatch", "ranks = 4096\nbatch", "4096 cores"),
    "a split below its minimum": ("holdout = 5", "holdout = 500", "holdout"),
    "a newer schema": ("schema_version = 1", "schema_version = 99", "99"),
    "an unknown metric": ("relative_l2_median", "relative_l2_meadian", "Did you mean 'relative_l2_median'?"),
    "an unknown family": ("[model]\n", '[model]\nfamily = "mpl"\n', "Did you mean 'mlp'?"),
    "an unknown option of the family": ("[train]", "[model.options]\nwidht = 3\n[train]", "Did you mean 'width'?"),
    "no TOML": ("[design]", "[design", "TOML"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_a_mistake_is_one_sentence(case, flags, tmp_path, capsys):
    old, new, expected = CASES[case]
    path = write_campaign(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    code = main(["run", str(path), "--workdir", str(tmp_path / "w"), *flags])
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.startswith("surrogate: ")
    assert said.err.count("\n") == 1
    assert expected in said.err
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "no-such-file.toml"], "does not exist"),
        (["run", "buckley-leveret"], "Did you mean 'buckley-leverett'?"),
        (["run", "buckley-leverett", "--site", "labtop"], "Did you mean 'laptop'?"),
        (["run"], "CAMPAIGN"),
        (["runn", "x"], "runn"),
        (["status", "nowhere"], "nowhere"),
        (["resume", "nowhere"], "nowhere"),
        (["report", "nowhere"], "nowhere"),
        (["predict", "nowhere", "a=1"], "nowhere"),
        (["registry", "list"], "registry"),
        (["site", "show", "labtop"], "Did you mean 'laptop'?"),
    ],
)
def test_wrong_words_are_one_sentence(words, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = main(words)
    said = capsys.readouterr()
    assert code == 2
    assert expected in said.err
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_mistake_is_on_stdout_as_json_too(tmp_path, capsys):
    import json

    path = write_campaign(tmp_path)
    path.write_text(path.read_text().replace("schema_version = 1", "schema_version = 99"))
    assert main(["run", str(path), "--workdir", str(tmp_path / "w"), "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit_code"] == 2
    assert "99" in answer["error"]


def test_a_directory_with_something_else_is_left_alone(tmp_path, capsys):
    path = write_campaign(tmp_path / "campaign")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "thesis.tex").write_text("mine")
    assert main(["run", str(path), "--workdir", str(tmp_path / "w")]) == 2
    assert "not the working directory of a campaign" in capsys.readouterr().err
    assert [entry.name for entry in (tmp_path / "w").iterdir()] == ["thesis.tex"]
