"""One run before many: what it shows, what it keeps, what it refuses."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError, DataError
from surrogate.core.outcome import Failure, FailureKind, Success
from tests.support.external import CAMPAIGN, FOLDER
from workflows.cli import main
from workflows.config import load_campaign
from workflows.trial import try_campaign

TEXT = (
    CAMPAIGN.partition("coordinates.t")[0]
    + """\
outputs.left = { file = "curve.txt", column = 2, shape = [5], unit = "mol" }
outputs.half = { pattern = 'half-life = (\\S+)', unit = "s" }
"""
)


@pytest.fixture
def path(tmp_path):
    home = tmp_path / "home"
    shutil.copytree(FOLDER, home)
    (home / "c.toml").write_text(TEXT)
    return home / "c.toml"


def test_it_shows_what_was_read_and_leaves_nothing(path):
    before = sorted(path.parent.iterdir())
    trial = try_campaign(load_campaign(path), "laptop", ("rate=0.5", "amount=2"))
    assert isinstance(trial.outcome, Success), trial.outcome
    assert trial.inputs == {"rate": 0.5, "amount": 2.0}
    assert trial.outputs == ("left [5]: from 0.270671 to 2 mol", "half = 1.38629 s")
    assert "64 runs" in trial.estimate
    assert "(measured)" in trial.estimate
    assert trial.folder is None
    assert sorted(path.parent.iterdir()) == before
    assert not list(Path(tempfile.gettempdir()).glob("surrogate-try-*"))


def test_the_middle_of_the_space_is_tried_and_kept_where_asked(path, tmp_path):
    trial = try_campaign(load_campaign(path), "laptop", keep=tmp_path / "kept")
    assert trial.inputs == {"rate": 0.55, "amount": 3.0}
    assert trial.folder is not None
    assert (trial.folder / "case.txt").read_text().startswith("rate = 0.55\n")
    with pytest.raises(ConfigError, match="exists and is not empty"):
        try_campaign(load_campaign(path), "laptop", keep=tmp_path / "kept")


def test_what_is_left_out_is_in_the_middle_and_bounds_are_told(path, capsys):
    assert main(["try", str(path), "rate=2"]) == 0
    said = capsys.readouterr().out
    assert "Inputs   rate = 2.0, amount = 3.0\n" in said
    assert "Note     'rate' is 2.0 1/s, outside [0.1, 1.0] 1/s, the campaign's bounds" in said
    trial = try_campaign(load_campaign(path), "laptop", ("amount=2",))
    assert (trial.inputs, trial.outside) == ({"rate": 0.55, "amount": 2.0}, None)


def test_what_failed_tries_left_goes_after_a_day(path, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    made = [tmp_path / "temporary" / name for name in ("surrogate-try-old", "surrogate-try-new", "other")]
    for folder in made:
        (folder / "runs").mkdir(parents=True)
    for folder in (made[0], made[2]):
        os.utime(folder, (time.time() - 90_000,) * 2)
    try_campaign(load_campaign(path), "laptop")
    assert [folder.exists() for folder in made] == [False, True, True]


def test_a_failure_is_shown_and_its_folder_is_kept(path):
    path.write_text(path.read_text().replace("shape = [5]", "shape = [4]"))
    trial = try_campaign(load_campaign(path), "laptop")
    assert isinstance(trial.outcome, Failure)
    assert trial.outcome.kind is FailureKind.WRONG_SHAPE
    assert "has the shape [5], and 'shape' declares [4]" in trial.outcome.message
    assert trial.folder is not None
    assert (trial.folder / "curve.txt").is_file()
    shutil.rmtree(trial.folder.parents[2])


def test_a_program_that_is_older_than_its_source_is_told(path, capsys, tmp_path):
    home = path.parent
    program = home / "decay"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (home / "decay.f90").write_text("")
    path.write_text(path.read_text().replace('["awk", "-f", "decay.awk"]', '["./decay"]'))
    for source, told in ((-10, False), (10, True)):
        os.utime(home / "decay.f90", (program.stat().st_mtime + source,) * 2)
        assert main(["try", str(path), "--keep", str(tmp_path / str(source))]) == 1
        assert ("decay.f90 is newer than decay; perhaps" in capsys.readouterr().out) is told


def test_a_point_must_be_one_of_the_space(path):
    with pytest.raises(DataError, match=r"There is no input 'rat'.*mean 'rate'"):
        try_campaign(load_campaign(path), "laptop", ("rat=0.5", "amount=2"))
    assert not list(Path(tempfile.gettempdir()).glob("surrogate-try-*"))


def test_a_site_of_a_scheduler_is_refused(path):
    (path.parent / "cluster.toml").write_text('scheduler = "slurm"\n')
    with pytest.raises(ConfigError, match="is handed out by slurm"):
        try_campaign(load_campaign(path), "cluster")
