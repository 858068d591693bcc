"""The campaign file as one strict model: either a simulator and a design, or data that exist already."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from surrogate.core.errors import ConfigError
from surrogate.core.structure import Structure
from surrogate.data.split import SplitConfig
from surrogate.design.samplers import sampler
from surrogate.design.space import InputSpace, Sampler
from surrogate.design.structures import StructureSet
from surrogate.training.config import TrainConfig
from workflows.config.data import ApprovalSection, DataSection
from workflows.config.learning import CardSection, GateSection, ModelSection
from workflows.config.parts import Name, Section
from workflows.config.sections import (
    STRUCTURE_SAMPLERS,
    DesignSection,
    FailuresSection,
    InputSection,
    ResourcesSection,
    SimulatorSection,
    SplitSection,
)
from workflows.config.spaces import merged_space
from workflows.config.structures import SpaceSection, read_space

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
        home: Folder that relative paths mean where that is not the file's own: the one in which the campaign was begun.
    """

    name: str = ""
    file: Path | None = None
    text: str | None = None
    kept: Path | None = None
    home: Path | None = None


class Simulation(NamedTuple):
    """Where a campaign's data come from, when they are simulated.

    Attributes:
        simulator: The simulation code that is asked.
        design: Which points are simulated.
    """

    simulator: SimulatorSection
    design: DesignSection


class CampaignConfig(Section):
    """From a simulation, or from data that exist already, to a trusted surrogate, described by one TOML file."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["simulator", "design"]}, {"required": ["data"]}]}
    )

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
    simulator: SimulatorSection | None = Field(default=None, description="The simulation code that is asked.")
    inputs: dict[str, InputSection] = Field(
        default={}, description="The inputs by name; those of the simulator's own space when left out."
    )
    space: SpaceSection | None = Field(
        default=None, description="Inputs that are structures of atoms, instead of [inputs]."
    )
    design: DesignSection | None = Field(default=None, description="Which points are simulated.")
    data: DataSection | None = Field(
        default=None, description="Data that exist already, instead of a simulator and a design."
    )
    resources: ResourcesSection = Field(default=ResourcesSection(), description="What one run needs of a machine.")
    split: SplitSection = Field(default=SplitSection(), description="How points are divided.")
    failures: FailuresSection = Field(default=FailuresSection(), description="How much may go wrong.")
    model: ModelSection = Field(default=ModelSection(), description="What learns.")
    train: TrainConfig = Field(default=TrainConfig(), description="How it is trained.")
    gate: GateSection = Field(description="What the surrogate must show before it is promoted.")
    approval: ApprovalSection = Field(
        default=ApprovalSection(), description="Whether a person must approve of a promotion."
    )
    card: CardSection = Field(default=CardSection(), description="What only a person can say about the data.")

    _origin: Origin = PrivateAttr(default=Origin())

    @model_validator(mode="after")
    def _check_source(self) -> CampaignConfig:
        """Refuse a campaign with two sources of data, or with none."""
        given = [name for name in ("simulator", "design") if getattr(self, name) is not None]
        if self.data is not None and given:
            raise ValueError(
                f"[data] (data that exist already) and [{given[0]}] exclude each other, and both were found; leave one "
                "of them out"
            )
        if self.data is None and len(given) < 2:
            lacking = "design" if given == ["simulator"] else "simulator"
            what = str(type(self).model_fields[lacking].description)
            instead = "; or give [data] for data that exist already" if not given else ""
            raise ValueError(f"'{lacking}' is missing: {what[0].lower()}{what[1:].removesuffix('.')}{instead}")
        return self

    @model_validator(mode="after")
    def _check_space(self) -> CampaignConfig:
        """Refuse inputs of two kinds, and a sampler of another kind of inputs."""
        if self.space is not None and self.inputs:
            raise ValueError(
                "[space] (structures of atoms) and [inputs] (single numbers) exclude each other, and both were found; "
                "leave one of them out"
            )
        if self.design is not None and self.design.of_structures and self.space is None:
            raise ValueError(
                f"the sampler '{self.design.sampler}' chooses structures of atoms, and [space] is missing: say which "
                "molecules"
            )
        if self.design is not None and self.space is not None and not self.design.of_structures:
            raise ValueError(
                f"structures of atoms are chosen by one of {', '.join(STRUCTURE_SAMPLERS)}, and "
                f"'design.sampler' is '{self.design.sampler}'"
            )
        return self

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

    @property
    def kept(self) -> Path | None:
        """The folder with the files that the campaign's working directory keeps, or None."""
        return self._origin.kept

    @property
    def home(self) -> Path:
        """The folder that relative paths mean: where the campaign was begun, else its file's, else the current one."""
        return self._origin.home or (self.file.parent if self.file else Path.cwd())

    def resolve(self, path: str) -> Path:
        """Return the file or folder that a path in the campaign file means: the kept copy, else relative to `home`."""
        kept = self._origin.kept
        if kept is not None and (kept / kept_name(path)).exists():
            return kept / kept_name(path)
        return self.home / path

    def simulation(self) -> Simulation:
        """Return the simulator and the design.

        Raises:
            ConfigError: If the campaign has [data] instead.
        """
        if self.simulator is None or self.design is None:
            raise ConfigError(f"{self.where} has [data] and no simulator, so that there is nothing to simulate.")
        return Simulation(self.simulator, self.design)

    def sampler(self) -> Sampler:
        """Return what chooses the points.

        Raises:
            ConfigError: If the campaign has no design.
            SpaceError: If its options are wrong.
        """
        design = self.simulation().design
        if design.sampler == "table":
            return sampler("table", path=self.resolve(design.path or ""))
        if design.sampler == "grid":
            return sampler("grid", levels=design.levels)
        if design.sampler == "latin_hypercube":
            return sampler("latin_hypercube", block=design.block)
        if design.of_structures:
            return self._structure_sampler(design)
        return sampler(design.sampler)

    def _structure_sampler(self, design: DesignSection) -> Sampler:
        """Return what chooses structures."""
        if design.sampler == "normal_modes":
            paths = tuple(self.resolve(path) for path in design.hessians)
            return sampler("normal_modes", temperature=design.temperature, hessians=paths)
        if design.sampler == "rattle":
            return sampler("rattle", stdev=design.stdev)
        if design.sampler == "dynamics":
            options = {"timestep": design.timestep, "spacing": design.spacing}
            return sampler("dynamics", temperature=design.temperature, **options)
        return sampler("frames", structures=self.structures()[1])

    def structures(self) -> tuple[StructureSet, tuple[Structure, ...]]:
        """Return the molecules of `[space]` and all its structures (see `workflows.config.structures.read_space`).

        Raises:
            ConfigError: If there is no such section, or a structure in it cannot be used.
            MissingExtraError: If ASE is not installed.
        """
        if self.space is None:
            raise ConfigError(f"{self.where} has no [space].")
        return read_space(self.space, self.where, self.resolve)

    def input_space(self, default: InputSpace | None) -> InputSpace:
        """Return where points are chosen: the simulator's own space, with what `[inputs]` says instead.

        Args:
            default: The simulator's own space, or None when only the campaign can say.

        Raises:
            ConfigError: If an input is unknown to the simulator, or a bound, unit, scale or choice is wrong.
        """
        if self.space is not None:
            return self.structures()[0]
        return merged_space(self.where, self.simulation().simulator.name, self.inputs, default)
