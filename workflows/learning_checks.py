"""What `[model]` and `[gate]` ask for, held against the model family before the first run is started."""

from __future__ import annotations

from pydantic import BaseModel

from surrogate.core.errors import ConfigError
from surrogate.core.schema import Schema
from surrogate.models.catalog import family
from surrogate.models.protocols import Family
from surrogate.validation.gate import Threshold
from surrogate.validation.metrics import known_metrics
from workflows.config import CampaignConfig, validated_table


def find_family(campaign: CampaignConfig) -> Family:
    """Return the model family that a campaign names.

    Raises:
        ConfigError: If there is none of that name, with the nearest one; the sentence names the file.
    """
    try:
        return family(campaign.model.family)
    except ConfigError as error:
        raise ConfigError(f"In {campaign.where}, 'model.family': {error}") from error


def check_learning(campaign: CampaignConfig, learner: Family, schema: Schema) -> BaseModel:
    """Return the family's options, and refuse a model or gate that could only fail after hours of simulation.

    Args:
        campaign: The campaign.
        learner: The model family that it names.
        schema: Columns of the samples.

    Raises:
        ConfigError: If an option is unknown or wrong, or the gate names a metric or baseline that the family lacks, or
            has a threshold that can never hold or rewards errors; the sentence names the file.
    """
    options = validated_table(learner.options_type, campaign.model.options, campaign.where, ("model", "options"))
    try:
        gate, measures = campaign.gate.gate(), learner.measures(schema)
        gate.check(known_metrics(measures), learner.baselines)
        for measure in measures:
            for metric in measure.metric_names().values():
                if metric in gate.thresholds:
                    refuse_senseless(metric, measure.sort, gate.thresholds[metric])
    except ConfigError as error:
        raise ConfigError(f"In {campaign.where}, [gate]: {error}") from error
    return options


def refuse_senseless(metric: str, sort: str, threshold: Threshold) -> None:
    """Refuse a threshold that nothing can pass, or that demands errors.

    Args:
        metric: Name of the metric.
        sort: `Measure.sort` of its measure.
        threshold: What is demanded.

    Raises:
        ConfigError: If it makes no sense.
    """
    if sort == "other":
        return
    if threshold.max is not None and threshold.max < 0:
        raise ConfigError(f"'{metric}' is never below 0, so that max = {threshold.max:g} can never hold.")
    if sort == "share" and threshold.min is not None and threshold.min > 1:
        raise ConfigError(
            f"'{metric}' is a share from 0 to 1, so that min = {threshold.min:g} can never hold; 90 % is 0.9."
        )
    if sort == "error" and threshold.min is not None and threshold.min > 0:
        raise ConfigError(
            f"'{metric}' is an error, of which less is better, and min = {threshold.min:g} would demand a bad "
            f"surrogate. Did you mean max = {threshold.min:g}?"
        )
