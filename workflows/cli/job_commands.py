"""`surrogate submit` and `surrogate cancel`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console
from workflows.cli.site_commands import Account

_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]


def add_job_commands(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command("submit")(_submit)
    app.command("cancel")(_cancel)


def _submit(
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A TOML file or the name of a built-in one.")],
    site: Annotated[str, typer.Option("--site", help="Name or TOML file of a machine with SLURM.")],
    workdir: Annotated[
        Path | None,
        typer.Option(
            "--workdir", metavar="DIR", help="Working directory; else <campaign's name> in the site's scratch."
        ),
    ] = None,
    registry: Annotated[
        Path | None, typer.Option("--registry", metavar="DIR", help="The registry; else as `surrogate run`.")
    ] = None,
    account: Account = None,
    as_json: _Json = False,
) -> None:
    """Submit the driver itself as a job; it submits its own successor until the campaign has its verdict."""
    del account
    from site_configs.load import load_site
    from workflows.config import load_campaign
    from workflows.manners import default_workdir
    from workflows.submit import submit_campaign

    described = load_campaign(campaign)
    beside = [described.file.parent] if described.file else []
    folder = workdir or default_workdir(load_site(site, beside), described.name)
    with console.progress() as progress:
        submitted = submit_campaign(described, site, folder, registry=registry, progress=progress)
    if as_json:
        console.put_json({"job": submitted.job, "workdir": str(submitted.workdir), "script": str(submitted.script)})
        return
    console.put(f"Job {submitted.job} drives the campaign in {submitted.workdir}; what it says is in its logs folder.")
    console.put(f"How it stands: surrogate status {folder}. To end all of it: surrogate cancel {folder}")


def _cancel(
    workdir: Annotated[Path, typer.Argument(metavar="WORKDIR", help="Working directory of a campaign.")],
    as_json: _Json = False,
) -> None:
    """End everything that belongs to a campaign, and nothing else; `surrogate resume` goes on from what is finished."""
    from workflows.cancel import cancel_campaign

    ended = cancel_campaign(workdir)
    if as_json:
        console.put_json({"jobs": list(ended.jobs), "driver": ended.driver, "processes": ended.processes})
        return
    parts = [f"{len(ended.jobs)} job{'' if len(ended.jobs) == 1 else 's'}"] if ended.jobs else []
    parts += [f"the driver (process {ended.driver})"] if ended.driver is not None else []
    parts += [f"{ended.processes} process{'' if ended.processes == 1 else 'es'}"] if ended.processes else []
    console.put(f"Ended: {', '.join(parts)}." if parts else "Nothing of this campaign was running.")
