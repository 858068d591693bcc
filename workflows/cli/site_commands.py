"""`surrogate site list|show|new|render|check`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _use_account(name: str | None) -> str | None:
    """Let every site that is read charge this account; jobs that a job submits inherit it."""
    if name:
        from site_configs.site import ACCOUNT_VARIABLE

        os.environ[ACCOUNT_VARIABLE] = name
    return name


Account = Annotated[
    str | None,
    typer.Option(
        "--account", metavar="NAME", callback=_use_account, help="Account that jobs are charged to; else the site's."
    ),
]


def site_commands() -> typer.Typer:
    """Return the `site` commands."""
    app = typer.Typer(help="Machines that campaigns can run on.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(_list)
    app.command("show")(_show)
    app.command("new")(_new)
    app.command("render")(_render)
    app.command("check")(_check)
    return app


def _list(as_json: _JSON = False) -> None:
    """List the sites that are known."""
    from site_configs.load import available_sites

    sites = available_sites()
    if as_json:
        console.put_json({"sites": [{"name": name, "file": str(path)} for name, path in sites.items()]})
        return
    width = max(len(name) for name in sites)
    for name, path in sites.items():
        console.put(f"{name:<{width}}  {path}")


def _show(site: str, as_json: _JSON = False) -> None:
    """Show a site as it is understood here."""
    from site_configs.load import load_site

    found = load_site(site)
    if as_json:
        console.put_json(found.model_dump(mode="json"))
        return
    for key, value in found.model_dump(mode="json").items():
        console.put(f"{key:<14} {value}")


def _new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new site.")],
    from_cluster: Annotated[
        bool, typer.Option("--from-cluster", help="Draft it from what sinfo and scontrol say of this cluster.")
    ] = False,
    extends: Annotated[
        str | None, typer.Option("--extends", metavar="SITE", help="Lay it over a site that is known.")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", metavar="NAME", help="Account that its jobs are charged to.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="The file; else in your own folder of sites.")
    ] = None,
) -> None:
    """Write a site of your own, to be read and corrected."""
    from workflows.site_new import new_site

    path = new_site(name, from_cluster=from_cluster, extends=extends, account=account, output=output)
    console.put(f"{path}\nRead it, correct it, and try it: surrogate site check {name if output is None else path}")


def _render(
    site: Annotated[str, typer.Argument(metavar="SITE", help="Name or TOML file of the machine.")],
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A TOML file or the name of a built-in one.")],
    workdir: Annotated[
        Path | None,
        typer.Option("--workdir", metavar="DIR", help="Working directory; else <name> in the site's scratch."),
    ] = None,
    account: Account = None,
) -> None:
    """Print the batch scripts and launch lines that a campaign would have there; nothing is submitted."""
    del account
    from site_configs.load import load_site
    from workflows.checked_plan import plan_campaign
    from workflows.config import load_campaign
    from workflows.site_render import render_site

    described = load_campaign(campaign)
    found = load_site(site, [described.file.parent] if described.file else [])
    folder = (workdir or Path(found.folder("scratch") or ".") / described.name).absolute()
    console.put(render_site(found, plan_campaign(described, folder), folder).rstrip("\n"))


def _check(
    site: Annotated[str, typer.Argument(metavar="SITE", help="Name or TOML file of the machine.")],
    workdir: Annotated[
        Path | None, typer.Option("--workdir", metavar="DIR", help="Where campaigns would live; else the scratch.")
    ] = None,
    training: Annotated[
        bool, typer.Option("--training/--no-training", help="Try the partition of the training, and Horovod, too.")
    ] = True,
    patience: Annotated[
        float, typer.Option("--patience", metavar="SECONDS", min=1.0, help="How long a job may wait and run.")
    ] = 600.0,
    account: Account = None,
    as_json: _JSON = False,
) -> None:
    """Prove that a site works: one small job in each partition that is used, and a sentence for what must change."""
    del account
    from workflows.site_check import check_site

    with console.progress() as progress:
        checks = check_site(site, workdir, training=training, patience_s=patience, tell=progress.say)
    if as_json:
        console.put_json({"checks": [{"name": c.name, "state": c.state, "sentence": c.sentence} for c in checks]})
    else:
        from workflows.doctor import render

        render(checks)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)
