"""Asking for failed runs to be tried again: how the command hands it on, and where there is nothing to try."""

from __future__ import annotations

from tests.support.old_files import CAMPAIGN, write_case, write_texts
from workflows import campaign as loop
from workflows.cli import main
from workflows.ingest.ingest import ingest
from workflows.progress import Silent


def taken(tmp_path):
    """Return the working directory of a campaign whose data exist already."""
    campaign, layout = write_texts(tmp_path, campaign=CAMPAIGN + "[inputs.nu]\nlow = 0.0\nhigh = 3.0\n")
    ingest(tmp_path / "w", [write_case(tmp_path / "old.h5", 0.5, 2.0)], layout, campaign=campaign, progress=Silent())
    return tmp_path / "w"


def test_without_a_simulator_there_is_nothing_to_try_again(tmp_path, capsys):
    workdir = taken(tmp_path)
    assert main(["resume", str(workdir), "--retry-failed"]) == 2
    said = capsys.readouterr().err
    assert "has no simulator, so that no run can be tried again" in said
    assert "surrogate ingest" in said


def test_only_the_option_asks_for_it(tmp_path, monkeypatch):
    workdir, asked = taken(tmp_path), []

    def run_campaign(*_, retry_failed, **__):
        asked.append(retry_failed)
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "run_campaign", run_campaign)
    monkeypatch.setattr(loop, "is_ingested", lambda campaign: False)
    main(["resume", str(workdir)])
    main(["resume", str(workdir), "--retry-failed"])
    assert asked == [False, True]
