"""Campaigns whose inputs are structures: sections, plans, groups, runs of several structures, and what is kept."""

import numpy as np
import pytest

from surrogate.core.errors import ConfigError
from surrogate.design.atoms import named_molecule
from surrogate.design.xyz import write_frames
from workflows.config import KEPT_FILES, check_same_campaign, load_campaign
from workflows.driver import prepare
from workflows.plan import check_continues, find_simulator, make_plan

TEXT = """
schema_version = 1
name = "tiny"

[simulator]
name = "tblite"

[space]
kind = "structures"
molecules = ["H2O", "NH3"]
group = "structure"

[design]
sampler = "rattle"
stdev = 0.05
runs = 20
samples_per_run = 4

[gate]
metrics = { energy_rmse_median = { max = 1.0 } }
"""


def plan_of(tmp_path, *changes, text=TEXT):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    campaign = load_campaign(path)
    return make_plan(campaign, find_simulator(campaign))


def test_a_run_has_several_structures_and_a_plan_counts_them_all(tmp_path):
    plan = plan_of(tmp_path)
    assert len(plan.runs) == 20
    assert sum(plan.counts.values()) == 80
    assert [len(run.splits) for run in plan.runs] == [4] * 20
    inputs = plan.runs[0].request.inputs
    assert inputs["charge"] == [0, 0, 0, 0]
    assert [len(species) for species in inputs["species"]] == [3, 4, 3, 4]
    assert len({request.run_id for request in plan.requests}) == 20
    assert plan.requests[0].groups == ()
    for run in plan.runs:
        points = [{name: values[place] for name, values in run.request.inputs.items()} for place in range(4)]
        assert run.splits == tuple(plan.splits.of(None, point) for point in points)
    single = plan_of(tmp_path, ("samples_per_run = 4\n", ""), ("runs = 20", "runs = 60"))
    assert single.requests[0].inputs["charge"] == 0
    assert single.requests[0].inputs["species"] == [8, 1, 1]


def test_a_longer_design_continues_and_another_one_does_not(tmp_path):
    plan = plan_of(tmp_path)
    records = [run.record() for run in plan.runs]
    longer = plan_of(tmp_path, ("runs = 20", "runs = 30"))
    assert [run.record() for run in longer.runs[:20]] == records
    check_continues(longer, records, tmp_path)
    check_same_campaign(plan.parts, longer.parts, tmp_path, "it")
    with pytest.raises(ConfigError, match=r"'design.stdev' is 0\.05"):
        check_same_campaign(plan.parts, plan_of(tmp_path, ("0.05", "0.06")).parts, tmp_path, "it")
    with pytest.raises(ConfigError, match=r"'inputs.group'"):
        check_same_campaign(
            plan.parts, plan_of(tmp_path, ('"structure"', '"molecule"'), ("[gate]", _NO_MINIMUM)).parts, tmp_path, "it"
        )
    with pytest.raises(ConfigError, match="not in the design"):
        check_continues(plan_of(tmp_path, ("samples_per_run = 4", "samples_per_run = 5")), records, tmp_path)


_NO_MINIMUM = "[split.minimum]\ntrain = 0\ntune = 0\nholdout = 0\n\n[gate]"


def test_structures_of_a_molecule_stay_together_unless_told_otherwise(tmp_path):
    plan = plan_of(tmp_path, ('group = "structure"\n', ""), ("[gate]", _NO_MINIMUM))
    assert plan.requests[0].groups == ("H2O", "NH3", "H2O", "NH3")
    for run in plan.runs:
        assert run.splits == tuple(plan.splits.of(group, {}) for group in run.request.groups)


def test_a_working_directory_keeps_the_points(tmp_path):
    plan = plan_of(tmp_path)
    workspace = prepare(plan, tmp_path / "w", "laptop")
    kept = list((workspace.root / KEPT_FILES).glob("structures-*.npz"))
    assert len(kept) == 1
    again = load_campaign(workspace.campaign_file)
    # Were they made anew, they would be others: the sampler is not asked.
    again_plan = make_plan(again, find_simulator(again))
    assert [run.record() for run in again_plan.runs] == [run.record() for run in plan.runs]
    prepare(again_plan, tmp_path / "w", "laptop")


def test_frames_of_files_are_taken_whole_and_kept(tmp_path):
    water = named_molecule("H2O")
    rng = np.random.default_rng(1)
    frames = [water.moved(water.coordinates + rng.normal(scale=0.05, size=(3, 3))) for _ in range(62)]
    write_frames(tmp_path / "water.xyz", frames)
    text = TEXT.replace('molecules = ["H2O", "NH3"]', 'files = ["water.xyz"]').replace("stdev = 0.05\nruns = 20\n", "")
    plan = plan_of(tmp_path, ('"rattle"', '"frames"'), text=text)
    assert [len(run.splits) for run in plan.runs] == [4] * 15 + [2]
    assert plan.runs[0].request.inputs["coordinates"][1] == frames[1].point()["coordinates"]
    workspace = prepare(plan, tmp_path / "w", "laptop")
    (tmp_path / "water.xyz").unlink()
    again = load_campaign(workspace.campaign_file)
    assert [run.record() for run in make_plan(again, find_simulator(again)).runs] == [r.record() for r in plan.runs]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([('name = "tblite"', 'name = "scripted"')], r"\[space\] names structures.*'scripted' takes inputs that are"),
        ([('kind = "structures"\n', "")], "'space.kind' is missing"),
        ([('"H2O", "NH3"', '"H2O", "NH33"')], r"\[space\]: There is no molecule 'NH33'"),
        ([('"H2O", "NH3"', '"H2O", "H2O"')], "'molecules' names 'H2O' twice"),
        ([('"H2O", "NH3"', "")], "names no structures"),
        ([('molecules = ["H2O", "NH3"]', 'files = ["none.xyz"]')], r"none.xyz does not exist"),
        ([('group = "structure"', "multiplicity = 2")], "multiplicity 2 .* is impossible"),
        ([("stdev = 0.05\n", "")], "'rattle' needs 'stdev'"),
        (
            [('sampler = "rattle"\nstdev = 0.05', 'sampler = "normal_modes"\ntemperature = 9\nhessians = ["no.npz"]')],
            "no.npz, which .* names, cannot be read",
        ),
        (
            [("stdev = 0.05", "stdev = 0.05\ntemperature = 1.0")],
            "'temperature' belongs to the sampler 'normal_modes' or",
        ),
        ([('sampler = "rattle"\nstdev = 0.05', 'sampler = "sobol"')], "structures of atoms are chosen by"),
        ([("[gate]", "[inputs.x]\nlow = 0.0\nhigh = 1.0\n\n[gate]")], "exclude each other"),
        ([('group = "structure"', 'group = "structures"')], "group"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path, changes, told):
    with pytest.raises(ConfigError, match=told):
        plan_of(tmp_path, *changes)


def test_the_simulator_asks_for_structures(tmp_path):
    text = TEXT.replace(TEXT[TEXT.index("[space]") : TEXT.index("[gate]")], "[design]\nruns = 64\n\n")
    with pytest.raises(ConfigError, match=r"\[space\] is missing: the simulator 'tblite' computes structures"):
        plan_of(tmp_path, text=text)


def test_too_few_molecules_for_the_splits_are_told(tmp_path):
    with pytest.raises(Exception, match="group") as caught:
        plan_of(tmp_path, ('group = "structure"\n', ""))
    assert "structures of one molecule stay together" in str(caught.value)
