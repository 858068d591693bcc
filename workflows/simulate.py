"""Simulating and assembling as stages of a campaign: the ensemble, the dataset, its card."""

from __future__ import annotations

from site_configs.shape import shape_of
from site_configs.site import Site
from surrogate.core.errors import Interrupted
from surrogate.core.files import write_json
from surrogate.core.outcome import FailureKind
from surrogate.data.card import build_card
from surrogate.data.dataset import Dataset
from surrogate.data.quarantine import Refused
from workflows.driver import Driver
from workflows.ensemble import run_ensemble
from workflows.ensemble_records import Counts
from workflows.existing_data import superseded
from workflows.journal_records import Run, RunStatus
from workflows.plan import Plan, check_continues
from workflows.reconcile import open_dataset, plan_runs
from workflows.shortfall import ASSEMBLE, Simulated, check_share, check_splits

STAGE = "simulate"


def simulate(driver: Driver, plan: Plan, site: Site, *, retry_failed: bool = False) -> Dataset:
    """Bring every run of the plan to its end and open the dataset that holds what they gave.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        site: Where to simulate.
        retry_failed: Whether runs that failed for good begin anew; what was not physical never does.

    Raises:
        ConfigError: If the plan does not continue what was planned in this working directory.
        ResourceError: If the site can never execute a run.
        Interrupted: If somebody asked to stop.
        DataError: If more runs failed than the campaign allows.
    """
    journal, workspace, campaign = driver.journal, driver.workspace, plan.campaign
    shape_of(site, "simulate", [campaign.resources.request()])
    known = journal.state.runs
    check_continues(
        plan, [{"run_id": r.run_id, "inputs": r.inputs, "stratum": r.stratum} for r in known.values()], workspace.root
    )
    plan_runs(driver, [run.record() for run in plan.runs if run.request.run_id not in known])
    writer, lost = open_dataset(driver, plan)
    key = plan.identity + f":{len(plan.runs)}"
    again = _failed(driver, plan) if retry_failed else []
    if lost or again or driver.done(STAGE, key) is None:
        driver.begin(STAGE, key)
        _begin_anew(driver, again)
        driver.progress.stage("simulate", len(plan.runs))
        result = run_ensemble(
            plan.requests,
            workdir=workspace.root,
            site=site,
            campaign=journal.uid,
            schema=plan.schema,
            journal=journal,
            dataset_writer=writer,
            budgets=campaign.failures.budgets(),
            known=known,
            keep=campaign.failures.keep,
            progress=lambda counts: _watch(driver, plan, counts),
            stop=driver.stopping.event,
            drain=driver.stopping.draining,
        )
        if result.interrupted:
            raise Interrupted("The simulations were interrupted.")
        driver.finish(STAGE, key, {"executed": result.counts.executed, "node_seconds": result.node_seconds})
    dataset = Dataset.open(workspace.dataset, verify="hash")
    check_share(driver, plan, spent(driver, plan), dataset.counts(plan.splits))
    _tell_of_failures(driver, plan)
    return dataset


def _failed(driver: Driver, plan: Plan) -> list[str]:
    """Return the runs of the plan that failed and that were asked to begin anew, and say so when there are none."""
    known = driver.journal.state.runs
    failed = [one.run_id for one in plan.requests if known[one.run_id].status is RunStatus.FAILED]
    if not failed:
        driver.progress.say("No run has failed for good, so that there is none to try again.")
    return failed


def _begin_anew(driver: Driver, failed: list[str]) -> None:
    """Journal durably, together with the begin of the stage, that failed runs begin anew."""
    if failed:
        driver.journal.append({"event": "runs.retried", "runs": failed})
        driver.journal.commit()
        driver.progress.say(f"{len(failed)} runs that had failed are tried again.")


def _tell_of_failures(driver: Driver, plan: Plan) -> None:
    """Say how runs that failed for good can be tried again."""
    failed = len(spent(driver, plan).failures)
    if failed:
        driver.progress.say(
            f"{failed} of {len(plan.runs)} runs failed for good and are missing in the data. When their cause is "
            f"mended, they can be tried again: surrogate resume {driver.workspace.root} --retry-failed"
        )


def spent(driver: Driver, plan: Plan) -> Simulated:
    """Return what the data cost and which of them were refused, from the journal."""
    known = driver.journal.state.runs
    if plan.data is None:
        runs = [known[run.request.run_id] for run in plan.runs if run.request.run_id in known]
    else:
        replaced = superseded(driver)
        runs = [run for run in known.values() if run.run_id not in replaced]
    done = [run for run in runs if run.status in (RunStatus.DONE, RunStatus.PACKED)]
    nodes = plan.campaign.resources.request().nodes
    return Simulated(
        node_seconds=sum(run.seconds for run in runs) * nodes,
        seconds=tuple(run.seconds / max(run.samples, 1) for run in done),
        failures=_refused(runs, RunStatus.FAILED),
        quarantined=_refused(runs, RunStatus.QUARANTINED),
    )


def assemble(driver: Driver, plan: Plan, dataset: Dataset) -> dict[str, object]:
    """Check the splits of what was admitted and write the data card.

    Raises:
        SplitError: If a split has fewer samples than its minimum.
        IntegrityError: If a shard cannot be read.
    """
    splits = plan.splits
    cost = spent(driver, plan)
    check_splits(driver, plan, cost, dataset.counts(splits))
    driver.progress.stage(ASSEMBLE)
    driver.begin(ASSEMBLE, dataset.hash)
    card = build_card(
        dataset,
        splits,
        cost.failures,
        cost.quarantined,
        space=plan.space,
        intended_use=plan.campaign.intended_use,
        known_gaps=plan.campaign.card.known_gaps,
        admitted=None if plan.data is None else len(dataset),
    )
    write_json(driver.workspace.card, card)
    for warning in card.get("warnings", ()):
        driver.progress.say(str(warning))
    driver.finish(ASSEMBLE, dataset.hash, {"dataset_hash": dataset.hash, "samples": len(dataset)})
    return card


def _refused(runs: list[Run], status: RunStatus) -> tuple[Refused, ...]:
    """Return the runs that ended in `status`, as the data card takes them."""
    return tuple(
        Refused(run.run_id, FailureKind(run.failure.kind), run.failure.message, run.inputs, run.failure.log)
        for run in runs
        if run.status is status and run.failure is not None
    )


def _watch(driver: Driver, plan: Plan, counts: Counts) -> None:
    """Tell how far the ensemble is, and end it when more runs gave nothing than may in the end.

    Raises:
        DataError: If so; what was not started yet would not change that.
    """
    refused = counts.failed + counts.quarantined
    driver.progress.update(counts.finished + refused, _note(counts))
    if refused > plan.campaign.failures.allowed_share * len(plan.runs):
        check_share(driver, plan, spent(driver, plan), ended=counts.finished + refused)


def _note(counts: Counts) -> str:
    """Return what a person wants to know beside the bar."""
    parts = [f"{counts.failed} failed"] if counts.failed else []
    parts += [f"{counts.quarantined} quarantined"] if counts.quarantined else []
    parts += [f"{counts.losses} lost and run again"] if counts.losses else []
    return ", ".join(parts)
