"""Plans: deterministic, checked before anything runs, and continued only by what continues them."""

import sys
from pathlib import Path

import pytest

from sim_wrappers.catalog import get
from surrogate.core.errors import ConfigError, DataError, SplitError
from surrogate.models.catalog import family
from workflows.config import load_campaign, parse_campaign
from workflows.estimate import duration
from workflows.learning_checks import check_learning, find_family
from workflows.plan import check_continues, find_simulator, make_plan

TEXT = """
schema_version = 1
name = "c"
simulator.name = "buckley_leverett"
design.runs = 64
resources = { ranks = 2, walltime = 100 }
gate.metrics.relative_l2_median.max = 0.5
"""
SIMULATOR = get("buckley_leverett")


def plan_of(*replacements, simulator=SIMULATOR):
    text = TEXT
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return make_plan(parse_campaign(text, "x.toml"), simulator)


def test_a_plan_is_the_same_every_time_and_whole():
    plan = plan_of()
    assert [run.record() for run in plan.runs] == [run.record() for run in plan_of().runs]
    assert len({request.run_id for request in plan.requests}) == 64
    assert sum(plan.counts.values()) == 64
    assert all(plan.space.contains(request.inputs) for request in plan.requests)
    assert all((plan.splits.of(None, run.request.inputs),) == run.splits for run in plan.runs)
    assert {run.stratum for run in plan.runs} == {"design"}
    request = plan.requests[0]
    assert request.options == SIMULATOR.check_options({})
    assert (request.resources.ranks, request.resources.walltime_s, request.attempt) == (2, 100, 1)
    assert [column.name for column in plan.schema.columns] == ["M", "Swc", "Sor", "S"]
    summary = plan.to_json()
    assert summary["runs"] == 64
    assert summary["splits"] == plan.counts


def test_resources_and_runs_change_no_run_id():
    ids = [request.run_id for request in plan_of().requests]
    longer = plan_of(("runs = 64", "runs = 100"), ("ranks = 2", "ranks = 4"))
    assert [request.run_id for request in longer.requests][:64] == ids


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_built_in_campaign_fills_its_splits_for_three_seeds(seed):
    campaign = load_campaign("buckley-leverett").model_copy(update={"seed": seed})
    plan = make_plan(campaign, find_simulator(campaign))
    counts = plan.counts
    print(f"seed {seed}: {counts}")
    assert counts["train"] <= 128
    assert counts["tune"] >= 12
    assert counts["holdout"] >= 40
    options = check_learning(campaign, find_family(campaign), plan.schema)
    assert type(options).__name__ == "MlpOptions"


def test_a_split_below_its_minimum_is_refused_with_a_number_that_is_enough():
    with pytest.raises(SplitError, match=r"In x.toml: The split.*'design.runs = \d+' is enough") as told:
        plan_of(("runs = 64", "runs = 20"))
    enough = int(str(told.value).rpartition("design.runs = ")[2].partition("'")[0])
    assert all(count >= least for count, least in zip(
        plan_of(("runs = 64", f"runs = {enough}")).counts.values(), (16, 4, 8), strict=True
    ))  # fmt: skip
    with pytest.raises(SplitError):
        plan_of(("runs = 64", f"runs = {enough - 1}"))


def test_duplicates_of_a_small_space_are_left_out_and_told():
    text = TEXT.replace("design.runs = 64", "split.minimum = { train = 1, tune = 0, holdout = 0 }\ndesign.runs = 64")
    text = text.replace("buckley_leverett", "small")
    plan = make_plan(parse_campaign(text, "x.toml"), Small())
    assert len(plan.runs) == 3
    assert plan.design.duplicates == 61
    with pytest.raises(SplitError, match="61 duplicates were left out"):
        make_plan(parse_campaign(text.replace("train = 1", "train = 9"), "x.toml"), Small())


class Small:
    """Buckley–Leverett's manners with three whole numbers as its space."""

    name = "small"

    def __init__(self, version="1"):
        self._version = version

    def __getattr__(self, name):
        return getattr(SIMULATOR, name)

    def version(self, options):
        return self._version

    def default_space(self, options):
        return parse_campaign(
            TEXT + 'inputs.n = { low = 1, high = 3, scale = "integer" }', "x.toml"
        ).input_space(None)  # fmt: skip


