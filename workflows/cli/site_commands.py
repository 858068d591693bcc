"""`surrogate site list|show|check`."""

from __future__ import annotations

from typing import Annotated

import typer

from workflows.cli import console

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def site_commands() -> typer.Typer:
    """Return the `site` commands."""
    app = typer.Typer(help="Machines that campaigns can run on.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(_list)
    app.command("show")(_show)
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


def _check(site: str, as_json: _JSON = False) -> None:
    """Prove that a site works: the launcher starts ranks that see each other, and so on."""
    from workflows.site_check import check_site

    checks = check_site(site)
    if as_json:
        console.put_json({"checks": [{"name": c.name, "state": c.state, "sentence": c.sentence} for c in checks]})
    else:
        from workflows.doctor import render

        render(checks)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)
