"""What commands print: text for a person or one JSON object, and the progress that fits the terminal."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from workflows.progress import Bars, Lines, Progress, Silent

if TYPE_CHECKING:
    from workflows.config import CampaignConfig

_MANY_RUNS = 50_000
"""Runs whose planning takes seconds."""


def put(text: str) -> None:
    """Print text to stdout; whoever reads it may have had enough (`| head`), and the command ends as it would."""
    try:
        typer.echo(text)
    except BrokenPipeError:
        _nobody_reads()


def put_drawn(drawn: Any) -> None:
    """Print what rich draws to stdout, as `put` prints text."""
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            _nobody_reads()

    Patient().print(drawn)


def _nobody_reads() -> None:
    """Let go of a pipe that was closed at its other end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def put_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object to stdout; a number that is not finite, for which JSON has no word, becomes null."""
    put(json.dumps(_finite(value), indent=2, allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    """Return a value with None for every number that is not finite."""
    if isinstance(value, Mapping):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def foretell(campaign: CampaignConfig) -> None:
    """Say on stderr that working out a campaign's runs takes a while, where it does."""
    runs = campaign.design.runs if campaign.design is not None else None
    if runs is not None and runs >= _MANY_RUNS:
        typer.echo(f"Working out {runs:,} runs; that takes about a minute for each million of them …", err=True)


@contextlib.contextmanager
def progress(quiet: bool = False) -> Iterator[Progress]:
    """Give bars on a terminal, plain lines elsewhere, or silence."""
    if quiet:
        yield Silent()
    elif sys.stderr.isatty():
        with Bars() as bars:
            yield bars
    else:
        yield Lines()
