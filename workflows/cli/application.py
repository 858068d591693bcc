"""The tree of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from surrogate import __version__
from workflows.cli.campaign_commands import add_campaign_commands
from workflows.cli.detect_command import add_detect_command
from workflows.cli.ingest_command import add_ingest_command
from workflows.cli.inject_command import add_inject_command
from workflows.cli.job_commands import add_job_commands
from workflows.cli.new_command import add_new_command
from workflows.cli.predict_command import add_predict_command
from workflows.cli.promote_command import add_promote_command
from workflows.cli.registry_commands import registry_commands
from workflows.cli.site_commands import site_commands
from workflows.cli.tool_commands import add_tool_commands
from workflows.cli.try_command import add_try_command


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

    Exit codes: 0 done and promoted, or passed and awaiting a person's approval; 3 done, gate failed; 2 bad input;
    1 another failure; 130 interrupted.
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
    add_new_command(app)
    add_try_command(app)
    add_campaign_commands(app)
    add_job_commands(app)
    add_ingest_command(app)
    add_inject_command(app)
    add_predict_command(app)
    add_detect_command(app)
    add_promote_command(app)
    app.add_typer(registry_commands(), name="registry")
    app.add_typer(site_commands(), name="site")
    add_tool_commands(app)
    return app
