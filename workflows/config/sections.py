"""The sections of a campaign file that decide which data there are: simulator, inputs, design, resources, splits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from site_configs.resources import ResourceRequest
from surrogate.core.errors import ResourceError, SplitError, UnitError
from surrogate.core.tables import shown
from surrogate.core.units import check_unit
from surrogate.data.split import SplitConfig
from surrogate.design.parameters import ScaleName
from workflows.budgets import Budgets
from workflows.config.parts import Count, FileName, Memory, Points, Seconds, Section, Tally, Text, clause


class SimulatorSection(Section):
    """The simulation code that is asked."""

    name: Text = Field(description="Name of the simulator in the catalogue.")
    options: dict[str, Any] = Field(
        default={}, description="What else decides its results; each simulator has its own."
    )


class InputSection(Section):
    """One input. What is left out is taken from the simulator's own input of that name, where it has one."""

    low: float | None = Field(default=None, description="Smallest value, in the input's unit.")
    high: float | None = Field(default=None, description="Largest value, in the input's unit.")
    unit: str | None = Field(default=None, description="Unit of the bounds, as pint writes it; '1' for none.")
    scale: ScaleName | None = Field(default=None, description="How values are spread; 'linear' unless said otherwise.")
    choices: tuple[str, ...] | None = Field(default=None, description="The words of a categorical input.")
    description: str | None = Field(default=None, description="What the input is.")

    @model_validator(mode="after")
    def _check(self) -> InputSection:
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"'low' must be below 'high', and low = {self.low}, high = {self.high} was found")
        try:
            check_unit(self.unit or "1")
        except UnitError as error:
            raise clause(error) from error
        return self


def _levels(value: Any) -> Any:
    """Refuse what is neither a count nor a table of counts, in one sentence instead of one for each type."""
    if value is None:
        return None
    counts = list(value.values()) if isinstance(value, dict) else [value]
    if not counts or not all(isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in counts):
        raise ValueError(
            "the levels of a grid are a whole number of at least 1, or a table with one for each input, "
            f"and {shown(counts[0]) if len(counts) == 1 else 'something else'} was found"
        )
    return value


STRUCTURE_SAMPLERS = ("normal_modes", "rattle", "dynamics", "frames")
"""Samplers that choose structures of atoms."""

_OWNERS: dict[str, tuple[str, ...]] = {
    "block": ("latin_hypercube",),
    "levels": ("grid",),
    "path": ("table",),
    "temperature": ("normal_modes", "dynamics"),
    "hessians": ("normal_modes",),
    "stdev": ("rattle",),
    "timestep": ("dynamics",),
    "spacing": ("dynamics",),
}
_NEEDED = ("levels", "path", "temperature", "stdev")
_ENDING = ("grid", "table", "frames")


class DesignSection(Section):
    """Which points are simulated."""

    sampler: Literal["sobol", "latin_hypercube", "grid", "table", "normal_modes", "rattle", "dynamics", "frames"] = (
        Field(
            default="sobol",
            description="How points are chosen: 'sobol', 'latin_hypercube', 'grid' or 'table'; of structures: "
            "'normal_modes', 'rattle', 'dynamics' or 'frames'.",
        )
    )
    runs: Points | None = Field(
        default=None,
        description="How many runs; a grid, a table and frames take all their points when it is left out.",
    )
    block: Points | None = Field(
        default=None,
        description="Points of one Latin hypercube, when the design is to be continued later in blocks of that size.",
    )
    levels: Annotated[Count | dict[str, Count] | None, BeforeValidator(_levels)] = Field(
        default=None, description="Levels of every input of a grid, or a table with one number for each input."
    )
    path: FileName | None = Field(
        default=None, description="CSV or HDF5 file with the points of a table; relative to the campaign file."
    )
    temperature: float | None = Field(
        default=None, gt=0, le=100_000, description="Temperature in K of normal modes or dynamics."
    )
    hessians: tuple[FileName, ...] = Field(
        default=(),
        description="NPZ files with species, coordinates (Å, the minimum) and hessian (Ha/bohr²), one a molecule; "
        "GFN2-xTB gives those that are left out.",
    )
    stdev: float | None = Field(
        default=None, gt=0, le=2, description="Standard deviation in Å of each coordinate's rattle."
    )
    timestep: float = Field(default=0.5, gt=0, le=10, description="Time step of dynamics in fs.")
    spacing: Count = Field(default=20, description="Steps of dynamics from one structure to the next.")
    samples_per_run: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="Points that one run computes, where the simulator takes several: structures, waveforms."
    )

    @model_validator(mode="after")
    def _check(self) -> DesignSection:
        for key, owners in _OWNERS.items():
            if key in self.model_fields_set and self.sampler not in owners:
                belongs = " or ".join(f"'{owner}'" for owner in owners)
                raise ValueError(f"'{key}' belongs to the sampler {belongs}, and the sampler is '{self.sampler}'")
            if key in _NEEDED and key not in self.model_fields_set and self.sampler in owners:
                raise ValueError(f"the sampler '{self.sampler}' needs '{key}'")
        if self.runs is None and self.sampler not in _ENDING:
            raise ValueError(f"'runs' is missing: say how many runs the sampler '{self.sampler}' is to choose")
        return self

    @property
    def of_structures(self) -> bool:
        """Whether it chooses structures of atoms."""
        return self.sampler in STRUCTURE_SAMPLERS


