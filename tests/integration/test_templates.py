"""From `surrogate new` to a prediction, as someone would who has read nothing but the README; sizes are reduced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.campaigns import json_of, surrogate
from tests.support.fortran import fortran_mpi

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.mpi,
    pytest.mark.train,
    pytest.mark.parsl,
    pytest.mark.timeout(900),
]


def edit(path: Path, *pairs: tuple[str, str]) -> None:
    """Change a file; every old text must be there."""
    text = path.read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


def reduce(folder: Path, runs: int, more: str = "") -> None:
    """Make a campaign small: few runs, one member, a gate on what so few can give."""
    text = (folder / "campaign.toml").read_text()
    lines = [
        line for line in text.splitlines() if not line.startswith(("split.", "gate.", "model.", "train.", "design."))
    ]
    small = f"""model.members = 1
train.epochs = 400
design.runs = {runs}
split.minimum = {{ train = 8, tune = 2, holdout = 3 }}
gate.metrics.relative_l2_median = {{ max = 0.5 }}"""
    (folder / "campaign.toml").write_text("\n".join([lines[0], small, *lines[1:]]) + f"\n{more}\n")


def make(tmp_path: Path, template: str) -> Path:
    made = surrogate("new", "mine", "--template", template, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "surrogate predict mine " in made.stdout
    return tmp_path / "mine"


def predict(folder: Path, *point: str) -> dict:
    return json_of(surrogate("predict", "mine", *point, "--json", cwd=folder))


def run(folder: Path, campaign: str = "campaign.toml") -> dict:
    done = surrogate("run", campaign, "--json", cwd=folder, timeout_s=600.0)
    assert done.returncode == 0, done.stderr
    found = json_of(done)
    assert found["passed"]
    assert found["promoted"]
    return found


def test_a_shell_script(tmp_path: Path) -> None:
    folder = make(tmp_path, "shell")
    reduce(folder, 24)
    found = run(tmp_path, "mine/campaign.toml")
    assert found["workdir"] == str(folder / "mine"), "a campaign does not work in the folder that it lies in"
    answer = predict(folder, "contact_rate=0.7", "recovery_rate=0.165", "first_share=0.001")
    curve = answer["mean"]["infected"][0]
    assert len(curve) == 61
    # The program itself, asked for this point, has its peak on day 15: 42 % of the people.
    assert 10 <= max(range(61), key=curve.__getitem__) <= 20
    assert answer["in_domain"] == [True]


def test_a_python_program_over_mpi(tmp_path: Path) -> None:
    folder = make(tmp_path, "python-mpi")
    reduce(folder, 20)
    run(folder)
    answer = predict(folder, "viscosity=0.0316", "amplitude=1", "drift=0")
    wave = answer["mean"]["u"][0]
    assert [len(row) for row in wave] == [128, 128, 128]
    assert max(map(abs, wave[0])) < 1.5


def test_a_fortran_program_over_mpi_with_another_range_and_another_output(tmp_path: Path) -> None:
    fortran_mpi()
    folder = make(tmp_path, "fortran-mpi")
    reduce(
        folder, 20, r"outputs.surface = { pattern = 'surface temperature rise = +(\S+)', unit = 'kelvin', low = 0.0 }"
    )
    edit(folder / "campaign.toml", ("flux = { low = 1e4", "flux = { low = 3e4"), ("cells = 40", "cells = 20"))
    found = run(folder)
    assert "surface_rmse_median" in found["metrics"]
    answer = predict(folder, "conductivity=31.6", "slope=0.00075", "flux=6e4")
    # Both are the temperature at the heated end: a prediction of the one is one of the other.
    assert answer["mean"]["surface"][0] == pytest.approx(answer["mean"]["rise"][0][0], rel=0.5)
    assert answer["in_domain"] == [True]
    # The site that lay beside the campaign is known to the working directory.
    (folder / "laptop.toml").unlink()
    again = surrogate("resume", "mine", "--json", cwd=folder, timeout_s=600.0)
    assert again.returncode == 0, again.stderr
    assert "nothing had to be repeated" in again.stderr
    assert json_of(again)["version"] == found["version"]
