"""Campaigns whose data exist already: what their columns are, and the plan in which nothing is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim_wrappers.protocol import KnownError, Program, RunData, RunRequest
from surrogate.core.errors import ConfigError, DataError, SpaceError
from surrogate.core.schema import Schema
from surrogate.data.split import SPLITS, Split
from surrogate.design.catalogue import space_from_json
from surrogate.design.samplers import Design
from surrogate.design.space import InputSpace
from workflows.config import CampaignConfig, data_parts
from workflows.plan import Plan

NAME = "existing data"
BEGIN = "Begin with: surrogate ingest {workdir} PATH... --mapping mapping.toml"


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """What the data of a campaign are; fixed when the first of them are ingested.

    Attributes:
        space: The inputs with their bounds.
        schema: All columns and coordinates, inputs first.
    """

    space: InputSpace
    schema: Schema

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {"space": self.space.to_json(), "schema": self.schema.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Description:
        """Rebuild a description from `to_json`.

        Raises:
            SpaceError, DataError: If the mapping is none of `to_json`'s.
        """
        try:
            return cls(space_from_json(record["space"]), Schema.from_json(record["schema"]))
        except (KeyError, TypeError) as error:
            raise DataError(f"This is no description of a campaign's data: {error!r}.") from error


class ExistingData:
    """Stands where a simulator would (see `sim_wrappers.protocol.Simulator`); nothing can be asked of it."""

    name = NAME
    known_errors: tuple[KnownError, ...] = ()

    def __init__(self, description: Description) -> None:
        """Keep what the data are."""
        self._description = description

    def found(self) -> str | None:
        """Return None: nothing has to be installed."""
        return None

    def version(self, options: Mapping[str, Any]) -> str:
        """Return an empty text: the sources and their hashes are in each run's provenance."""
        del options
        return ""

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options; there are none."""
        return dict(options)

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options; there are none."""
        return dict(options)

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return the inputs."""
        del options
        return self._description.space

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return the outputs and coordinates."""
        del options
        return Schema(self._description.schema.outputs, self._description.schema.coordinates)

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Refuse."""
        del request, folder
        raise _nothing_to_ask()

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Refuse."""
        del request, folder
        raise _nothing_to_ask()

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Refuse."""
        del request, folder, stdout
        raise _nothing_to_ask()


def _nothing_to_ask() -> ConfigError:
    return ConfigError("This campaign has data that exist already and no simulator, so that nothing can be simulated.")


def is_ingested(campaign: CampaignConfig) -> bool:
    """Return whether a campaign's data exist already, so that they are ingested and not simulated."""
    return campaign.data is not None


def data_plan(campaign: CampaignConfig, description: Description) -> Plan:
    """Return the plan of a campaign whose data exist already: columns and splits, and no run.

    Args:
        campaign: A campaign with `[data]`.
        description: What its data are.
    """
    return Plan(
        campaign=campaign,
        simulator=ExistingData(description),
        version="",
        options={},
        space=description.space,
        schema=description.schema,
        splits=campaign.splits,
        design=Design((), 0, 0, 0),
        runs=(),
        parts=data_parts(campaign, description.space, description.schema),
        data=description.to_json(),
    )


def recorded_description(record: Mapping[str, Any] | None, workdir: Path) -> Description:
    """Return what a working directory's data are.

    Args:
        record: What the working directory's facts hold under `data`, or None.
        workdir: The working directory, for sentences.

    Raises:
        ConfigError: If nothing has been ingested there yet.
        IntegrityError: If the record is damaged.
    """
    if record is None:
        raise ConfigError(
            f"The campaign has [data] and no simulator, and nothing was ingested into {workdir} yet. "
            + BEGIN.format(workdir=workdir)
        )
    try:
        return Description.from_json(record)
    except (DataError, SpaceError) as error:
        raise ConfigError(f"{workdir} does not say what its data are: {error}") from error


def split_counts(plan: Plan, counts: Mapping[Split, Any]) -> dict[str, int]:
    """Return split → samples for a summary."""
    del plan
    return {split: int(counts[split].samples) for split in SPLITS}
