"""`surrogate try`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workflows.cli import console

if TYPE_CHECKING:
    from workflows.trial import Trial

LONGEST = 60
FAILED = 1


def add_try_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("try")(_try)


def _try(
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A TOML file or the name of a built-in one.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="The point; the middle for what is left out."),
    ] = None,
    site: Annotated[str, typer.Option("--site", help="Name or TOML file of the machine.")] = "laptop",
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep what the run leaves, also when it succeeds.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Execute one run here and now, and show what was read of it; exit code 1 when it fails."""
    from surrogate.core.outcome import Success
    from workflows.config import load_campaign
    from workflows.trial import try_campaign

    trial = try_campaign(load_campaign(campaign), site, tuple(values or ()), keep=keep)
    if as_json:
        console.put_json(
            {
                "inputs": trial.inputs,
                "outside": trial.outside,
                **trial.outcome.to_json(),
                "outputs": list(trial.outputs),
                "estimate": trial.estimate,
                "folder": str(trial.folder) if trial.folder else None,
            }
        )
    else:
        _show(trial)
    if not isinstance(trial.outcome, Success):
        raise typer.Exit(FAILED)


def _short(value: object) -> str:
    """Return an input for one line; structures of atoms are long."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _show(trial: Trial) -> None:
    """Print a trial for a person."""
    from surrogate.core.outcome import Success

    outcome = trial.outcome
    console.put("Inputs   " + ", ".join(f"{name} = {_short(value)}" for name, value in trial.inputs.items()))
    if trial.outside is not None:
        console.put(f"Note     {trial.outside}, the campaign's bounds: no run of it is there")
    console.put("Started  " + (" ".join(outcome.launch_line) or "nothing"))
    if isinstance(outcome, Success):
        console.put(f"Took     {outcome.seconds:.2f} s")
        for line in trial.outputs:
            console.put(f"Output   {line}")
        console.put(f"All runs {trial.estimate}")
    else:
        console.put(f"FAILED   {outcome.kind.value}: {outcome.message} {outcome.remedy_text}".rstrip())
        last = str(outcome.details.get("tail", "")).strip().splitlines()[-8:]
        for line in last:
            console.put(f"         {line}")
    if trial.stale is not None:
        console.put(f"Note     {trial.stale}")
    if trial.folder is not None:
        console.put(f"Folder   {trial.folder}")
