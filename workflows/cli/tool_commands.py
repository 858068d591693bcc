"""`surrogate doctor`, `surrogate schema`, `surrogate build-horovod`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workflows.cli import console


def add_tool_commands(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command("doctor")(_doctor)
    app.command("schema")(_schema)
    app.command("build-horovod")(_build_horovod)


def _doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Check this environment: MPI, Horovod, TensorFlow, HDF5, cores, disk; exit code 1 when a check fails."""
    from workflows import doctor

    checks = doctor.checks()
    if as_json:
        console.put_json({"checks": [{"name": c.name, "state": c.state, "sentence": c.sentence} for c in checks]})
    else:
        doctor.render(checks)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def _schema() -> None:
    """Print the JSON Schema of campaign files."""
    from workflows.config import campaign_json_schema

    console.put_json(campaign_json_schema())


def _build_horovod(
    nccl: Annotated[bool, typer.Option("--nccl", help="Build for GPUs with NCCL.")] = False,
    offline: Annotated[
        Path | None, typer.Option("--offline", metavar="WHEELHOUSE", help="Folder with the source archive and wheels.")
    ] = None,
) -> None:
    """Build Horovod for this Python, TensorFlow and MPI, keep the wheel, and install it."""
    from workflows.horovod_build import build_horovod

    wheel = build_horovod(nccl=nccl, offline=offline, report=lambda line: typer.echo(line, err=True))
    console.put(f"Horovod is installed from {wheel}.")
