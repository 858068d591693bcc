"""Campaigns that describe their program: files found beside them, kept with them, held against inputs and launcher."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sim_wrappers.external import linkage
from site_configs.launch import Launcher
from site_configs.site import Site
from surrogate.core.errors import ConfigError, IntegrityError, ResourceError
from tests.support.external import CAMPAIGN, FOLDER
from workflows import checked_plan
from workflows.config import load_campaign
from workflows.driver import facts, prepare
from workflows.kept_site import keep_site, known_site, site_name
from workflows.plan import find_simulator, make_plan
from workflows.workspace import Workspace


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    shutil.copytree(FOLDER, folder)
    (folder / "c.toml").write_text(CAMPAIGN)
    return folder


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def plan_of(path):
    campaign = load_campaign(path)
    return make_plan(campaign, find_simulator(campaign))


def test_the_plan_has_the_inputs_of_the_campaign_and_the_outputs_of_the_options(home):
    plan = plan_of(home / "c.toml")
    assert [column.name for column in plan.schema.columns] == ["rate", "amount", "left"]
    assert plan.schema.column("left").shape == (5,)
    assert len({request.run_id for request in plan.requests}) == 64
    assert plan.options["template"][0]["source"] == str(home / "case.txt.in")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("inputs.amount", "inputs.amuont", r"line 2: '\{\{amount:.10g\}\}' is filled by nobody.*mean 'amuont'"),
        ("values.steps", "values.step", "'{{steps}}' is filled by nobody.*mean 'step'"),
        ("values.steps = 4", "values = { steps = 4, dt = 1 }", "Value 'dt' is used by no template"),
        ("design.runs", 'inputs.more = { low = 0.0, high = 1.0 }\ndesign.runs', "Input 'more' is used by no template"),
        ('"decay.awk"]\nt', '"decai.awk"]\nt', "which does not exist. Did you mean 'decay.awk'"),
        ("outputs.left", "output.left", "'output' is not a known key.*Did you mean 'outputs'"),
        ("column = 2", "colum = 2", "'outputs.left.colum' is not a known key.*Did you mean 'column'"),
        ('files = ["decay.awk"]\n', "", "'decay.awk' in 'command' lies beside the campaign file"),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_anything_runs(home, old, new, told):
    edit(home / "c.toml", old, new)
    with pytest.raises(ConfigError, match=r"In .*c.toml, \[simulator.options\]: .*" + told):
        plan_of(home / "c.toml")


def test_a_placeholder_of_an_input_is_found_in_the_template_that_lacks_it(home):
    edit(home / "case.txt.in", "rate = {{rate}}", "rate = 1")
    with pytest.raises(ConfigError, match="Input 'rate' is used by no template"):
        plan_of(home / "c.toml")


def test_a_working_directory_needs_nothing_from_outside(home, tmp_path):
    plan = plan_of(home / "c.toml")
    workspace = prepare(plan, tmp_path / "work", "laptop")
    kept = checked_plan.with_kept_files(plan, workspace)
    assert kept.options["template"][0]["source"].startswith(str(workspace.root))
    assert [run.request.run_id for run in kept.runs] == [run.request.run_id for run in plan.runs]
    shutil.rmtree(home)
    again = plan_of(workspace.campaign_file)
    assert [run.request for run in again.runs] == [run.request for run in kept.runs]
    assert again.parts == plan.parts
    prepare(again, workspace.root, "laptop")
    assert plan_of(workspace.campaign_file).identity == plan.identity
    shutil.move(workspace.root, tmp_path / "moved")
    assert plan_of(tmp_path / "moved" / "campaign.toml").identity == plan.identity


def test_an_edited_template_is_another_campaign_and_does_not_touch_the_one_that_runs(home, tmp_path):
    plan = plan_of(home / "c.toml")
    workspace = prepare(plan, tmp_path / "work", "laptop")
    edit(home / "case.txt.in", "steps =", "# more\nsteps =")
    assert plan_of(workspace.campaign_file).identity == plan.identity
    with pytest.raises(ConfigError, match=r"'simulator\.options\.template\.case\.txt'"):
        prepare(plan_of(home / "c.toml"), tmp_path / "work", "laptop")
    with pytest.raises(ConfigError, match="was changed while it was read"):
        checked_plan.with_kept_files(plan_of(home / "c.toml"), workspace)


def test_folders_are_kept_and_programs_are_found_where_the_campaign_was_begun(home, tmp_path):
    (home / "mesh").mkdir()
    (home / "mesh" / "a.msh").write_text("1")
    program = home / "solve"
    program.write_text("#!/bin/sh\nexec awk -f decay.awk\n")
    program.chmod(0o755)
    edit(home / "c.toml", '["awk", "-f", "decay.awk"]', '["./solve"]')
    edit(home / "c.toml", '["decay.awk"]', '["decay.awk", "mesh"]')
    plan = plan_of(home / "c.toml")
    workspace = prepare(plan, tmp_path / "work", "laptop")
    again = plan_of(workspace.campaign_file)
    assert again.options["command"][0] == str(program)
    assert (Path(again.options["files"][1]["source"]) / "a.msh").read_text() == "1"
    assert again.identity == plan.identity
    program.write_text("#!/bin/sh\nexec awk -f decay.awk # edited\n")
    assert plan_of(workspace.campaign_file).version != plan.version
    (workspace.root / "campaign-files" / "home.json").write_text("[]")
    with pytest.raises(IntegrityError, match=r"home\.json is damaged"):
        load_campaign(workspace.campaign_file)


def test_a_program_without_mpi_is_refused_on_two_ranks_before_anything_runs(home):
    edit(home / "c.toml", "design.runs", "resources.ranks = 2\ndesign.runs")
    with pytest.raises(ResourceError, match="does not speak MPI, and 2 ranks were asked for"):
        checked_plan.check_site(plan_of(home / "c.toml"), Site(name="here", cores=4, memory_mib=4000))


def test_a_program_of_another_mpi_is_refused_before_anything_runs(home, monkeypatch):
    program = home / "solve"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    edit(home / "c.toml", '["awk", "-f", "decay.awk"]', '["./solve"]\nmpi = true')
    monkeypatch.setattr(linkage, "linked_libraries", lambda path: "\tlibmpi.so.40 => /x/libmpi.so.40\n")
    launcher = Launcher("mpich", "/venv/bin/mpiexec")
    monkeypatch.setattr(Site, "find_launcher", lambda self, role=None: launcher)
    with pytest.raises(ConfigError, match=r"solve is linked with Open MPI.*roles.simulate.launcher"):
        checked_plan.check_site(plan_of(home / "c.toml"), Site(name="here", cores=4, memory_mib=4000))


def test_a_site_beside_the_campaign_is_used_again_by_a_resume(home, tmp_path):
    (home / "laptop.toml").write_text('scheduler = "local"\ncores = 1\n')
    campaign = load_campaign(home / "c.toml")
    named = site_name("laptop", campaign)
    assert named == str(home / "laptop.toml")
    workspace = prepare(plan_of(home / "c.toml"), tmp_path / "work", named)
    assert facts(workspace)["site"] == named
    assert known_site(named, workspace) == named
    (home / "laptop.toml").unlink()
    copy = known_site(named, workspace)
    assert copy == str(workspace.root / "campaign-files" / "laptop.toml")
    keep_site(copy, workspace)
    assert site_name(copy, load_campaign(workspace.campaign_file)) == copy
    assert site_name("laptop", load_campaign(workspace.campaign_file)) == "laptop"
    assert known_site("laptop", workspace) == "laptop"


def test_shipped_sites_are_remembered_by_name(home, tmp_path):
    workspace = Workspace(tmp_path / "work")
    keep_site(site_name("laptop", load_campaign(home / "c.toml")), workspace)
    assert not workspace.root.exists()