class ResourcesSection(Section):
    """What one run needs of a machine. Any one of the first three may be left out."""

    nodes: Count | None = Field(default=None, description="Nodes of one run.")
    ranks_per_node: Count | None = Field(default=None, description="MPI ranks on each node.")
    ranks: Count | None = Field(default=None, description="MPI ranks of one run: nodes × ranks_per_node.")
    cores_per_rank: Count = Field(default=1, description="Cores of each rank.")
    gpus_per_rank: Tally = Field(default=0, description="GPUs of each rank.")
    memory_per_rank: Memory = Field(default=0, description="Memory of each rank, such as '2 GiB'; 0 for no statement.")
    walltime: Seconds = Field(default=3600, description="Time after which a run is ended: seconds, or 'HH:MM:SS'.")
    expected: float | None = Field(
        default=None,
        gt=0,
        le=1e9,
        description="Seconds that a run is expected to take, for estimates before the first is done.",
    )

    @model_validator(mode="after")
    def _check(self) -> ResourcesSection:
        try:
            self.request()
        except ResourceError as error:
            raise clause(error) from error
        return self

    def request(self) -> ResourceRequest:
        """Return the request with all three integers.

        Raises:
            ResourceError: If they do not divide.
        """
        return ResourceRequest.resolve(
            nodes=self.nodes,
            ranks_per_node=self.ranks_per_node,
            ranks=self.ranks,
            cores_per_rank=self.cores_per_rank,
            gpus_per_rank=self.gpus_per_rank,
            memory_per_rank_mib=self.memory_per_rank,
            walltime_s=self.walltime,
        )


class MinimumSection(Section):
    """The least number of points that a split may have."""

    train: Tally = Field(default=16, description="Least number of points to train on.")
    tune: Tally = Field(default=4, description="Least number of points to tune on.")
    holdout: Tally = Field(default=8, description="Least number of points to judge on.")


class SplitSection(Section):
    """How points are divided into train, tune and holdout, once and for ever."""

    tune: float = Field(
        default=0.15, gt=0, lt=1, description="Share for early stopping, calibration of intervals and thresholds."
    )
    holdout: float = Field(default=0.25, gt=0, lt=1, description="Share for the verdict, and for nothing else.")
    minimum: MinimumSection = Field(
        default=MinimumSection(), description="Least numbers, checked before anything runs."
    )
    salt: Text | None = Field(
        default=None, description="Fixes which points go where; made of the campaign's name and seed when left out."
    )

    @model_validator(mode="after")
    def _check(self) -> SplitSection:
        try:
            self.config("")
        except SplitError as error:
            raise clause(error) from error
        return self

    def config(self, default_salt: str) -> SplitConfig:
        """Return the splits for data.

        Args:
            default_salt: Salt when the file gives none.

        Raises:
            SplitError: If the shares leave nothing to train on.
        """
        return SplitConfig(self.salt or default_salt, self.tune, self.holdout, self.minimum.model_dump())


class FailuresSection(Section):
    """How much may go wrong. Bad physics is never tried again."""

    infrastructure: Tally = Field(
        default=10,
        description="How often one run may be lost with its node, worker or allocation before it is given up.",
    )
    solver: Tally = Field(default=2, description="How often a run is tried again after its solver failed.")
    storm: Count = Field(
        default=6, description="Losses in a row over all runs, beyond two a worker, after which the campaign stops."
    )
    allowed_share: float = Field(
        default=0.2, ge=0, le=1, description="Share of the runs that may end without data before the campaign stops."
    )
    keep: Literal["failed", "all"] = Field(
        default="failed", description="Which run folders are kept once their samples are packed into the dataset."
    )

    def budgets(self) -> Budgets:
        """Return the allowances for the ensemble."""
        return Budgets(infrastructure=self.infrastructure, solver=self.solver, storm=self.storm)
