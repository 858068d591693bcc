"""Campaign files: valid ones are read as they are meant, wrong ones are refused in a sentence."""

import json
import subprocess
import sys

import pytest

from surrogate.core.errors import ConfigError
from workflows.config import (
    SCHEMA_VERSION,
    builtin_campaigns,
    campaign_json_schema,
    load_campaign,
    parse_campaign,
    save_campaign,
)
from workflows.config.campaign import Origin
from workflows.learning_checks import check_learning, find_family
from workflows.plan import find_simulator, make_plan

MINIMUM = """
schema_version = 1
name = "displacement"
simulator.name = "buckley_leverett"
inputs.M = { low = 1.0, high = 10.0 }
design.runs = 64
resources.ranks = 2
train.ranks = 2
gate.metrics.relative_l2_median = { max = 0.05 }
gate.beats = ["nearest_neighbour"]
model.options.output_transform = "registered"
"""


def variant(*replacements, text=MINIMUM):
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def test_ten_lines_are_a_campaign():
    assert len(MINIMUM.strip().splitlines()) == 10
    campaign = parse_campaign(MINIMUM, "x.toml")
    assert campaign.name == "displacement"
    assert campaign.seed == 1
    assert campaign.design.sampler == "sobol"
    assert campaign.resources.request().ranks == 2
    assert campaign.resources.request().nodes == 1
    assert campaign.splits.salt == "displacement:1"
    assert campaign.splits.minimum == {"train": 16, "tune": 4, "holdout": 8}
    assert campaign.gate.gate().to_json() == {"relative_l2_median": {"max": 0.05}}
    assert campaign.gate.gate().beats == ("nearest_neighbour",)
    assert campaign.failures.budgets().solver == 2
    assert campaign.train.ranks == 2
    plan = make_plan(campaign, find_simulator(campaign))
    assert len(plan.runs) == 64
    assert check_learning(campaign, find_family(campaign), plan.schema).output_transform == "registered"


@pytest.mark.parametrize("name", sorted(builtin_campaigns()))
def test_built_in_campaigns_are_valid_and_say_what_they_are_for(name):
    campaign = load_campaign(name)
    assert campaign.name == name
    assert campaign.title
    assert campaign.description
    assert campaign.intended_use
    assert campaign.text == builtin_campaigns()[name].read_text()


