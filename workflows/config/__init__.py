"""Campaign files: one strict model, read with sentences, kept with the campaign's data."""

from surrogate.core.tables import validated_table
from workflows.config.campaign import SCHEMA_VERSION, CampaignConfig
from workflows.config.identity import check_same_campaign, data_parts, identity_of, identity_parts, structure_design
from workflows.config.keep import KEPT_FILES, save_campaign
from workflows.config.load import builtin_campaigns, campaign_json_schema, load_campaign, parse_campaign

__all__ = [
    "KEPT_FILES",
    "SCHEMA_VERSION",
    "CampaignConfig",
    "builtin_campaigns",
    "campaign_json_schema",
    "check_same_campaign",
    "data_parts",
    "identity_of",
    "identity_parts",
    "load_campaign",
    "parse_campaign",
    "save_campaign",
    "structure_design",
    "validated_table",
]
