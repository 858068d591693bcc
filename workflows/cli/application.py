"""The tree of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from surrogate import __version__
from workflows.cli import campaign_commands, predict_command, registry_commands, site_commands, tool_commands


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"surrogate {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Turn an expensive simulation into a fast surrogate that has earned its trust.

    Exit codes: 0 done and promoted; 3 done, gate failed; 2 bad input; 1 another failure; 130 interrupted.
    `--debug`, anywhere on the line, prints the traceback of an error.
    """


def application() -> typer.Typer:
    """Return the command line with all its commands."""
    app = typer.Typer(
        name="surrogate",
        callback=_root,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    campaign_commands.register(app)
    predict_command.register(app)
    app.add_typer(registry_commands.commands(), name="registry")
    app.add_typer(site_commands.commands(), name="site")
    tool_commands.register(app)
    return app
