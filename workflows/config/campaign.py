"""The campaign file as one strict model.

Sections that other ways of getting data or of promoting need (data without a simulator, a person's approval) become
further optional fields of `CampaignConfig`; until then their keys are refused like any other unknown key.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, PrivateAttr

from surrogate.data.split import SplitConfig
from surrogate.design.samplers import sampler
from surrogate.design.space import InputSpace, Sampler
from surrogate.training.config import TrainConfig
from workflows.config.learning import CardSection, GateSection, ModelSection
from workflows.config.parts import Name, Section
from workflows.config.sections import (
    DesignSection,
    FailuresSection,
    InputSection,
    ResourcesSection,
    SimulatorSection,
    SplitSection,
)
from workflows.config.spaces import merged_space

SCHEMA_VERSION = 1


def kept_name(path: str) -> str:
    """Return the name under which the copy of a file is kept, from its path as the campaign file writes it."""
    return f"{hashlib.sha256(path.encode()).hexdigest()[:12]}-{Path(path).name[-80:]}"


class Origin(NamedTuple):
    """Where a campaign was read.

    Attributes:
        name: How sentences call it; empty for the campaign's own name.
        file: Absolute path of its file, or None.
        text: The file's text as it was given, or None.
        kept: Folder with copies of the files that it names, or None.
    """

    name: str = ""
    file: Path | None = None
    text: str | None = None
    kept: Path | None = None


class CampaignConfig(Section):
    """From a simulation to a trusted surrogate, described by one TOML file."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION)] = Field(
        description=f"Version of the file's layout; {SCHEMA_VERSION} is the newest that this program reads."
    )
    name: Name = Field(description="Name of the campaign: at most 64 letters, digits, dots, hyphens and underscores.")
    title: str = Field(default="", description="Title for the report.")
    description: str = Field(default="", description="What the campaign is about.")
    intended_use: str = Field(default="", description="What the surrogate may be used for; goes into the data card.")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1, description="Fixes the design, the splits (unless they have a salt) and the training."
    )
    simulator: SimulatorSection = Field(description="The simulation code that is asked.")
    inputs: dict[str, InputSection] = Field(
        default={}, description="The inputs by name; those of the simulator's own space when left out."
    )
    design: DesignSection = Field(description="Which points are simulated.")
    resources: ResourcesSection = Field(default=ResourcesSection(), description="What one run needs of a machine.")
    split: SplitSection = Field(default=SplitSection(), description="How points are divided.")
    failures: FailuresSection = Field(default=FailuresSection(), description="How much may go wrong.")
    model: ModelSection = Field(default=ModelSection(), description="What learns.")
    train: TrainConfig = Field(default=TrainConfig(), description="How it is trained.")
    gate: GateSection = Field(description="What the surrogate must show before it is promoted.")
    card: CardSection = Field(default=CardSection(), description="What only a person can say about the data.")

    _origin: Origin = PrivateAttr(default=Origin())

    def read_from(self, origin: Origin) -> CampaignConfig:
        """Return the campaign with the memory of where it was read."""
        campaign = self.model_copy()
        campaign._origin = origin  # noqa: SLF001 - a model of this very class
        return campaign

    @property
    def file(self) -> Path | None:
        """The file that the campaign was read from, or None."""
        return self._origin.file

    @property
    def text(self) -> str | None:
        """The file's text as it was given, or None."""
        return self._origin.text

    @property
    def where(self) -> str:
        """The file's name for sentences."""
        return self._origin.name or f"the campaign '{self.name}'"

    @property
    def splits(self) -> SplitConfig:
        """How points are divided; the salt is made of name and seed unless the file gives one."""
        return self.split.config(f"{self.name}:{self.seed}")

    def resolve(self, path: str) -> Path:
        """Return the file that a path in the campaign file means: the kept copy, else relative to the campaign file."""
        kept = self._origin.kept
        if kept is not None and (kept / kept_name(path)).is_file():
            return kept / kept_name(path)
        return (self.file.parent if self.file else Path.cwd()) / path

    def sampler(self) -> Sampler:
        """Return what chooses the points.

        Raises:
            SpaceError: If its options are wrong.
        """
        design = self.design
        if design.sampler == "table":
            return sampler("table", path=self.resolve(design.path or ""))
        if design.sampler == "grid":
            return sampler("grid", levels=design.levels)
        if design.sampler == "latin_hypercube":
            return sampler("latin_hypercube", block=design.block)
        return sampler(design.sampler)

    def input_space(self, default: InputSpace | None) -> InputSpace:
        """Return where points are chosen: the simulator's own space, with what `[inputs]` says instead.

        Args:
            default: The simulator's own space, or None when only the campaign can say.

        Raises:
            ConfigError: If an input is unknown to the simulator, or a bound, unit, scale or choice is wrong.
        """
        return merged_space(self.where, self.simulator.name, self.inputs, default)
