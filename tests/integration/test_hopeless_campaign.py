"""A campaign in which too many runs fail ends when that is certain, not after all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.campaigns import executions, one_sentence, surrogate, write_campaign

pytestmark = [pytest.mark.parsl, pytest.mark.slow]


def test_it_ends_when_too_many_runs_have_failed_and_goes_on_when_more_may(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, options='mode = "nan"', runs=60)
    ended = surrogate("run", campaign, "--workdir", tmp_path / "work", cwd=tmp_path)
    assert ended.returncode == 1
    sentence = one_sentence(ended)
    assert "were not waited for" in sentence
    assert "'failures.allowed_share' is 0.2 of 60" in sentence
    first = len(executions(tmp_path))
    assert 12 < first < 40
    campaign.write_text(campaign.read_text().replace("[design]", "[failures]\nallowed_share = 1.0\n[design]"))
    again = surrogate("run", campaign, "--workdir", tmp_path / "work", cwd=tmp_path)
    assert again.returncode == 1
    assert "failures.allowed_share" not in one_sentence(again)
    runs = executions(tmp_path)
    assert len(runs) == 60
    assert sum(what.count("end") for what in runs.values()) <= 62, "what had failed is not tried again"
