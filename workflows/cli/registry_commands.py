"""`surrogate registry list|show|rollback`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_ROOT = Annotated[
    Path | None, typer.Option("--registry", help="The registry; else $SURROGATE_REGISTRY, else WORKDIR/registry.")
]
_WORKDIR = Annotated[Path | None, typer.Option("--workdir", help="Working directory whose registry is meant.")]


def commands() -> typer.Typer:
    """Return the `registry` commands."""
    app = typer.Typer(help="Versions of surrogates with their lineage.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(_list)
    app.command("show")(_show)
    app.command("rollback")(_rollback)
    return app
