"""What a driver finds of an earlier one that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.campaigns import write_campaign
from workflows.campaign import plan_campaign
from workflows.config import load_campaign
from workflows.driver import driving, prepare
from workflows.plan import Plan
from workflows.progress import Lines
from workflows.stopping import Stopping


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_campaign(load_campaign(write_campaign(tmp_path / "c")))


def test_what_a_killed_driver_was_writing_is_removed(plan: Plan, tmp_path: Path) -> None:
    workspace = prepare(plan, tmp_path / "w", "laptop")
    training = workspace.training / "0123"
    training.mkdir(parents=True)
    parts = [workspace.root / ".verdict-0123456789ab.part.json", training / ".job-0123456789ab.part.json"]
    for part in parts:
        part.write_text("{")
    with driving(plan.campaign, workspace, Lines(), Stopping()):
        assert not [part for part in parts if part.exists()]
    assert workspace.campaign_file.is_file()
