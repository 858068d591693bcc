"""Promotion: on a passing verdict, and where the campaign demands it on a person's word."""

from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError, InputError
from surrogate.registry.store import Registry
from tests.support import toy_surrogate as toy
from tests.support.old_files import CAMPAIGN, write_case, write_texts
from tests.support.toy_registry import lineage_of, verdict_on
from workflows import approval
from workflows.approval import approve
from workflows.cli import main
from workflows.config import load_campaign
from workflows.driver import driving, reopen
from workflows.existing_data import plan_existing
from workflows.ingest.ingest import ingest
from workflows.journal import read_state
from workflows.progress import Silent
from workflows.promotion import conclude_again, promote, standing
from workflows.stopping import Stopping

APPROVED = CAMPAIGN + "[approval]\nrequired = true\n"


@pytest.fixture(scope="module")
def artifact(tmp_path_factory) -> Path:
    return toy.write_artifact(
        tmp_path_factory.mktemp("artifact") / "a", toy.table(40, seed=1), toy.table(20, seed=2), members=1, degree=2
    )


@pytest.fixture
def place(tmp_path, artifact):
    """A working directory whose campaign demands approval, and a version in its registry."""
    campaign, layout = write_texts(tmp_path, campaign=APPROVED)
    case = write_case(tmp_path / "old.h5", 0.5, 2.0)
    bounded = APPROVED + "[inputs.nu]\nlow = 0.0\nhigh = 3.0\n"
    campaign, layout = write_texts(tmp_path, campaign=bounded)
    ingest(tmp_path / "w", [case], layout, campaign=campaign, progress=Silent())
    registry = Registry(tmp_path / "w" / "registry")
    version = registry.add(artifact, lineage_of("old"))
    return tmp_path / "w", plan_existing(campaign, tmp_path / "w"), registry, version


def judged(place, value: float = 0.5):
    """Write a verdict as a campaign does."""
    workdir, plan, registry, version = place
    verdict = verdict_on(version, value=value)
    stands = promote(plan, verdict, registry)
    verdict.write(workdir / "verdict.json")
    return verdict, stands


def test_a_passing_verdict_waits_for_a_word(place, capsys):
    workdir, plan, registry, version = place
    verdict, stands = judged(place)
    assert stands == (False, True)
    assert registry.current("old") is None
    assert [event["event"] for event in registry.show(version)["events"]] == ["added", "judged"]
    for words in ((), ("--approve", "Ada"), ("--note", "fine"), ("--approve", " ", "--note", "fine")):
        assert main(["promote", str(workdir), *words]) == 2
        assert "demands a person's word" in capsys.readouterr().err
    assert main(["promote", str(workdir), "--approve", "Ada", "--note", "looked at the tails"]) == 0
    assert f"Version {version} of 'old' is current now, approved by Ada" in capsys.readouterr().out
    assert registry.current("old") == version
    event = registry.show(version)["events"][-1]
    assert (event["event"], event["approved_by"], event["note"]) == ("promoted", "Ada", "looked at the tails")
    (step,) = registry.lineage(version)
    assert step["events"][-1]["approved_by"] == "Ada"
    state = read_state(workdir / "journal").state
    assert state.stages["promote"].record["approved_by"] == "Ada"
    assert standing(plan, verdict, registry) == (True, False)
    assert main(["lineage", str(workdir)]) == 0
    assert "Ada" in capsys.readouterr().out


def test_the_report_is_written_again(place, monkeypatch):
    workdir, _, _, version = place
    judged(place)
    (workdir / "report.html").write_text("waits")
    current = []
    monkeypatch.setattr(approval, "renew_report", lambda driver, plan, store: current.append(store.current("old")))
    approve(workdir, approved_by="Ada", note="ok", progress=Silent())
    assert current == [version]


def test_a_report_that_cannot_be_written_again_undoes_nothing(place, capsys):
    workdir, _, registry, version = place
    judged(place)
    (workdir / "report.html").write_text("waits")  # and the evidence that it was made of is gone
    assert main(["promote", str(workdir), "--approve", "Ada", "--note", "ok"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "The report does not say so yet" in told
    assert f"surrogate report {workdir}" in told
    assert registry.current("old") == version


def test_judging_again_moves_nothing_that_was_approved(place):
    workdir, _, registry, version = place
    judged(place)
    approve(workdir, version[:6], approved_by="Ada", note="ok", progress=Silent())
    _, stands = judged(place)
    assert stands == (True, False)
    assert registry.show(version)["events"][-1]["event"] == "judged"


def test_a_failed_verdict_is_refused_whoever_approves(place, capsys):
    workdir, _, registry, version = place
    _, stands = judged(place, value=2.0)
    assert stands == (False, False)
    with pytest.raises(InputError, match=f"Version {version} is not promoted. .*error"):
        approve(workdir, approved_by="Ada", note="please", progress=Silent())
    assert main(["promote", str(workdir), "--approve", "Ada", "--note", "please"]) == 2
    assert "is not promoted" in capsys.readouterr().err
    assert registry.current("old") is None


def test_what_was_never_judged_is_refused(place):
    workdir, _, _, version = place
    with pytest.raises(ConfigError, match="Nothing was judged in"):
        approve(workdir, approved_by="Ada", note="ok", progress=Silent())
    with pytest.raises(ConfigError, match=f"Version {version} of 'old' has not been judged"):
        approve(workdir, version, approved_by="Ada", note="ok", progress=Silent())
    with pytest.raises(ConfigError, match="has no version 'beef'"):
        approve(workdir, "beef", approved_by="Ada", note="ok", progress=Silent())


def test_a_campaign_that_no_longer_demands_it_promotes_what_waits(place):
    workdir, _, registry, version = place
    verdict, _ = judged(place)
    file = workdir / "campaign.toml"
    file.write_text(file.read_text().replace("required = true", "required = false"))
    campaign, workspace = reopen(workdir)
    plan = plan_existing(campaign, workdir)
    with driving(campaign, workspace, Silent(), Stopping()) as driver:
        assert conclude_again(driver, plan, verdict, registry) == (True, False)
        assert conclude_again(driver, plan, verdict, registry) == (True, False)
    assert [event["event"] for event in registry.show(version)["events"]] == ["added", "judged", "promoted"]
    assert load_campaign(file).approval.required is False
