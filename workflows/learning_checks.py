"""What `[model]` and `[gate]` ask for, held against the model family before the first run is started."""

from __future__ import annotations

from pydantic import BaseModel

from surrogate.core.errors import ConfigError
from surrogate.core.schema import Schema
from surrogate.models.catalog import family
from surrogate.models.protocols import Family
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
        ConfigError: If an option is unknown or wrong, or the gate names a metric or baseline that the family lacks; the
            sentence names the file.
    """
    options = validated_table(learner.options_type, campaign.model.options, campaign.where, ("model", "options"))
    try:
        campaign.gate.gate().check(known_metrics(learner.measures(schema)), learner.baselines)
    except ConfigError as error:
        raise ConfigError(f"In {campaign.where}, [gate]: {error}") from error
    return options