def test_estimates_say_where_they_come_from():
    plan = plan_of()
    bound = plan.estimate(2)
    assert (bound.seconds, bound.upper_bound) == (3200.0, True)
    assert bound.sentence == "at most 53 min 20 s: 64 runs, 2 at once, 100 s each (walltime)"
    expected = plan_of(("walltime = 100", "expected = 0.5")).estimate(3)
    assert expected.seconds == 11.0
    assert expected.sentence == "about 11 s: 64 runs, 3 at once, 0.5 s each (expected)"
    assert plan.estimate(64, 2.0).sentence == "about 2 s: 64 runs, 64 at once, 2 s each (measured)"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.2, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (90000, "1 d 1 h")]
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_launch_lines_are_shown_and_nothing_is_written(tmp_path):
    plan = plan_of()
    lines = plan.launch_lines(
        lambda program, request: ["mpiexec", "-n", str(request.ranks), *program.argv], tmp_path, 2
    )
    assert len(lines) == 2
    assert lines[0][:4] == ("mpiexec", "-n", "2", sys.executable)
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_planned_in_its_order(tmp_path):
    rows = [request.inputs for request in plan_of().requests]
    lines = [",".join(rows[0]), *(",".join(map(repr, row.values())) for row in rows)]
    (tmp_path / "points.csv").write_text("\n".join(lines) + "\n")
    text = TEXT.replace("design.runs = 64", 'design = { sampler = "table", path = "points.csv" }')
    (tmp_path / "c.toml").write_text(text)
    plan = make_plan(load_campaign(tmp_path / "c.toml"), SIMULATOR)
    assert [request.inputs for request in plan.requests] == rows
    (tmp_path / "c.toml").write_text(text.replace('"points.csv"', '"points.csv", runs = 65'))
    with pytest.raises(ConfigError, match=r"c.toml, \[design\]: .*points.csv has 64 rows; 65 from number 0"):
        make_plan(load_campaign(tmp_path / "c.toml"), SIMULATOR)
    (tmp_path / "c.toml").write_text(text.replace("points.csv", "pionts.csv"))
    with pytest.raises(DataError, match=r"pionts.csv does not exist"):
        make_plan(load_campaign(tmp_path / "c.toml"), SIMULATOR)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("resources =", "simulator.options.cells = 3\nresources =", r"\[simulator.options\]: Option 'cells'"),
        ("resources =", "simulator.options.cell = 3\nresources =", r"no option 'cell'.*Did you mean 'cells'"),
        ("resources =", "inputs.m.low = 3\nresources =", "'inputs.m' is no input of the simulator"),
        ("design.runs = 64", 'design = { sampler = "grid", levels = { M = 3 } }', "no entry for the input 'Swc'"),
        ("design.runs = 64", 'design = { sampler = "grid", levels = 2000 }', "8000000000 points, and at most 1000000"),
    ],
)
def test_what_cannot_be_planned_names_the_file_and_the_place(old, new, told):
    with pytest.raises(ConfigError, match=told) as caught:
        plan_of((old, new))
    assert "In x.toml, " in str(caught.value)


def test_inputs_that_are_called_like_outputs_are_refused():
    class Clash(Small):
        def default_space(self, options):
            return parse_campaign(TEXT + "inputs.S = { low = 1, high = 3 }", "x.toml").input_space(None)

    with pytest.raises(ConfigError, match="do not go together: Two columns have the same name"):
        plan_of(simulator=Clash())


def test_unknown_simulators_and_families_get_the_nearest_name():
    campaign = parse_campaign(TEXT.replace("buckley_leverett", "buckley_leveret") + 'model.family = "mlpp"', "x.toml")
    with pytest.raises(ConfigError, match=r"'simulator.name': .*Did you mean 'buckley_leverett'"):
        find_simulator(campaign)
    with pytest.raises(ConfigError, match=r"'model.family': .*Did you mean 'mlp'"):
        find_family(campaign)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("model.options.widht = 3", r"'model.options.widht' is not a known key; \[model.options\] has.*mean 'width'"),
        ("model.options.width = 0", "'model.options.width': a number of at least 1 is needed, and 0 was found"),
        ("gate.metrics.relative_l2_medain.max = 1", r"\[gate\]: .*'relative_l2_medain'.*mean 'relative_l2_median'"),
        ('gate.beats = ["pod_pg"]', r"\[gate\]: .*'pod_pg'.*Did you mean 'pod_gp'"),
    ],
)
def test_models_and_gates_are_checked_before_anything_runs(line, told):
    with pytest.raises(ConfigError, match=told):
        check_learning(parse_campaign(TEXT + line, "x.toml"), family("mlp"), plan_of().schema)


def test_a_longer_design_continues_a_shorter_one_and_not_the_other_way():
    short, long = plan_of(), plan_of(("runs = 64", "runs = 80"))
    acquired = {"run_id": "f" * 32, "inputs": {"M": 1.0}, "stratum": "acquired"}
    check_continues(long, [*(run.record() for run in short.runs), acquired], Path("/w"))
    with pytest.raises(ConfigError, match=r"/w has 80 planned runs, and 16 of them are not in.*which has 64"):
        check_continues(short, [run.record() for run in long.runs], Path("/w"))


def test_another_version_of_the_simulator_is_told_as_such():
    def planned(version):
        return plan_of(("runs = 64", "runs = 64\nsplit.minimum = { train = 0, tune = 0, holdout = 0 }"),
                       simulator=Small(version))  # fmt: skip

    with pytest.raises(ConfigError, match=r"another version of the simulator 'small': 3 of its 3 runs.*version 2"):
        check_continues(planned("2"), [run.record() for run in planned("1").runs], Path("/w"))
