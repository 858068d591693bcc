"""A campaign's plan, checked before anything is started: the code, the data, the learning, the site."""

from __future__ import annotations

from pathlib import Path

from site_configs.shape import shape_of
from site_configs.site import Site
from surrogate.core.errors import ConfigError
from workflows.config import KEPT_FILES, CampaignConfig, load_campaign
from workflows.config.keep import named_files
from workflows.described_program import check_program, complete_options, simulator_files
from workflows.existing_data import is_ingested, plan_existing
from workflows.learn import training_resources
from workflows.learning_checks import check_learning, find_family
from workflows.plan import Plan, find_simulator, make_plan
from workflows.workspace import Workspace


def plan_campaign(campaign: CampaignConfig, workdir: Path | None = None, *, one_run: bool = False) -> Plan:
    """Work out a campaign's runs and check everything that can be checked before anything is started.

    Args:
        campaign: The campaign.
        workdir: Its working directory; needed where the data exist already.
        one_run: Whether one run is all that is wanted; then no split is held against its minimum.

    Raises:
        InputError: If the campaign, its simulator, its inputs or its splits are wrong.
        ConfigError: If the simulation code is not installed here, or nothing has been ingested yet.
    """
    if is_ingested(campaign):
        plan = plan_existing(campaign, workdir)
        check_learning(campaign, find_family(campaign), plan.schema)
        return plan
    simulator = find_simulator(campaign)
    missing = simulator.found()
    if missing is not None:
        raise ConfigError(missing)
    plan = make_plan(campaign, simulator, None if workdir is None else workdir / KEPT_FILES, one_run=one_run)
    check_learning(campaign, find_family(campaign), plan.schema)
    return plan


def check_kept_files(campaign: CampaignConfig, workspace: Workspace) -> None:
    """Refuse a working directory that has lost its copies of the files that the campaign names.

    Raises:
        ConfigError: If so, with what makes them anew.
    """
    kept = workspace.root / KEPT_FILES
    if kept.is_dir():
        return
    needed = bool(named_files(campaign))
    if not is_ingested(campaign):
        needed |= simulator_files(campaign, find_simulator(campaign)) is not None
    if needed:
        raise ConfigError(
            f"{kept}, which holds copies of the files that the campaign names, is missing. Run the campaign from its "
            f"own file: `surrogate run CAMPAIGN.toml --workdir {workspace.root}` makes them anew, and what was "
            "simulated is kept; or restore the folder from a backup."
        )


def check_site(plan: Plan, site: Site) -> None:
    """Refuse a site that can never execute the campaign.

    Raises:
        ResourceError: If a run or the training does not fit, or a program without MPI is asked for on many ranks.
        ConfigError: If the site's launcher belongs to another MPI than the program.
        SiteError: If the site's launcher is missing.
    """
    if plan.data is None:
        shape_of(site, "simulate", [plan.campaign.resources.request()])
    shape_of(site, "train", [training_resources(plan.campaign.train)])
    site.find_launcher("train")
    check_program(plan.simulator, plan.options, site)
    if plan.runs:
        launch_line(plan, site, Workspace(Path()))


def with_kept_files(plan: Plan, workspace: Workspace) -> Plan:
    """Return the plan with the working directory's own copies of what the simulator's options name.

    Whoever edits a template while the campaign runs does not change the campaign.

    Raises:
        ConfigError: If a file was edited between being looked at and being copied.
    """
    if simulator_files(plan.campaign, plan.simulator) is None:
        return plan
    options = complete_options(load_campaign(workspace.campaign_file), plan.simulator)
    seen, kept = plan.simulator.identity_options(plan.options), plan.simulator.identity_options(options)
    if seen != kept or plan.simulator.version(options) != plan.version:
        raise ConfigError("A file that the campaign names was changed while it was read. Start the campaign again.")
    return plan.with_options(options)


def launch_line(plan: Plan, site: Site, workspace: Workspace) -> str:
    """Return how the first simulation is started; where the data exist already, how they were taken in."""
    if plan.data is not None:
        return "surrogate ingest"
    launcher = site.find_launcher("simulate")
    lines = plan.launch_lines(
        lambda program, resources: launcher.line(program.argv, resources, mpi=program.mpi), workspace.runs
    )
    return " ".join(lines[0])
