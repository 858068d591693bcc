"""The command line as it explains itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from workflows.cli.application import application

_WIDTH = 100


def command_pages() -> str:
    """Return a heading and the help of every command, in the order of `surrogate --help`."""
    root: Any = typer.main.get_command(application())
    lines: list[str] = []
    for path, words in _commands(root, "surrogate", None):
        lines += [f"## `{path}`", "", "```text", words.rstrip(), "```", ""]
    return "\n".join(lines)


def known_options() -> dict[str, frozenset[str]]:
    """Return the options of every command: `surrogate run` → `--site`, `--json` and so on."""
    root: Any = typer.main.get_command(application())
    return dict(_options(root, "surrogate"))


def _commands(command: Any, path: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.context_class(
        command, info_name=path.rpartition(" ")[2], parent=parent, terminal_width=_WIDTH, **command.context_settings
    )
    yield path, command.get_help(context)
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, f"{path} {name}", context)


def _options(command: Any, path: str) -> Iterator[tuple[str, frozenset[str]]]:
    names = [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]
    yield path, frozenset(name for name in names if name.startswith("-")) | {"-h", "--help", "--debug"}
    for name, child in getattr(command, "commands", {}).items():
        yield from _options(child, f"{path} {name}")
