"""Gates that nothing can pass, and gates that reward errors, are refused before the first run."""

import pytest

from surrogate.core.errors import ConfigError
from surrogate.core.schema import Column, Schema
from surrogate.models.measures import field_measures
from workflows.config import parse_campaign
from workflows.learning_checks import check_learning, find_family

CAMPAIGN = """
schema_version = 1
name = "x"
simulator.name = "scripted"
design.runs = 64
gate.metrics.{metric} = {bounds}
"""
SCHEMA = Schema((Column("a", "input"), Column("u", "output"), Column("v", "output")))


def check(metric, bounds):
    campaign = parse_campaign(CAMPAIGN.format(metric=metric, bounds=bounds), "x.toml")
    check_learning(campaign, find_family(campaign), SCHEMA)


@pytest.mark.parametrize(
    ("metric", "bounds", "told"),
    [
        ("relative_l2_median", "{ max = -1 }", "'relative_l2_median' is never below 0, so that max = -1 can never"),
        ("relative_l2_median", "{ min = 0.02 }", "less is better, .*Did you mean max = 0.02"),
        ("u_rmse_p95", "{ min = 0.02, max = 0.3 }", "less is better"),
        ("coverage_90", "{ min = 80 }", "a share from 0 to 1, so that min = 80 can never hold; 90 % is 0.9"),
        ("v_coverage_90", "{ max = -0.1 }", "never below 0"),
    ],
)
def test_a_threshold_without_sense_is_refused(metric, bounds, told):
    with pytest.raises(ConfigError, match=rf"In x.toml, \[gate\]: .*{told}"):
        check(metric, bounds)


@pytest.mark.parametrize(
    ("metric", "bounds"),
    [
        ("relative_l2_max", "{ min = 0, max = 0.5 }"),
        ("coverage_90", "{ min = 0.8, max = 0.99 }"),
        ("u_rmse_max", "{ max = 0 }"),
    ],
)
def test_others_are_taken(metric, bounds):
    check(metric, bounds)


def test_every_measure_of_fields_says_what_is_better():
    assert {measure.sort for measure in field_measures(SCHEMA.outputs)} == {"error", "share"}


def test_epochs_have_an_end():
    with pytest.raises(ConfigError, match="epochs"):
        parse_campaign(CAMPAIGN.format(metric="coverage_90", bounds="{ min = 0.8 }\ntrain.epochs = 1000001"), "x.toml")
