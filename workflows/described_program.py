"""Simulators that the campaign describes itself, held against the rest of the campaign and against the site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim_wrappers.described import Described, space_kind, takes_many
from sim_wrappers.protocol import Simulator
from site_configs.site import Site
from surrogate.core.errors import ConfigError
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace
from workflows.config import CampaignConfig


def complete_options(campaign: CampaignConfig, simulator: Simulator) -> dict[str, Any]:
    """Return the simulator's options: defaults filled in, and paths absolute.

    Raises:
        ConfigError: If one is unknown or wrong, or names a file that is not there; the sentence names the campaign.
    """
    try:
        options = simulator.check_options(campaign.simulation().simulator.options)
        return simulator.locate(options, campaign.resolve) if isinstance(simulator, Described) else options
    except ConfigError as error:
        raise ConfigError(f"In {campaign.where}, [simulator.options]: {error}") from error


def check_kind(campaign: CampaignConfig, simulator: Simulator) -> None:
    """Refuse inputs of another kind than the simulator takes.

    Raises:
        ConfigError: If so; the sentence names the file.
    """
    wants, given = space_kind(simulator), "parameters" if campaign.space is None else campaign.space.kind
    if wants == given:
        return
    if wants == "structures":
        raise ConfigError(
            f"In {campaign.where}, [space] is missing: the simulator '{simulator.name}' computes structures of atoms. "
            "Say which, by kind = \"structures\" and 'molecules' or 'files', and leave [inputs] out."
        )
    raise ConfigError(
        f"In {campaign.where}, [space] names structures of atoms, and the simulator '{simulator.name}' takes inputs "
        "that are single numbers and words."
    )


def check_many(campaign: CampaignConfig, simulator: Simulator) -> None:
    """Refuse several points in one run of a simulator that takes one.

    Raises:
        ConfigError: If so; the sentence names the file.
    """
    each = campaign.simulation().design.samples_per_run
    if each > 1 and not takes_many(simulator):
        raise ConfigError(
            f"In {campaign.where}, 'design.samples_per_run' is {each}, and a run of the simulator '{simulator.name}' "
            "has one point. Leave it out."
        )


def checked_outputs(
    campaign: CampaignConfig, simulator: Simulator, options: Mapping[str, Any], space: InputSpace
) -> Schema:
    """Return the outputs of a simulator that takes the campaign's inputs.

    Raises:
        ConfigError: If it does not take them, or its outputs are not well defined; the sentence names the file.
    """
    try:
        if isinstance(simulator, Described):
            simulator.check_space(options, space)
        return simulator.output_schema(options)
    except ConfigError as error:
        raise ConfigError(f"In {campaign.where}, [simulator.options]: {error}") from error


def simulator_files(campaign: CampaignConfig, simulator: Simulator) -> tuple[str, ...] | None:
    """Return the files that the simulator's options name, as the campaign writes them; None where they name none."""
    if not isinstance(simulator, Described):
        return None
    return simulator.named_files(simulator.check_options(campaign.simulation().simulator.options))


def check_program(simulator: Simulator, options: Mapping[str, Any], site: Site) -> None:
    """Refuse a site whose launcher does not belong to the program.

    Raises:
        ConfigError: If so.
        SiteError: If the site's launcher is missing.
    """
    launcher = site.find_launcher("simulate")
    if isinstance(simulator, Described):
        simulator.check_launcher(options, launcher.dialect, launcher.mpiexec)
