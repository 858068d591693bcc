"""The loop of a campaign: simulate, assemble, train, validate, promote, report. Every stage is done once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from site_configs.load import load_site
from site_configs.site import Site
from surrogate.core.errors import ConfigError, InputError, IntegrityError, Interrupted, after_work
from surrogate.core.files import sha256_file
from surrogate.data.dataset import Dataset
from surrogate.registry.store import Registry, resolve_registry
from surrogate.validation.verdict import Verdict
from workflows import kept_site
from workflows.checked_plan import check_kept_files, check_site, launch_line, plan_campaign, with_kept_files
from workflows.config import CampaignConfig
from workflows.current import check_held, judged_version
from workflows.driver import FINISHED, Driver, driving, facts, prepare, reopen
from workflows.existing_data import ingested, is_ingested
from workflows.judge import REGISTER as REGISTER_STAGE
from workflows.judge import STAGE as JUDGE_STAGE
from workflows.judge import Judged, conclude, judge, judging_key, register
from workflows.learn import learn
from workflows.manners import run_end_hook, share_with_group, umask_of
from workflows.plan import Plan
from workflows.progress import Progress
from workflows.promotion import conclude_again, journal_promotion, promote, standing
from workflows.reporting import renew_report, write_campaign_report
from workflows.simulate import assemble, simulate
from workflows.stopping import Stopping


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """How a campaign ended.

    Attributes:
        verdict: The verdict.
        promoted: Whether the version is current in the registry.
        awaiting: Whether the version has passed and waits for a person's word.
        workdir: The working directory.
        report: The report.
        registry: The registry.
    """

    verdict: Verdict
    promoted: bool
    awaiting: bool
    workdir: Path
    report: Path
    registry: Path


def run_campaign(
    campaign: CampaignConfig,
    site_name: str,
    workdir: Path,
    *,
    registry: Path | None = None,
    progress: Progress,
    stopping: Stopping | None = None,
    retry_failed: bool = False,
) -> CampaignResult:
    """Bring a campaign to its verdict, from wherever an earlier call left it.

    Args:
        campaign: The campaign.
        site_name: Name or file of the site.
        workdir: The working directory; made when missing.
        registry: The registry, or None for the default.
        progress: What a person is told.
        stopping: Whether somebody asked to stop; signals are handled while the campaign runs.
        retry_failed: Whether runs that failed for good begin anew.

    Raises:
        InputError: If something that was asked cannot be done; nothing was started then.
        Interrupted: If somebody asked to stop; the message says how to resume.
        SurrogateError: If a stage failed.
    """
    named = kept_site.site_name(site_name, campaign)
    site = load_site(named)
    plan = plan_campaign(campaign, workdir)
    check_site(plan, site)
    with umask_of(site):
        workspace = prepare(plan, workdir, named)
        share_with_group(site, workspace.root)
        plan = with_kept_files(plan, workspace)
        store = Registry(resolve_registry(registry, workspace.root))
        stopping = stopping or Stopping()
        try:
            with stopping.listening(), driving(campaign, workspace, progress, stopping) as driver:
                result = _stages(driver, plan, site, store, retry_failed=retry_failed)
        except Interrupted as error:
            raise Interrupted(f"{error} Go on with: surrogate resume {workdir}") from error
        run_end_hook(site, workspace.root, passed=result.verdict.passed, progress=progress)
    return result


def resume_campaign(
    workdir: Path,
    site_name: str | None,
    *,
    registry: Path | None = None,
    progress: Progress,
    retry_failed: bool = False,
) -> CampaignResult:
    """Go on with the campaign of a working directory.

    Args:
        workdir: The working directory.
        site_name: Name or file of the site; the one of the last time when None.
        registry: The registry, or None for the default.
        progress: What a person is told.
        retry_failed: Whether runs that failed for good begin anew, with whole budgets. What was not physical never
            does: its cause lies in what was asked.

    Raises:
        ConfigError: If failed runs are to be tried again in a campaign that has no simulator.
        As `run_campaign`.
    """
    campaign, workspace = reopen(workdir)
    check_kept_files(campaign, workspace)
    if retry_failed and is_ingested(campaign):
        raise ConfigError(
            f"The campaign in {workdir} has no simulator, so that no run can be tried again. Ingest corrected files "
            "with `surrogate ingest` instead."
        )
    known = facts(workspace)
    if known.get("campaign_sha256") not in (None, sha256_file(workspace.campaign_file)):
        progress.say(f"{workspace.campaign_file} was changed since it was last run; what it says now holds.")
    return run_campaign(
        campaign,
        site_name or kept_site.known_site(known["site"], workspace),
        workspace.root,
        registry=registry,
        progress=progress,
        retry_failed=retry_failed,
    )


def validate_campaign(workdir: Path, *, registry: Path | None = None, progress: Progress) -> CampaignResult:
    """Judge the trained surrogate of a working directory again; the holdout is consulted once more.

    Raises:
        ConfigError: If nothing was trained there yet, or the registry does not hold what was.
        As `run_campaign`.
    """
    campaign, workspace = reopen(workdir)
    check_kept_files(campaign, workspace)
    plan = plan_campaign(campaign, workspace.root)
    store = Registry(resolve_registry(registry, workspace.root))
    stopping = Stopping()
    with stopping.listening(), driving(campaign, workspace, progress, stopping) as driver, stopping.at_once():
        known = driver.journal.state.stages.get(REGISTER_STAGE)
        if known is None or known.status != FINISHED:
            raise ConfigError(f"Nothing was trained in {workdir} yet; `surrogate resume {workdir}` brings it there.")
        version = str(known.record["version"])
        check_held(workspace, store, campaign.name, version)
        dataset = Dataset.open(workspace.dataset, verify="hash")
        judged = judge(driver, plan, dataset, version, store)
        return _ending(driver, plan, dataset, judged, store)


def report_campaign(workdir: Path, *, registry: Path | None = None, progress: Progress) -> Path:
    """Write the report of the last judging again, from its files; the holdout is not consulted.

    Raises:
        ConfigError: If nothing was judged there yet, or the registry does not hold what was.
        IntegrityError: If a file is damaged.
    """
    campaign, workspace = reopen(workdir)
    check_kept_files(campaign, workspace)
    plan = plan_campaign(campaign, workspace.root)
    store = Registry(resolve_registry(registry, workspace.root))
    check_held(workspace, store, campaign.name, judged_version(workspace, workdir))
    with driving(campaign, workspace, progress, Stopping()) as driver:
        renew_report(driver, plan, store)
    return workspace.report


def _stages(driver: Driver, plan: Plan, site: Site, store: Registry, *, retry_failed: bool) -> CampaignResult:
    """Do what is left to do."""
    dataset = (
        ingested(driver, plan) if plan.data is not None else simulate(driver, plan, site, retry_failed=retry_failed)
    )
    with driver.stopping.at_once():
        assemble(driver, plan, dataset)
    trained = learn(driver, plan, site, dataset, store.root)
    try:
        with driver.stopping.at_once():
            version = register(
                driver, plan, dataset, trained, registry=store, line=launch_line(plan, site, driver.workspace)
            )
            done = _finished(driver, plan, dataset, version, store)
            if done is not None:
                return done
            judged = judge(driver, plan, dataset, version, store)
            return _ending(driver, plan, dataset, judged, store)
    except InputError as error:
        raise after_work(error) from None


def _finished(driver: Driver, plan: Plan, dataset: Dataset, version: str, store: Registry) -> CampaignResult | None:
    """Return the result of an earlier call when nothing has changed since."""
    workspace = driver.workspace
    if driver.done(JUDGE_STAGE, judging_key(plan, dataset, version)) is None:
        return None
    if not workspace.verdict.is_file() or not workspace.report.is_file():
        return None
    try:
        verdict = Verdict.read(workspace.verdict)
    except IntegrityError as error:
        driver.progress.say(f"{error} The version is judged again.")
        return None
    if verdict.version != version:
        return None
    before = standing(plan, verdict, store)
    ending = conclude_again(driver, plan, verdict, store)
    if ending != before:
        renew_report(driver, plan, store)
    driver.progress.say("Everything was done before; nothing had to be repeated.")
    return CampaignResult(verdict, *ending, workspace.root, workspace.report, store.root)


def _ending(driver: Driver, plan: Plan, dataset: Dataset, judged: Judged, store: Registry) -> CampaignResult:
    """Promote or not, write the report and the verdict; the journal's last word comes when all of it is there."""
    ending = promote(plan, judged.verdict, store)
    driver.progress.stage("report")
    write_campaign_report(driver, plan, dataset, judged, store)
    conclude(driver, judged, judging_key(plan, dataset, judged.verdict.version))
    if ending.promoted:
        journal_promotion(driver, judged.verdict.version, store)
    return CampaignResult(judged.verdict, *ending, driver.workspace.root, driver.workspace.report, store.root)
