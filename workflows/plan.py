"""What a campaign is going to run, worked out and checked before anything is started.

The same campaign and the same version of its simulator give the same plan on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sim_wrappers import catalog
from sim_wrappers.protocol import Program, RunRequest, Simulator
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError, DataError, SplitError
from surrogate.core.identity import point_hash, run_namer, split_position
from surrogate.core.schema import Schema
from surrogate.data.split import SPLITS, Split, SplitConfig, SplitCount
from surrogate.design.kept_points import KeptPoints
from surrogate.design.samplers import Design
from surrogate.design.space import InputSpace, Point, Sampler
from workflows.config import CampaignConfig, identity_of, identity_parts
from workflows.described_program import check_kind, check_many, checked_outputs, complete_options
from workflows.estimate import Estimate, estimated
from workflows.planned_points import choose_points, together

DESIGN_STRATUM = "design"
"""Stratum of the runs that the declared design asks for."""

LONGEST_SEARCH = 20_000
"""Points that are tried at most to say how many runs would do."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of the plan.

    Attributes:
        request: What is to be executed; it carries the run id.
        stratum: Where its samples belong.
        splits: Split of each of the run's points.
    """

    request: RunRequest
    stratum: str
    splits: tuple[Split, ...]

    def record(self) -> dict[str, Any]:
        """Return the run as the journal's event `runs.planned` holds it."""
        return {"run_id": self.request.run_id, "inputs": dict(self.request.inputs), "stratum": self.stratum}


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything that a campaign's runs are made of.

    Attributes:
        campaign: The campaign.
        simulator: What is asked.
        version: Version of the simulation code.
        options: The simulator's options, defaults filled in.
        space: Where the points were chosen.
        schema: Columns and coordinates of a run file, inputs first.
        splits: How points are divided.
        design: The points.
        runs: The runs, in the order of the design.
        parts: What the campaign's identity is made of (see `workflows.config.identity`).
        data: What the data are, where they exist already; the working directory keeps it. Else None.
        kept: Points that the working directory keeps, where no other machine could make the same; else None.
    """

    campaign: CampaignConfig
    simulator: Simulator
    version: str
    options: dict[str, Any]
    space: InputSpace
    schema: Schema
    splits: SplitConfig
    design: Design
    runs: tuple[PlannedRun, ...]
    parts: dict[str, Any]
    data: dict[str, Any] | None = None
    kept: KeptPoints | None = None

    @property
    def identity(self) -> str:
        """Identity of the campaign (hex, 64 characters): what decides its data."""
        return identity_of(self.parts)

    @property
    def requests(self) -> tuple[RunRequest, ...]:
        """The requests of all runs."""
        return tuple(run.request for run in self.runs)

    @property
    def counts(self) -> dict[Split, int]:
        """Points of each split."""
        found = Counter(split for run in self.runs for split in run.splits)
        return {split: found[split] for split in SPLITS}

    def with_options(self, options: dict[str, Any]) -> Plan:
        """Return the plan with other paths in the simulator's options; what is asked stays the same."""
        runs = [replace(run, request=replace(run.request, options=options)) for run in self.runs]
        return replace(self, options=options, runs=tuple(runs))

    def estimate(self, slots: int, seconds: float | None = None) -> Estimate:
        """Say how long all runs will take.

        Args:
            slots: Runs that the site executes at once, at least 1.
            seconds: Measured wall-clock seconds of a run, or None when none has finished.
        """
        resources = self.campaign.resources
        return estimated(
            len(self.runs), slots, measured=seconds, expected=resources.expected, walltime=resources.walltime
        )

    def launch_lines(
        self, launch: Callable[[Program, ResourceRequest], Sequence[str]], folder: Path, count: int = 1
    ) -> list[tuple[str, ...]]:
        """Return what would be started for the first runs; nothing is written and nothing is started.

        Args:
            launch: Turns a program and its resources into a command line of the site.
            folder: The campaign's folder of runs, as it would be.
            count: How many runs to show.
        """
        lines = []
        for run in self.runs[:count]:
            place = folder / run.request.run_id[:2] / run.request.run_id
            program = self.simulator.program(run.request, place)
            lines.append(tuple(launch(program, run.request.resources)))
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready summary for `--dry-run --json`."""
        return {
            "campaign": self.campaign.name,
            "identity": self.identity,
            "simulator": self.simulator.name,
            "simulator_version": self.version,
            "options": self.options,
            "runs": len(self.runs),
            "points": len(self.design.points),
            "duplicates": self.design.duplicates,
            "splits": dict(self.counts),
            "minimum": dict(self.splits.minimum),
            "space": self.space.to_json(),
        }


def find_simulator(campaign: CampaignConfig) -> Simulator:
    """Return the simulator that a campaign names.

    Raises:
        ConfigError: If there is none of that name, with the nearest one; the sentence names the file.
    """
    name = campaign.simulation().simulator.name
    try:
        return catalog.get(name)
    except ConfigError as error:
        raise ConfigError(f"In {campaign.where}, 'simulator.name': {error}") from error


def make_plan(
    campaign: CampaignConfig, simulator: Simulator, kept: Path | None = None, *, one_run: bool = False
) -> Plan:
    """Work out all runs of a campaign's design and refuse what cannot end in a verdict.

    Args:
        campaign: The campaign.
        simulator: The simulator that it names.
        kept: Folder in which a working directory keeps points that were made before; the campaign's own when None.
        one_run: Whether one run is all that is wanted; then no split is held against its minimum.

    Raises:
        ConfigError: If options, inputs or the design are wrong; the sentence names the file.
        DataError: If a table of points cannot be used.
        SplitError: If a split would have fewer points than its minimum; the sentence says how many runs would do.
    """
    where = campaign.where
    options = complete_options(campaign, simulator)
    check_kind(campaign, simulator)
    check_many(campaign, simulator)
    space = campaign.input_space(simulator.default_space(options))
    outputs = checked_outputs(campaign, simulator, options, space)
    try:
        schema = Schema((*space.columns, *outputs.columns), outputs.coordinates)
    except DataError as error:
        raise ConfigError(f"In {where}, [inputs] and the simulator's outputs do not go together: {error}") from error
    chooser, design = choose_points(campaign, space, kept)
    version, relevant = simulator.version(options), simulator.identity_options(options)
    runs = _runs(campaign, simulator, options, design)
    parts = identity_parts(campaign, space, relevant)
    points = chooser if isinstance(chooser, KeptPoints) else None
    plan = Plan(campaign, simulator, version, options, space, schema, campaign.splits, design, runs, parts, kept=points)
    if not one_run:
        _check_splits(plan, chooser)
    return plan


def _runs(
    campaign: CampaignConfig, simulator: Simulator, options: dict[str, Any], design: Design
) -> tuple[PlannedRun, ...]:
    """Return the runs of a design: one a point, or one for each few of them."""
    name_of = run_namer(simulator.name, simulator.version(options), simulator.identity_options(options))
    resources, splits, runs = campaign.resources.request(), campaign.splits, []
    each = campaign.simulation().design.samples_per_run
    groups = design.groups or ("",) * len(design.points)
    for first in range(0, len(design.points), each):
        few = slice(first, first + each)
        inputs = together(design.points[few])
        name = name_of(inputs)
        request = RunRequest(
            name,
            simulator.name,
            options,
            inputs,
            resources,
            seed=int(name[:8], 16),
            groups=groups[few] if design.groups else (),
        )
        places = zip(groups[few], design.hashes[few], strict=True)
        parts = tuple(splits.of_position(split_position(splits.salt, group, key)) for group, key in places)
        runs.append(PlannedRun(request, DESIGN_STRATUM, parts))
    return tuple(runs)


def _check_splits(plan: Plan, chooser: Sampler) -> None:
    """Refuse a split below its minimum and say how many runs would do, when that can be known."""
    counts = {split: SplitCount(count, count) for split, count in plan.counts.items()}
    if not plan.splits.too_few(counts):
        return
    enough = _enough_runs(plan, chooser)
    try:
        plan.splits.check(counts, guess=enough is None)
    except SplitError as error:
        remedy = (
            f" How the points divide follows from the campaign's name, seed and bounds: with these, 'design.runs = "
            f"{enough}' is enough; or lower 'split.minimum'."
            if enough
            else ""
        )
        if plan.design.groups:
            remedy = (
                " All structures of one molecule stay together here: name more molecules, or set space.group = "
                "'structure' to divide them one by one."
            )
        left_out = f" {plan.design.duplicates} duplicates were left out." if plan.design.duplicates else ""
        raise SplitError(f"In {plan.campaign.where}: {error}{left_out}{remedy}") from error


def _enough_runs(plan: Plan, chooser: Sampler) -> int | None:
    """Return the least number of runs whose points fill every split, or None when it is not known."""
    each = plan.campaign.simulation().design.samples_per_run
    if plan.campaign.simulation().design.sampler != "sobol":
        return None
    longest = min(max(8 * plan.design.stop, 256), LONGEST_SEARCH)
    counts = dict.fromkeys(SPLITS, 0)
    seen = set()
    for number, point in enumerate(chooser.points(plan.space, 0, longest, plan.campaign.seed), 1):
        if point_hash(point) not in seen:
            seen.add(point_hash(point))
            counts[plan.splits.of(None, point)] += 1
        if all(counts[split] >= plan.splits.minimum.get(split, 0) for split in SPLITS):
            return -(-number // each)
    return None


def check_continues(plan: Plan, planned: Sequence[Mapping[str, Any]], workdir: Path) -> None:
    """Refuse a plan that does not continue what a working directory's journal has planned already.

    A design may grow. It may not shrink, change its points, or be asked of another version of the simulator: the
    dataset would be of two kinds.

    Args:
        plan: The plan at hand.
        planned: Runs of the journal, as `PlannedRun.record` made them, whatever their stratum.
        workdir: The working directory, for the sentence.

    Raises:
        ConfigError: If a run of the design that was planned is not in the plan.
    """
    known = {run.request.run_id for run in plan.runs}
    lost = [record for record in planned if record["stratum"] == DESIGN_STRATUM and record["run_id"] not in known]
    if not lost:
        return
    points = {point_hash(run.request.inputs) for run in plan.runs}
    begun = sum(record["stratum"] == DESIGN_STRATUM for record in planned)
    if point_hash(_point(lost[0])) in points:
        raise ConfigError(
            f"{workdir} was begun with another version of the simulator '{plan.simulator.name}': {len(lost)} of its "
            f"{begun} runs are not those of version {plan.version}, which is installed. Give the campaign a new "
            "working directory, or install the earlier version."
        )
    raise ConfigError(
        f"{workdir} has {begun} planned runs, and {len(lost)} of them are not in the design of {plan.campaign.where}, "
        f"which has {len(plan.runs)}. A design can be continued (more runs, further rows at the end of a table), and "
        "not shortened or changed; give a changed one a new working directory."
    )


def _point(record: Mapping[str, Any]) -> Point:
    return dict(record["inputs"])
