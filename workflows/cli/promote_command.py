"""`surrogate promote`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console


def add_promote_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("promote")(_promote)


def _promote(
    workdir: Annotated[Path, typer.Argument(metavar="WORKDIR", help="Working directory of a campaign.")],
    version: Annotated[
        str | None, typer.Option("--version-id", help="A version; else the one that was judged last.")
    ] = None,
    approve: Annotated[
        str, typer.Option("--approve", metavar="NAME", help="Who gives the word; kept in the history.")
    ] = "",
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; kept in the history.")] = "",
    registry: Annotated[
        Path | None, typer.Option("--registry", metavar="DIR", help="The registry; else as `surrogate run`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Make a version current that has passed its gate, on a person's word where the campaign demands one."""
    from workflows.approval import approve as give_word

    with console.progress() as progress:
        done = give_word(workdir, version, approved_by=approve, note=note, registry=registry, progress=progress)
    if as_json:
        console.put_json(asdict(done))
        return
    word = f", approved by {done.approved_by}" if done.approved_by else ""
    kept = "; the word is in its history" if done.approved_by or done.note else ""
    state = "is current now" if done.moved else f"was current already{kept}"
    console.put(f"Version {done.version} of '{done.campaign}' {state}{word}, in {done.registry}")
