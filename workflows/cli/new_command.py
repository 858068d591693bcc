"""`surrogate new`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console


def add_new_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("new")(_new)


def _new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make; it must not exist yet, or be empty.")],
    template: Annotated[
        str, typer.Option("--template", help="python-mpi, fortran-mpi or shell: what the program is written in.")
    ] = "python-mpi",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Make a campaign that runs as it is, with a small program of its own, to be changed into yours."""
    from workflows.new import new_campaign

    made = new_campaign(folder, template, report=lambda line: typer.echo(line, err=True))
    shown = os.path.relpath(made.folder)
    place = shown if not shown.startswith("-") else f"./{shown}"
    commands = [
        f"cd {shlex.quote(place)}",
        "surrogate try campaign.toml",
        "surrogate run campaign.toml",
        f"surrogate predict {made.name} {' '.join(made.example)}",
    ]
    if as_json:
        console.put_json({"folder": str(made.folder), "name": made.name, "template": template, "commands": commands})
        return
    console.put(f"A campaign is in {shown}; README.md there says what to change. Run it, then ask it:")
    for command in commands:
        console.put(f"  {command}")
