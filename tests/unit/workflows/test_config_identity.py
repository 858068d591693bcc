"""Whose working directory it is: what decides data makes the identity, and the rest may change."""

from pathlib import Path

import pytest

from sim_wrappers.catalog import get
from surrogate.core.errors import ConfigError
from workflows.config import check_same_campaign, identity_of, identity_parts, parse_campaign
from workflows.plan import make_plan

TEXT = """
schema_version = 1
name = "c"
simulator.name = "scripted"
simulator.options.length = 8
design.runs = 64
gate.metrics.relative_l2_median.max = 0.5
"""
SIMULATOR = get("scripted")


def parts_of(*lines, text=TEXT):
    campaign = parse_campaign("\n".join((text, *lines)), "x.toml")
    options = SIMULATOR.check_options(campaign.simulator.options)
    space = campaign.input_space(SIMULATOR.default_space(options))
    return identity_parts(campaign, space, SIMULATOR.identity_options(options))


@pytest.mark.parametrize(
    "lines",
    [
        ['title = "T"', 'description = "d"', 'intended_use = "u"'],
        ["resources = { ranks = 4, walltime = 9 }"],
        ["failures = { solver = 9, allowed_share = 0.9 }"],
        ["model = { members = 2, options = { width = 9 } }"],
        ["train = { epochs = 2 }"],
        ['gate.beats = ["nearest_neighbour"]'],
        ['card.known_gaps = ["a"]'],
        ["split.minimum.train = 3"],
        ['split.salt = "c:1"'],
        ['simulator.options.ledger = "/elsewhere"'],
    ],
)
def test_what_decides_no_data_may_change(lines):
    assert parts_of(*lines) == parts_of()


def test_more_runs_of_a_sequence_are_the_same_campaign():
    assert parts_of(text=TEXT.replace("64", "128")) == parts_of()
    hypercube = TEXT.replace("design.runs = 64", 'design = { sampler = "latin_hypercube", runs = 64 }')
    longer = hypercube.replace("runs = 64", "runs = 128")
    assert parts_of(text=longer) != parts_of(text=hypercube)
    assert parts_of(text=longer.replace("128", "128, block = 64")) == parts_of(text=hypercube)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("seed = 2", "seed"),
        ("simulator.options.samples = 2", "simulator.options.samples"),
        ("split.tune = 0.2", "split.tune"),
        ("split.holdout = 0.2", "split.holdout"),
        ('split.salt = "other"', "split.salt"),
        ('design.sampler = "latin_hypercube"', "design.sampler"),
        ("inputs.a.high = 0.5", "inputs.a.high"),
    ],
)
def test_what_decides_data_or_splits_makes_another_campaign(line, key):
    assert identity_of(parts_of(line)) != identity_of(parts_of())
    told = f"/w belongs to another campaign: there '{key}' is .*, and in x.toml it is .*--workdir"
    with pytest.raises(ConfigError, match=told):
        check_same_campaign(parts_of(), parts_of(line), Path("/w"), "x.toml")


def test_the_same_campaign_is_let_in_and_an_absent_key_is_told():
    check_same_campaign(parts_of(), parts_of(), Path("/w"), "x.toml")
    older = {key: value for key, value in parts_of().items() if key != "seed"}
    with pytest.raises(ConfigError, match=r"there 'seed' is absent, and in x.toml it is 1"):
        check_same_campaign(older, parts_of(), Path("/w"), "x.toml")


def test_the_plan_carries_the_identity():
    plan = make_plan(parse_campaign(TEXT, "x.toml"), SIMULATOR)
    assert plan.parts == parts_of()
    assert plan.identity == identity_of(parts_of())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("x:1", "crash:1", "there 'name' is 'x', and in x.toml it is 'crash'"),
        ("x:1", "x:2", "there 'seed' is '1', and in x.toml it is '2'"),
        ("x:1", "mine", "there 'split.salt' is 'x:1', and in x.toml it is 'mine'"),
    ],
)
def test_a_salt_that_nobody_wrote_is_told_as_what_it_is_made_of(old, new, told):
    with pytest.raises(ConfigError, match=told):
        check_same_campaign({"split": {"salt": old}}, {"split": {"salt": new}}, Path("/w"), "x.toml")