def test_the_first_built_in_campaign_is_what_was_promised():
    campaign = load_campaign("buckley-leverett")
    space = campaign.input_space(None)
    assert [(p.name, p.low, p.high, p.scale) for p in space.parameters] == [
        ("M", 0.5, 20.0, "log10"),
        ("Swc", 0.0, 0.3, "linear"),
        ("Sor", 0.0, 0.3, "linear"),
    ]
    assert campaign.resources.request().ranks == 2
    assert campaign.gate.gate().to_json() == {
        "relative_l2_median": {"max": 0.006},
        "relative_l2_p95": {"max": 0.02},
        "coverage_90": {"min": 0.8, "max": 0.99},
    }
    assert campaign.gate.beats == ("nearest_neighbour", "pod_gp")
    assert campaign.split.minimum.holdout == 40


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("design.runs", "design.runz", r"'design.runz' is not a known key; \[design\] has sampler, runs.*mean 'runs'"),
        ("name = \"d", "nmae = \"d", "'nmae' is not a known key.*Did you mean 'name'"),
        ("train.ranks = 2", "train.epoch = 2", "'train.epoch' is not a known key.*Did you mean 'epochs'"),
        ("{ max = 0.05 }", "{ maxx = 0.05 }", "'gate.metrics.relative_l2_median.maxx'.*Did you mean 'max'"),
        ("{ max = 0.05 }", "{ min = 1, max = 0.05 }", "relative_l2_median': 'min' = 1.0 is above 'max' = 0.05"),
        ("{ max = 0.05 }", "{ }", "a threshold needs 'min', 'max' or both"),
        ("{ max = 0.05 }", "0.05", "relative_l2_median': a table is needed, and 0.05 was found"),
        ("model.options.output_transform", "model.output_transform", r"belong in \[model.options\]"),
        ("low = 1.0, high", "lo = 1.0, high", "'inputs.M.lo' is not a known key.*Did you mean 'low'"),
        ("low = 1.0", "low = 10.0", "'inputs.M': 'low' must be below 'high', and low = 10.0, high = 10.0 was found"),
        ("low = 1.0", 'low = "1.0"', "'inputs.M.low': a number is needed, and '1.0' was found"),
        ("low = 1.0", "low = true", "'inputs.M.low': a number is needed, and true was found"),
        ("low = 1.0", "low = nan", "'inputs.M.low': a finite number is needed, and nan was found"),
        ("low = 1.0", "low = -inf", "'inputs.M.low': a finite number is needed"),
        ("low = 1.0", "low = 1979-05-27", "'inputs.M.low' is a date or time of day"),
        ("low = 1.0", 'unit = "furlog", low = 1.0', "'inputs.M': The unit 'furlog' is not known"),
        ("low = 1.0", 'scale = "log", low = 1.0', "'inputs.M.scale': 'linear', 'log10'.* is needed.*mean 'log10'"),
        ("inputs.M = {", "inputs = 3\nx.M = {", "'x' is not a known key"),
        ("design.runs = 64", "design.runs = 64.0", "'design.runs': a whole number is needed, and 64.0 was found"),
        ("design.runs = 64", 'design.runs = "64"', "'design.runs': a whole number is needed, and '64' was found"),
        ("design.runs = 64", "design.runs = 0", "'design.runs': a number of at least 1 is needed, and 0 was found"),
        ("resources.ranks = 2", 'resources.walltime = "999999:00:00"', "from 1 s to 1000000000 s .* 3599996400 s"),
        ("resources.ranks = 2", "resources.walltime = 99999999999", "as whole seconds up to 1000000000 or as"),
        ("design.runs = 64", "design.runs = 9999999", "a number of at most 1000000 is needed"),
        ("design.runs = 64", 'design.sampler = "sobol"', "'design': 'runs' is missing: say how many runs"),
        ("design.runs = 64", 'design.sampler = "sobel"', "'design.sampler': .*Did you mean 'sobol'"),
        ("design.runs = 64", 'design.sampler = "grid"', "'design': the sampler 'grid' needs 'levels'"),
        ("design.runs = 64", 'design.sampler = "table"', "'design': the sampler 'table' needs 'path'"),
        ("design.runs = 64", "design.runs = 64\ndesign.levels = 3", "'levels' belongs to the sampler 'grid'"),
        ("design.runs = 64", 'design = { sampler = "grid", levels = { M = 0 } }', "a grid are a whole number"),
        ("design.runs = 64", 'design = { sampler = "grid", levels = "3" }', "'design.levels': .*and '3' was found"),
        ("design.runs = 64", "design = 64", "'design': a table is needed, and 64 was found"),
        ("design.runs = 64\n", "", "'design' is missing: which points are simulated"),
        ("resources.ranks = 2", "resources = { nodes = 2, ranks = 3 }", "3 ranks do not divide over 2 nodes"),
        ("resources.ranks = 2", "resources.walltime = 0", "'resources.walltime': a time is needed"),
        ("resources.ranks = 2", 'resources.walltime = "10 min"', "HH:MM:SS.*and '10 min' was found"),
        ("resources.ranks = 2", 'resources.memory_per_rank = "2 Gigs"', "memory is needed.*and '2 Gigs' was found"),
        ("resources.ranks = 2", "resources.memory_per_rank = 2000", "memory is needed.*and 2000 was found"),
        ("resources.ranks = 2", "split.holdout = 1.5", "'split.holdout': a number below 1"),
        ("resources.ranks = 2", "split = { holdout = 0.6, tune = 0.5 }", "leave nothing to train on"),
        ("resources.ranks = 2", "split.minimum.holdut = 4", "'split.minimum.holdut'.*Did you mean 'holdout'"),
        ("resources.ranks = 2", 'failures.keep = "everything"', "'failures.keep': 'failed' or 'all' is needed"),
        ("resources.ranks = 2", 'title = ["a"]', "'title': text in quotation marks is needed, and a list was found"),
        ("resources.ranks = 2", 'card.known_gaps = "none"', "'card.known_gaps': a list in square brackets is needed"),
        ("resources.ranks = 2", 'card.known_gaps = ["a", 3]', r"'card.known_gaps\[2\]': text in quotation marks"),
        ("resources.ranks = 2", "seed = -1", "'seed': a number of at least 0"),
        ("train.ranks = 2", "train = { ranks = 3, nodes = 2 }", "'train': 3 ranks do not divide over 2 nodes"),
        ('"displacement"', '"two words"', "'name': a name of at most 64 letters.* and 'two words' was found"),
        ('"displacement"', '"../x"', "'name': a name of at most 64"),
        ("gate.metrics.relative_l2_median = { max = 0.05 }\ngate.beats = [\"nearest_neighbour\"]\n", "gate = {}\n",
         "lets everything pass; add one"),
        ("gate.metrics.relative_l2_median = { max = 0.05 }\ngate.beats = [\"nearest_neighbour\"]\n", "",
         "'gate' is missing: what the surrogate must show"),
        ('simulator.name = "buckley_leverett"\n', "", "'simulator' is missing: the simulation code that is asked"),
        ("design.runs = 64", "design.runs = 64\ndata = {}", r"\[data\] .* and \[simulator\] exclude each other"),
        ("design.runs = 64", "approval.require = true", "Did you mean 'required'"),
        ("schema_version = 1\n", "", "'schema_version' is missing; begin the file with schema_version = 1"),
        ("schema_version = 1", f"schema_version = {SCHEMA_VERSION + 1}", "Install a newer surrogate-hpc"),
        ("schema_version = 1", "schema_version = 0", "'schema_version': a number of at least 1"),
        ("schema_version = 1", 'schema_version = "1"', "'schema_version': a whole number is needed, and '1' was found"),
        ("schema_version = 1", "schema_version = true", "'schema_version': a whole number is needed, and true"),
        ("design.runs = 64", "design.runs = ", r"is not TOML: Invalid value \(at line 6"),
        ("design.runs = 64", "design.runs = 64\ndesign.runs = 65", "is not TOML: Cannot overwrite a value"),
        ("design.runs = 64", "x = " + "[" * 60 + "]" * 60, "nested more than 40 deep"),
        ("design.runs = 64", "x = " + "[" * 5000 + "]" * 5000, "cannot be read as TOML"),
        ("design.runs = 64", "design.runs = " + "9" * 5000, "TOML"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_a_sentence(old, new, told):
    with pytest.raises(ConfigError, match=told) as caught:
        parse_campaign(variant((old, new)), "x.toml")
    message = str(caught.value)
    assert "x.toml" in message
    assert "\n" not in message
    assert caught.value.exit_code == 2


def test_several_mistakes_are_counted_and_noted():
    text = variant(("design.runs = 64", 'design.runs = "64"'), ("low = 1.0", "low = true"), ("name =", "nmae ="))
    with pytest.raises(ConfigError, match=r"\(\d further mistakes; --debug shows all.\)") as caught:
        parse_campaign(text, "x.toml")
    # The misspelt key comes first: the missing one follows from it.
    assert "is not a known key" in str(caught.value)
    assert any("'inputs.M.low'" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("written", "seconds"), [("90", 90), ('"00:01:30"', 90), ('"2-00:00:01"', 172801), ('" 100:00:00 "', 360000)]
)
def test_times_are_seconds_or_clocks(written, seconds):
    campaign = parse_campaign(variant(("resources.ranks = 2", f"resources.walltime = {written}")), "x.toml")
    assert campaign.resources.request().walltime_s == seconds


@pytest.mark.parametrize(
    ("written", "mib"), [('"2 GiB"', 2048), ('"500MiB"', 500), ('"1 KiB"', 1), ('"1.5 GB"', 1431), ("0", 0)]
)
def test_memory_has_a_unit(written, mib):
    campaign = parse_campaign(variant(("resources.ranks = 2", f"resources.memory_per_rank = {written}")), "x.toml")
    assert campaign.resources.request().memory_per_rank_mib == mib


def test_the_campaign_cannot_be_changed_by_accident():
    campaign = parse_campaign(MINIMUM, "x.toml")
    with pytest.raises(ValueError, match="frozen"):
        campaign.seed = 2
    assert campaign.model_copy(update={"seed": 2}).splits.salt == "displacement:2"


def test_files_are_found_by_path_and_by_name(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(MINIMUM)
    monkeypatch.chdir(tmp_path)
    assert load_campaign("mine.toml").name == "displacement"
    assert load_campaign(tmp_path / "mine.toml").file == tmp_path / "mine.toml"
    (tmp_path / "buckley-leverett").mkdir()
    assert load_campaign("buckley-leverett").name == "buckley-leverett"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("buckley_leverett", "no built-in campaign 'buckley_leverett'; .*Did you mean 'buckley-leverett'"),
        ("mine", "A campaign of your own is given by its file"),
        ("mime.toml", "mime.toml does not exist. Did you mean 'mine.toml'"),
        ("no/such/folder.toml", "does not exist"),
        ("buckley-leverett.toml", "is named without '.toml'"),
        ("folder.toml", "cannot be read: Is a directory"),
        ("latin.toml", "not text in UTF-8"),
        ("x" * 300 + ".toml", "cannot be read: File name too long"),
        ("", "no built-in campaign ''"),
    ],
)
def test_what_is_no_campaign_file_is_told(tmp_path, monkeypatch, asked, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINIMUM)
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "latin.toml").write_bytes('name = "\xe4"'.encode("latin-1"))
    with pytest.raises(ConfigError, match=told):
        load_campaign(asked)


