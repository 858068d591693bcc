"""A registry or a count of looks that was deleted: told, and mended from what the working directory knows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError
from surrogate.registry.store import Registry
from surrogate.validation.holdout import KnownLooks, holdout_id
from tests.support import toy_surrogate as toy
from tests.support.old_files import CAMPAIGN, write_case, write_texts
from tests.support.toy_registry import lineage_of, verdict_on
from workflows.approval import approve
from workflows.cli import main
from workflows.current import current_version
from workflows.driver import driving, reopen
from workflows.existing_data import plan_existing
from workflows.ingest.ingest import ingest
from workflows.judge import STAGE as JUDGE
from workflows.looks import known_looks
from workflows.progress import Silent
from workflows.promotion import conclude_again, journal_promotion, promote
from workflows.stopping import Stopping

BOUNDED = CAMPAIGN + "[inputs.nu]\nlow = 0.0\nhigh = 3.0\n"


@pytest.fixture(scope="module")
def artifact(tmp_path_factory) -> Path:
    return toy.write_artifact(
        tmp_path_factory.mktemp("artifact") / "a", toy.table(40, seed=1), toy.table(20, seed=2), members=1, degree=2
    )


class Place:
    """A working directory with a judged version, as a campaign leaves it."""

    def __init__(self, root: Path, artifact: Path, *, approval: bool = False) -> None:
        text = BOUNDED + ("[approval]\nrequired = true\n" if approval else "")
        campaign, layout = write_texts(root, campaign=text)
        ingest(root / "w", [write_case(root / "old.h5", 0.5, 2.0)], layout, campaign=campaign, progress=Silent())
        self.workdir, self.artifact = root / "w", artifact
        self.registry = Registry(self.workdir / "registry")
        self.campaign, self.workspace = reopen(self.workdir)
        self.plan = plan_existing(self.campaign, self.workdir)
        self.version = self.add()

    def add(self) -> str:
        return self.registry.add(self.artifact, lineage_of("old"))

    def judge(self, value: float = 0.5, **details: object):
        verdict = verdict_on(self.version, value=value, **details)
        stands = promote(self.plan, verdict, self.registry)
        verdict.write(self.workspace.verdict)
        if stands.promoted:
            with self.driving() as driver:
                journal_promotion(driver, self.version, self.registry)
        return verdict

    def driving(self):
        return driving(self.campaign, self.workspace, Silent(), Stopping())

    def lose_registry(self) -> None:
        for path in [self.registry.root, *self.registry.root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(self.registry.root)

    def none(self) -> str:
        """Return the sentence that says why no version is current."""
        with pytest.raises(ConfigError) as told:
            current_version(self.campaign, self.workspace, self.registry)
        return str(told.value)


@pytest.fixture
def place(tmp_path, artifact) -> Place:
    return Place(tmp_path, artifact)


@pytest.fixture
def waiting(tmp_path, artifact) -> Place:
    return Place(tmp_path, artifact, approval=True)


def test_a_lost_registry_is_told_by_every_command(place, capsys):
    place.judge()
    place.lose_registry()
    lost = f"has no verdict on version {place.version}, which was judged in {place.workdir}"
    assert lost in place.none()
    for words in (["promote"], ["report"], ["lineage"], ["predict", "nu=1", "amp=1"]):
        assert main([words[0], str(place.workdir), *words[1:]]) == 2
        told = capsys.readouterr().err
        assert lost in told
        assert f"`surrogate resume {place.workdir}` takes the version in again" in told


def test_a_lost_registry_is_written_again_and_promotes(place):
    verdict = place.judge()
    place.lose_registry()
    assert place.add() == place.version
    with place.driving() as driver:
        assert conclude_again(driver, place.plan, verdict, place.registry) == (True, False)
        assert conclude_again(driver, place.plan, verdict, place.registry) == (True, False)
    assert [entry["event"] for entry in place.registry.show(place.version)["events"]] == ["added", "promoted"]


def test_the_word_of_a_person_outlives_the_registry(waiting):
    verdict = waiting.judge()
    approve(waiting.workdir, approved_by="Ada", note="looked", progress=Silent())
    waiting.lose_registry()
    waiting.add()
    with waiting.driving() as driver:
        assert conclude_again(driver, waiting.plan, verdict, waiting.registry) == (True, False)
        event = waiting.registry.show(waiting.version)["events"][-1]
        assert (event["event"], event["approved_by"], event["note"]) == ("promoted", "Ada", "looked")
        other = Registry(waiting.workdir / "other")
        other.add(waiting.artifact, lineage_of("old"))
        assert conclude_again(driver, waiting.plan, verdict, other) == (False, True), "given for one registry only"


def test_a_failed_verdict_is_written_again_and_promotes_nothing(place):
    verdict = place.judge(value=2.0)
    place.lose_registry()
    place.add()
    with place.driving() as driver:
        assert conclude_again(driver, place.plan, verdict, place.registry) == (False, False)
    assert [entry["event"] for entry in place.registry.show(place.version)["events"]] == ["added", "judged"]


def test_a_version_that_waits_is_said_to_wait(waiting):
    waiting.judge()
    assert f"version {waiting.version} has passed its gate and is awaiting approval" in waiting.none()
    assert f"surrogate promote {waiting.workdir} --approve NAME --note TEXT" in waiting.none()


def test_why_there_is_none(place, tmp_path):
    place.judge(value=2.0)
    assert "none has passed its gate" in place.none()
    place.workspace.verdict.unlink()
    place.registry = Registry(tmp_path / "empty")
    assert "nothing was trained in" in place.none()
    place.add()
    assert "nothing was judged in" in place.none()


def test_looks_are_known_from_verdict_journal_and_registry(place):
    name = holdout_id(place.plan.splits.salt)
    holdout = {"id": name, "consultations": 3, "surrogates": 2}
    with place.driving() as driver:
        assert known_looks(driver, place.plan, place.registry, JUDGE) == KnownLooks()
    place.judge(holdout=holdout)
    expected = KnownLooks(3, 2, frozenset({place.version}))
    with place.driving() as driver:
        assert known_looks(driver, place.plan, place.registry, JUDGE) == expected
        assert known_looks(driver, place.plan, Registry(place.workdir / "other"), JUDGE) == expected
        place.workspace.verdict.unlink()
        assert known_looks(driver, place.plan, place.registry, JUDGE) == expected
        place.lose_registry()
        assert known_looks(driver, place.plan, place.registry, JUDGE) == KnownLooks()
        driver.finish(JUDGE, "k", {"version": "a", "passed": True, "holdout": {**holdout, "consultations": 5}})
        assert known_looks(driver, place.plan, place.registry, JUDGE) == KnownLooks(5, 2, frozenset({"a"}))


def test_the_looks_at_another_holdout_do_not_count(place):
    place.judge(holdout={"id": "0" * 16, "consultations": 3, "surrogates": 2})
    with place.driving() as driver:
        assert known_looks(driver, place.plan, place.registry, JUDGE) == KnownLooks()


def test_promoting_what_is_current_writes_nothing_unless_there_is_a_word(place, capsys):
    place.judge()
    assert main(["promote", str(place.workdir)]) == 0
    said = capsys.readouterr().out
    assert "was current already, in" in said
    assert [entry["event"] for entry in place.registry.show(place.version)["events"]] == ["added", "promoted"]
    assert main(["promote", str(place.workdir), "--approve", "Ada", "--note", "fine"]) == 0
    assert "was current already; the word is in its history, approved by Ada" in capsys.readouterr().out
    events = [entry["event"] for entry in place.registry.show(place.version)["events"]]
    assert events == ["added", "promoted", "approved"]
