"""`surrogate registry list|show|rollback|import-ani`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console
from workflows.cli.version_view import version_lines

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_ROOT = Annotated[
    Path | None, typer.Option("--registry", help="The registry; else $SURROGATE_REGISTRY, else WORKDIR/registry.")
]
_WORKDIR = Annotated[Path | None, typer.Option("--workdir", help="Working directory whose registry is meant.")]


def registry_commands() -> typer.Typer:
    """Return the `registry` commands."""
    app = typer.Typer(help="Versions of surrogates with their lineage.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(_list)
    app.command("show")(_show)
    app.command("rollback")(_rollback)
    app.command("import-ani")(_import_ani)
    return app


def _list(workdir: _WORKDIR = None, registry: _ROOT = None, as_json: _JSON = False) -> None:
    """List versions; the current one of each campaign is marked."""
    from surrogate.registry.reader import RegistryReader
    from surrogate.registry.store import resolve_registry

    store = RegistryReader(resolve_registry(registry, workdir))
    versions = store.list()
    if as_json:
        console.put_json({"registry": str(store.root), "versions": [asdict(entry) for entry in versions]})
        return
    if not versions:
        console.put(f"The registry {store.root} is empty.")
    for entry in versions:
        mark = "*" if entry.state == "current" else " "
        console.put(f"{mark} {entry.version}  {entry.campaign:<24} {entry.state:<10} {entry.at}")


def _show(version: str, workdir: _WORKDIR = None, registry: _ROOT = None, as_json: _JSON = False) -> None:
    """Show a version and its history; 4 letters of its name are enough. With --json all that is known."""
    from surrogate.registry.reader import RegistryReader
    from surrogate.registry.store import resolve_registry

    record = RegistryReader(resolve_registry(registry, workdir)).show(version)
    if as_json:
        console.put_json(record)
        return
    for line in version_lines(record):
        console.put(line)


def _rollback(
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Name of the campaign.")],
    to: Annotated[str | None, typer.Option("--to", help="A version promoted earlier; else the one before.")] = None,
    note: Annotated[str, typer.Option("--note", help="Why; kept in the history.")] = "",
    workdir: _WORKDIR = None,
    registry: _ROOT = None,
    as_json: _JSON = False,
) -> None:
    """Make an earlier promoted version current again."""
    from surrogate.registry.store import Registry, resolve_registry

    store = Registry(resolve_registry(registry, workdir))
    entry = store.rollback(campaign, to, note=note)
    if as_json:
        console.put_json({"campaign": campaign, "current": entry.version})
    else:
        console.put(f"Version {entry.version} of '{campaign}' is current again.")


def _import_ani(
    wheel: Annotated[
        Path, typer.Argument(metavar="WHEEL", help="Wheel of torchani 2.2.4, or a zip archive with such folders.")
    ],
    potential: Annotated[str, typer.Option("--potential", help="Folder of the potential in it.")] = "ani-1x_8x",
    name: Annotated[str, typer.Option("--name", help="Campaign under which the version is kept.")] = "ani-1x",
    workdir: _WORKDIR = None,
    registry: _ROOT = None,
    as_json: _JSON = False,
) -> None:
    """Take the published networks of an ANI potential as a version; nothing of the wheel is executed."""
    from workflows.published import import_published

    found = import_published(wheel, potential, name, registry, workdir)
    if as_json:
        console.put_json(found)
        return
    console.put(f"Version {found['version']} of '{name}' holds the {found['members']} networks of {potential}.")
    console.put(f"Its files: {found['artifact']}")