def test_a_campaign_is_kept_with_the_files_that_it_names(tmp_path):
    home, workdir = tmp_path / "home", tmp_path / "work"
    (home / "tables").mkdir(parents=True)
    (home / "tables" / "points.csv").write_text("M,Swc,Sor\n1,0.1,0.1\n")
    text = variant(("design.runs = 64", 'design = { sampler = "table", path = "tables/points.csv" }'))
    (home / "c.toml").write_text(text)
    campaign = load_campaign(home / "c.toml")
    assert campaign.where == str(home / "c.toml")
    assert campaign.resolve("tables/points.csv") == home / "tables" / "points.csv"
    kept = save_campaign(campaign, workdir)
    assert kept.read_text() == text
    (home / "tables" / "points.csv").unlink()
    again = load_campaign(kept)
    assert again.model_dump() == campaign.model_dump()
    assert again.resolve("tables/points.csv").read_text() == "M,Swc,Sor\n1,0.1,0.1\n"
    save_campaign(again, workdir)
    assert len(list((workdir / "campaign-files").iterdir())) == 1


def test_a_campaign_that_cannot_be_kept_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="was not read from a file"):
        save_campaign(parse_campaign(MINIMUM, "x.toml").read_from(Origin()), tmp_path)
    (tmp_path / "c.toml").write_text(
        variant(("design.runs = 64", 'design = { sampler = "table", path = "points.csv" }'))
    )
    with pytest.raises(ConfigError, match=r"points.csv, which .*c.toml names, cannot be read"):
        save_campaign(load_campaign(tmp_path / "c.toml"), tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_the_json_schema_documents_every_key():
    schema = campaign_json_schema()
    json.dumps(schema)
    assert schema["$schema"].startswith("https://json-schema.org")
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"schema_version", "name", "gate"}
    assert schema["oneOf"] == [{"required": ["simulator", "design"]}, {"required": ["data"]}]
    tables = [schema, *schema["$defs"].values()]
    undocumented = [
        (table["title"], key)
        for table in tables
        for key, entry in table.get("properties", {}).items()
        if not (entry.get("description") or schema["$defs"][entry["$ref"].rpartition("/")[2]].get("description"))
    ]
    assert undocumented == []
    assert all(table["additionalProperties"] is False for table in tables)


def test_reading_a_campaign_loads_nothing_heavy():
    program = (
        "import sys; from workflows.config import load_campaign; load_campaign('buckley-leverett');"
        "print([m for m in ('tensorflow', 'keras', 'parsl', 'matplotlib', 'pandas', 'sklearn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
