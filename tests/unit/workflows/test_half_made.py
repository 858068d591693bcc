"""A working directory whose making was cut off is ours: the same command goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from surrogate.core import files
from surrogate.core.errors import ConfigError
from tests.support import external
from tests.support.campaigns import write_campaign
from tests.support.old_files import CAMPAIGN, write_case, write_texts
from workflows import driver
from workflows.campaign import plan_campaign
from workflows.checked_plan import check_kept_files
from workflows.config import load_campaign
from workflows.driver import facts, prepare
from workflows.ingest.ingest import ingest
from workflows.plan import find_simulator, make_plan
from workflows.progress import Silent
from workflows.workspace import Workspace

TEXT = external.CAMPAIGN.replace('files = ["decay.awk"]', 'files = ["decay.awk", "mesh"]')


class Killed(BaseException):
    """What a kill is to this process."""


@pytest.fixture
def plan(tmp_path):
    shutil.copytree(external.FOLDER, tmp_path / "home")
    (tmp_path / "home" / "mesh").mkdir()
    (tmp_path / "home" / "mesh" / "a.msh").write_text("1")
    (tmp_path / "home" / "c.toml").write_text(TEXT)
    campaign = load_campaign(tmp_path / "home" / "c.toml")
    return make_plan(campaign, find_simulator(campaign))


def test_a_making_that_ended_at_any_file_goes_on(plan, tmp_path, monkeypatch):
    replace = Path.replace
    steps = 0
    while True:
        root = tmp_path / f"w{steps}"
        left = steps

        def one_more(path: Path, target: Path) -> Path:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return replace(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(files.Path, "replace", one_more)
            try:
                prepare(plan, root, "laptop")
            except Killed:
                steps += 1
            else:
                break
        workspace = prepare(plan, root, "laptop")
        assert facts(workspace)["campaign"] == "decay"
    assert steps >= 5, "the table of files, the program's files, home.json, campaign.toml, workspace.json"


def test_half_written_files_are_removed(plan, tmp_path):
    root = tmp_path / "w"
    (root / "campaign-files" / ".folder-abc" / "new").mkdir(parents=True)
    (root / "campaign-files" / ".decay-0123456789ab.part.awk").write_text("x")
    (root / ".campaign-0123456789ab.part.toml").write_text("x")
    prepare(plan, root, "laptop")
    assert sorted(path.name for path in root.iterdir()) == ["campaign-files", "campaign.toml", "workspace.json"]
    assert not [path for path in (root / "campaign-files").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["thesis.tex", ".hidden", ".notes.part.txt"])
def test_a_folder_of_somebody_else_is_refused_and_left_alone(plan, tmp_path, name):
    root = tmp_path / "w"
    root.mkdir()
    (root / name).write_text("years of work")
    with pytest.raises(ConfigError, match="is not the working directory of a campaign"):
        prepare(plan, root, "laptop")
    assert [path.name for path in root.iterdir()] == [name]


def test_a_half_made_folder_of_another_campaign_is_refused_and_left_alone(plan, tmp_path):
    other = tmp_path / "home" / "other.toml"
    other.write_text(TEXT.replace("high = 5.0", "high = 6.0"))
    campaign = load_campaign(other)
    workspace = prepare(make_plan(campaign, find_simulator(campaign)), tmp_path / "w", "laptop")
    workspace.facts_file.unlink()
    with pytest.raises(ConfigError, match="belongs to another campaign"):
        prepare(plan, workspace.root, "laptop")
    assert workspace.campaign_file.read_text() == other.read_text()
    with pytest.raises(ConfigError, match=r"it has no workspace\.json.*run it again"):
        Workspace.open(workspace.root)


def test_an_ingest_goes_on_as_well(tmp_path, monkeypatch):
    text = CAMPAIGN + "[inputs.nu]\nlow = 0.0\nhigh = 3.0\n"
    campaign, layout = write_texts(tmp_path, campaign=text)
    case = write_case(tmp_path / "old.h5", 0.5, 2.0)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(driver, "write_checked", killed)
        with pytest.raises(Killed):
            ingest(tmp_path / "w", [case], layout, campaign=campaign, progress=Silent())
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == ["campaign.toml"]
    assert ingest(tmp_path / "w", [case], layout, campaign=campaign, progress=Silent()).samples == 1


def test_the_folder_of_the_campaign_itself_is_no_working_directory(plan, tmp_path):
    before = sorted((tmp_path / "home").rglob("*"))
    (tmp_path / "home" / "c.toml").rename(tmp_path / "home" / "campaign.toml")
    campaign = load_campaign(tmp_path / "home" / "campaign.toml")
    own = make_plan(campaign, find_simulator(campaign))
    with pytest.raises(ConfigError, match=r"it has a campaign\.toml, and neither workspace\.json nor a journal"):
        prepare(own, tmp_path / "home", "laptop")
    assert len(sorted((tmp_path / "home").rglob("*"))) == len(before)


def test_a_folder_with_nothing_but_the_campaign_itself_is_none_either(tmp_path):
    home = tmp_path / "alone"
    write_campaign(home)
    campaign = load_campaign(next(home.iterdir()).rename(home / "campaign.toml"))
    with pytest.raises(ConfigError, match="is not the working directory of a campaign"):
        prepare(plan_campaign(campaign), home, "laptop")
    assert [path.name for path in home.iterdir()] == ["campaign.toml"]


def test_lost_facts_of_a_campaign_with_a_journal_are_written_again(plan, tmp_path):
    workspace = prepare(plan, tmp_path / "w", "laptop")
    workspace.journal.mkdir()
    workspace.facts_file.unlink()
    assert facts(prepare(plan, workspace.root, "laptop"))["campaign"] == "decay"


def test_lost_copies_of_the_campaigns_files_are_told(plan, tmp_path):
    workspace = prepare(plan, tmp_path / "w", "laptop")
    campaign = load_campaign(workspace.campaign_file)
    check_kept_files(campaign, workspace)
    shutil.rmtree(workspace.root / "campaign-files")
    with pytest.raises(
        ConfigError, match=r"w/campaign-files, which holds copies .* is missing.*surrogate run CAMPAIGN"
    ):
        check_kept_files(load_campaign(workspace.campaign_file), workspace)
    prepare(plan, workspace.root, "laptop")
    check_kept_files(campaign, workspace)
