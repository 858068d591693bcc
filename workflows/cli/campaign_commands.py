"""`surrogate run|resume|status|validate|report|lineage`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workflows.cli import console
from workflows.cli.site_commands import Account
from workflows.cli.version_view import version_lines

if TYPE_CHECKING:
    from workflows.campaign import CampaignResult

GATE_FAILED = 3

_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
_Registry = Annotated[
    Path | None,
    typer.Option("--registry", metavar="DIR", help="The registry; else $SURROGATE_REGISTRY, else WORKDIR/registry."),
]
_Workdir = Annotated[Path, typer.Argument(metavar="WORKDIR", help="Working directory of a campaign.")]


def add_campaign_commands(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command("run")(_run)
    app.command("resume")(_resume)
    app.command("status")(_status)
    app.command("validate")(_validate)
    app.command("report")(_report)
    app.command("lineage")(_lineage)


def _run(
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A TOML file or the name of a built-in one.")],
    site: Annotated[str, typer.Option("--site", help="Name or TOML file of the machine.")] = "laptop",
    workdir: Annotated[
        Path | None,
        typer.Option(
            "--workdir", metavar="DIR", help="Working directory; else <campaign's name> in the site's scratch."
        ),
    ] = None,
    registry: _Registry = None,
    account: Account = None,
    as_json: _Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show launch lines, counts and an estimate; start nothing.")
    ] = False,
) -> None:
    """Run a campaign from its file to its verdict. In its own working directory it goes on where it stopped."""
    del account
    from site_configs.load import load_site
    from workflows import campaign as loop
    from workflows.config import load_campaign
    from workflows.dry_run import dry_run as look_ahead
    from workflows.manners import default_workdir

    described = load_campaign(campaign)
    beside = [described.file.parent] if described.file else []
    folder = workdir or default_workdir(load_site(site, beside), described.name)
    if workdir is None and described.file and folder.resolve() == described.file.parent.resolve():
        folder /= described.name  # named like the folder that it lies in, and started from above
    console.foretell(described)
    if dry_run:
        _show_plan(look_ahead(described, site, folder), as_json)
        return
    with console.progress(quiet=False) as progress:
        result = loop.run_campaign(described, site, folder, registry=registry, progress=progress)
    _end(result, as_json)


def _resume(
    workdir: _Workdir,
    site: Annotated[str | None, typer.Option("--site", help="Another machine than the last time.")] = None,
    registry: _Registry = None,
    account: Account = None,
    as_json: _Json = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Try the runs again that failed for good, once their cause is mended; not those whose result was "
            "not physical.",
        ),
    ] = False,
) -> None:
    """Go on with a campaign that was interrupted, whatever ended it."""
    del account
    from workflows import campaign as loop

    with console.progress() as progress:
        result = loop.resume_campaign(workdir, site, registry=registry, progress=progress, retry_failed=retry_failed)
    _end(result, as_json)


def _status(
    workdir: _Workdir,
    as_json: _Json = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on telling until nobody works on it any more; wait for it to begin.")
    ] = False,
    every: Annotated[float, typer.Option("--every", min=0.1, help="Seconds between two looks of --watch.")] = 1.0,
) -> None:
    """Tell how a campaign stands. With --watch: live on a terminal, else a line (with --json an object) a change."""
    from workflows.status import status
    from workflows.status_view import render
    from workflows.workspace import Workspace

    if watch:
        _watch(workdir.resolve(), as_json, every)
        return
    found = status(Workspace.open(workdir).root)
    if as_json:
        console.put_json(found.to_json())
        return
    console.put_drawn(render(found))


def _watch(workdir: Path, as_json: bool, every_s: float) -> None:
    """Tell how a campaign stands until nobody works on it."""
    import sys

    from workflows import status_watch

    status_watch.await_campaign(workdir, every_s, lambda sentence: typer.echo(sentence, err=True))
    if as_json:
        status_watch.watch_json(workdir, every_s, console.put)
    elif sys.stdout.isatty():
        status_watch.watch_live(workdir, every_s)
    else:
        status_watch.watch_lines(workdir, every_s, console.put)


def _validate(workdir: _Workdir, registry: _Registry = None, as_json: _Json = False) -> None:
    """Judge the surrogate again on its holdout; this counts as one more consultation."""
    from workflows import campaign as loop

    with console.progress() as progress:
        result = loop.validate_campaign(workdir, registry=registry, progress=progress)
    _end(result, as_json)


def _report(workdir: _Workdir, registry: _Registry = None, as_json: _Json = False) -> None:
    """Write the report of the last judging again and say where it is; the holdout is not consulted."""
    from workflows import campaign as loop

    with console.progress() as progress:
        path = loop.report_campaign(workdir, registry=registry, progress=progress)
    if as_json:
        console.put_json({"report": str(path)})
    else:
        console.put(str(path))


def _lineage(workdir: _Workdir, registry: _Registry = None, as_json: _Json = False) -> None:
    """Tell what the current surrogate was made from, and what it followed; with --json all that is known."""
    from surrogate.registry.reader import RegistryReader
    from surrogate.registry.store import resolve_registry
    from workflows.current import current_version
    from workflows.driver import reopen

    campaign, workspace = reopen(workdir)
    store = RegistryReader(resolve_registry(registry, workspace.root))
    known = store.list(campaign.name)
    version = store.current(campaign.name) or (
        known[-1].version if known else current_version(campaign, workspace, store)
    )
    steps = list(store.lineage(version, campaign.name))
    if as_json:
        console.put_json({"version": version, "lineage": steps})
        return
    for number, step in enumerate(steps):
        if number:
            console.put("")
        for line in version_lines(step):
            console.put(line)


def _show_plan(plan: dict[str, Any], as_json: bool) -> None:
    """Print what a campaign would do."""
    if as_json:
        console.put_json(plan)
        return
    splits = ", ".join(
        f"{count} {name} (at least {plan['minimum'].get(name, 0)})" for name, count in plan["splits"].items()
    )
    console.put(f"Campaign    {plan['campaign']} on site {plan['site']}, in {plan['workdir']}")
    if "samples" in plan:
        console.put(f"Data        {plan['samples']} samples that were ingested: {splits}")
    else:
        console.put(f"Simulator   {plan['simulator']} {plan['simulator_version']}")
        console.put(f"Runs        {plan['runs']}, {plan['at_once']} at once: {splits}")
        console.put(f"Estimate    {plan['estimate']}")
        console.put(f"Simulation  {plan['launch_lines']['simulate']}")
    console.put(f"Training    {plan['launch_lines']['train']}, {plan['members']} members")
    console.put(
        f"            of {plan['epochs']:,} epochs each, ended after {plan['training_ends_after']} (train.walltime_s)"
    )
    gate = ", ".join(f"{name} {bounds}" for name, bounds in plan["gate"].items())
    beats = f"; beats {', '.join(plan['beats'])}" if plan["beats"] else ""
    console.put(f"Gate        {gate}{beats}")
    console.put("Nothing was started.")


def _end(result: CampaignResult, as_json: bool) -> None:
    """Print the verdict and choose the exit code."""
    from surrogate.validation.comparison import better_baselines

    verdict = result.verdict
    if as_json:
        console.put_json(
            {
                "passed": verdict.passed,
                "promoted": result.promoted,
                "awaiting_approval": result.awaiting,
                "version": verdict.version,
                "dataset_hash": verdict.dataset_hash,
                "metrics": verdict.metrics,
                "verdict": verdict.to_json(),
                "workdir": str(result.workdir),
                "report": str(result.report),
                "registry": str(result.registry),
            }
        )
    else:
        console.put(("PASSED  " if verdict.passed else "FAILED  ") + verdict.sentence)
        for entry in verdict.evidence:
            state = "pass" if entry["passed"] else "FAIL"
            console.put(f"  {state}  {entry['sentence']}")
        better = better_baselines(verdict)
        if better:
            console.put(f"NOTE    {better}")
        waiting = "awaiting approval" if result.awaiting else "not promoted"
        promoted = "promoted" if result.promoted else waiting
        console.put(f"Version {verdict.version}, {promoted}, in {result.registry}")
        console.put(f"Report  {result.report}")
        if result.awaiting:
            console.put(
                "The campaign demands a person's word. Read the report, then: "
                f"surrogate promote {result.workdir} --approve NAME --note TEXT"
            )
    if not verdict.passed:
        raise typer.Exit(GATE_FAILED)
