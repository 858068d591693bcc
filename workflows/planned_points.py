"""The points that a campaign's design chooses, and which of them one run computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surrogate.core.errors import ConfigError, SimulationError, SpaceError
from surrogate.design.kept_points import KeptPoints
from surrogate.design.samplers import Design, choose
from surrogate.design.space import InputSpace, Point, Sampler
from workflows.config import CampaignConfig, structure_design
from workflows.config.parts import MOST_POINTS


def together(points: Sequence[Point]) -> dict[str, Any]:
    """Return the inputs of a run: those of its one point, or the list of each input's values."""
    if len(points) == 1:
        return dict(points[0])
    return {name: [point[name] for point in points] for name in points[0]}


def choose_points(campaign: CampaignConfig, space: InputSpace, kept: Path | None) -> tuple[Sampler, Design]:
    """Return the campaign's sampler and the whole design that it chooses.

    Raises:
        ConfigError: If the sampler's options do not fit the space, or there are too many points.
        DataError: If a table of points cannot be used.
        SurrogateError: If structures cannot be made.
    """
    chosen = campaign.simulation().design
    try:
        chooser = campaign.sampler()
        if chosen.of_structures and chosen.sampler != "frames":
            options = [chosen.sampler, structure_design(campaign)]
            chooser = KeptPoints(chooser, space, options, campaign.seed, kept or campaign.kept)
        count = chooser.length(space) or 0 if chosen.runs is None else chosen.runs * chosen.samples_per_run
        if chosen.sampler == "frames":  # the last run may have fewer
            count = min(count, chooser.length(space) or 0)
        if count <= MOST_POINTS:
            return chooser, choose(chooser, space, start=0, count=count, seed=campaign.seed)
    except (SpaceError, SimulationError) as error:
        raise ConfigError(f"In {campaign.where}, [design]: {error}") from error
    raise ConfigError(
        f"In {campaign.where}, [design] has {count} points, and at most {MOST_POINTS} can be planned; set 'runs'."
    )
