"""Benchmarks have one form: a file, a last line, a page."""

from __future__ import annotations

import json

from tests.benchmarks.form import Figure, publish, render


def test_the_last_line_and_the_file_are_one(tmp_path, capsys):
    figures = {
        "ours_s": Figure(1.25, "s", "ours, median"),
        "ratio": Figure(1.0, "1", "ours over theirs"),
        "each": Figure([1.0, 1.5], "s", "each repeat"),
    }
    record = publish(
        "toy",
        "A toy",
        figures,
        how="By hand.",
        target="`ratio` at most 2",
        distributions=("numpy", "nobody"),
        folder=tmp_path,
    )
    printed = capsys.readouterr()
    assert json.loads(printed.out.strip().splitlines()[-1]) == record
    assert json.loads((tmp_path / "toy.json").read_text()) == record
    assert "toy.json is written" in printed.err
    assert (record["ours_s"], record["ratio"], record["each"]) == (1.25, 1.0, [1.0, 1.5])
    assert record["versions"]["nobody"] == "absent"
    assert set(record["versions"]) >= {"python", "surrogate-hpc", "numpy"}
    assert list(tmp_path.iterdir()) == [tmp_path / "toy.json"]


def test_the_page_shows_every_figure_with_its_unit(tmp_path):
    for name in ("b", "a"):
        publish(name, f"Title {name}", {"x_s": Figure(0.123456, "s", "a time")}, how="By hand.", folder=tmp_path)
    page = render(tmp_path)
    assert page.index("Title a") < page.index("Title b")
    assert "| `x_s` | 0.1235 | s | a time |" in page
    assert "By hand." in page
