"""What commands print: text for a person or one JSON object, and the progress that fits the terminal."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from workflows.progress import Bars, Lines, Progress, Silent


def put(text: str) -> None:
    """Print text to stdout."""
    typer.echo(text)


def put_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object to stdout."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False, default=str))


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
