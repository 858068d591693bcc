"""A campaign through the command line as a person uses it: run it once, then ask everything of it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.support.campaigns import executions, json_of, one_sentence, surrogate, write_campaign
from workflows.cli import main

WRONG_PAIRS = [(), ("a=1",), ("a=1", "b=x"), ("a=1", "b=2", "c=3"), ("a:1",), ("a=1", "a=2", "b=1")]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.parsl, pytest.mark.train]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """A finished campaign: its folder, its working directory, what `run` said."""
    folder = tmp_path_factory.mktemp("campaign")
    ended = surrogate("run", write_campaign(folder, members=2), "--workdir", folder / "w", "--json")
    assert ended.returncode == 0, ended.stderr
    return folder, folder / "w", json_of(ended)


def write_points(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="") as sink:
        writer = csv.DictWriter(sink, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def ask(capsys, *words: str | Path) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_verdict_is_where_it_is_promised(campaign):
    _, workdir, answer = campaign
    verdict = json.loads((workdir / "verdict.json").read_text())
    assert {"passed", "metrics", "gate", "dataset_hash", "version"} <= set(verdict)
    assert verdict["passed"] is answer["passed"] is True
    assert verdict["gate"] == {"relative_l2_median": {"max": 10.0}}
    assert answer["promoted"] is True
    assert (workdir / "report.html").stat().st_size > 10_000


def test_running_it_again_repeats_nothing(campaign):
    folder, workdir, answer = campaign
    before = (workdir / "holdout.json").read_bytes(), executions(folder)
    ended = surrogate("run", folder / "small.toml", "--workdir", workdir, "--json")
    assert ended.returncode == 0
    assert json_of(ended)["version"] == answer["version"]
    assert ((workdir / "holdout.json").read_bytes(), executions(folder)) == before


def test_csv_in_csv_out(campaign, capsys, tmp_path):
    points = write_points(tmp_path / "points.csv", [{"a": 0.25, "b": 1.0}, {"a": 0.5, "b": 2.0}])
    code, out, _ = ask(capsys, "predict", campaign[1], "--input", points, "--output", tmp_path / "out.csv")
    assert code == 0
    assert "2 points" in out
    with (tmp_path / "out.csv").open() as source:
        rows = list(csv.DictReader(source))
    assert len(rows) == 2
    assert float(rows[0]["a"]) == 0.25
    assert {"level", "in_domain"} <= {name.split("[")[0] for name in rows[0]}


def test_hdf5_in_hdf5_out_says_the_same_as_csv(campaign, capsys, tmp_path):
    with h5py.File(tmp_path / "points.h5", "w") as file:
        file["a"], file["b"] = [0.25, 0.5], [1.0, 2.0]
    points = write_points(tmp_path / "points.csv", [{"a": 0.25, "b": 1.0}, {"a": 0.5, "b": 2.0}])
    for given, output in ((tmp_path / "points.h5", "one.h5"), (points, "two.h5")):
        code, _, err = ask(capsys, "predict", campaign[1], "--input", given, "--output", tmp_path / output)
        assert code == 0, err
    with h5py.File(tmp_path / "one.h5") as one, h5py.File(tmp_path / "two.h5") as two:
        names: list[str] = []
        one.visititems(lambda name, node: names.append(name) if isinstance(node, h5py.Dataset) else None)
        assert names
        for name in names:
            assert np.array_equal(one[name][()], two[name][()]), name


def test_one_point_on_the_line(campaign, capsys):
    code, out, _ = ask(capsys, "predict", campaign[1], "a=0.25", "b=1.0", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["rows"] == 1
    assert answer["lower"]["level"][0] <= answer["mean"]["level"][0] <= answer["upper"]["level"][0]


def test_a_point_outside_is_predicted_and_flagged(campaign, capsys):
    code, out, _ = ask(capsys, "predict", campaign[1], "a=55.0", "b=1.0")
    assert code == 0
    assert "outside the domain" in out
    code, out, _ = ask(capsys, "predict", campaign[1], "a=55.0", "b=1.0", "--json")
    assert json.loads(out)["in_domain"] == [False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n0.5\n", "'b'"),
        ("a,b\n0.5,oil\n", "oil"),
        ("a,b\n0.5,nan\n", "row"),
        ("a,b\n0.5,\n", "row"),
        ("a,b\n", ""),
        ("", ""),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(campaign, capsys, tmp_path, text, expected):
    (tmp_path / "points.csv").write_text(text)
    output = tmp_path / "out.h5"
    code, out, err = ask(capsys, "predict", campaign[1], "--input", tmp_path / "points.csv", "--output", output)
    assert (code, out) == (2, "")
    assert err.startswith("surrogate: ")
    assert err.count("\n") == 1
    assert expected in err
    assert not output.exists()


@pytest.mark.parametrize("words", WRONG_PAIRS)
def test_pairs_that_cannot_be_used_are_refused(campaign, capsys, words):
    code, _, err = ask(capsys, "predict", campaign[1], *words)
    assert code == 2
    assert err.count("\n") == 1


def test_status_tells_how_it_stands(campaign, capsys):
    code, out, _ = ask(capsys, "status", campaign[1], "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["total"] == 40
    assert answer["runs"]["packed"] == 40
    assert answer["verdict"]["passed"] is True
    code, out, _ = ask(capsys, "status", campaign[1])
    assert "40" in out


def test_validating_again_is_counted_and_the_report_is_not(campaign, capsys, tmp_path):
    workdir = tmp_path / "copy"
    shutil.copytree(campaign[1], workdir)
    code, out, err = ask(capsys, "validate", workdir, "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"] == campaign[2]["metrics"]
    assert json.loads((workdir / "holdout.json").read_text())["consultations"][-1]["version"] == campaign[2]["version"]
    before = (workdir / "holdout.json").read_bytes()
    (workdir / "report.html").unlink()
    code, out, err = ask(capsys, "report", workdir)
    assert code == 0, err
    assert Path(out.strip()) == workdir / "report.html"
    assert "2 times" in (workdir / "report.html").read_text()
    assert (workdir / "holdout.json").read_bytes() == before


def test_lineage_and_registry_know_the_version(campaign, capsys):
    _, workdir, answer = campaign
    code, out, _ = ask(capsys, "lineage", workdir, "--json")
    assert code == 0
    assert json.loads(out)["version"] == answer["version"]
    code, out, _ = ask(capsys, "registry", "list", "--workdir", workdir, "--json")
    assert [entry["state"] for entry in json.loads(out)["versions"]] == ["current"]
    code, out, _ = ask(capsys, "registry", "show", answer["version"][:6], "--registry", workdir / "registry", "--json")
    record = json.loads(out)["record"]
    assert record["dataset_hash"] == answer["dataset_hash"]
    assert record["runs"]["count"] == 40
    assert any("surrogate.training.program" in line for line in record["launch_lines"])
    code, _, err = ask(capsys, "registry", "rollback", "small", "--workdir", workdir)
    assert code == 2
    assert err.count("\n") == 1


def test_another_campaign_is_refused_in_this_directory(campaign, capsys, tmp_path):
    other = write_campaign(tmp_path / "other")
    other.write_text(other.read_text().replace("seed = 3", "seed = 4"))
    code, _, err = ask(capsys, "run", other, "--workdir", campaign[1])
    assert code == 2
    assert "seed" in err
    assert err.count("\n") == 1


def test_a_failed_gate_ends_with_3_and_promotes_nothing(campaign, tmp_path):
    folder, workdir, _ = campaign
    copy = tmp_path / "w"
    shutil.copytree(workdir, copy, ignore=shutil.ignore_patterns("registry"))
    strict = (folder / "small.toml").read_text().replace("max = 10.0", "max = 1e-9")
    (tmp_path / "strict.toml").write_text(strict)
    ended = surrogate("run", tmp_path / "strict.toml", "--workdir", copy, "--json")
    assert ended.returncode == 3, ended.stderr
    assert json_of(ended)["promoted"] is False
    refused = surrogate("predict", copy, "a=0.5", "b=1")
    assert refused.returncode == 2
    assert "promoted" in one_sentence(refused)


def test_the_report_is_a_page_that_a_browser_shows(campaign, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed; `make ci-deps` installs it.")
    picture = tmp_path / "report.png"
    flags = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1100,3000", f"--screenshot={picture}",
    )  # fmt: skip
    page = f"file://{campaign[1] / 'report.html'}"
    home = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([chromium, *flags, page], capture_output=True, check=True, timeout=120, env=home)
    from matplotlib.image import imread

    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == (3000, 1100)
    # A page with text and pictures has many colours, and is not empty towards its end either.
    assert len(np.unique((pixels * 255).astype(np.uint8).reshape(-1, 3), axis=0)) > 100
    assert pixels[2000:].std() > 0.01
