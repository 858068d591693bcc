"""What a person is shown of a version: a few lines; everything else is in `--json` and in the version's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_WIDTH = 16


def version_lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that describe a version.

    Args:
        shown: As `surrogate.registry.reader.RegistryReader.show` or one step of its `lineage` returned it.
    """
    if shown.get("missing"):
        yield _line("version", f"{shown['version']}, which is not in this registry")
        return
    record = shown["record"]
    yield _line("campaign", shown["campaign"])
    yield _line("version", shown["version"])
    yield _line("state", shown["state"])
    yield _line("family", record["family"])
    yield _line("dataset", record["dataset_hash"])
    yield _line("runs", f"{record['runs']['count']:,}, listed in {record['runs']['file']}")
    for name, version in record["code"].items():
        yield _line("code", f"{name} {version}")
    for line in record["launch_lines"]:
        yield _line("started by", line)
    if record["parent"]:
        yield _line("follows", record["parent"])
    verdict = shown["verdict"]
    yield _line("verdict", verdict["sentence"] if verdict is not None else "not judged")
    for event in shown["events"]:
        yield _line("history", _event(event))
    yield _line("folder", shown["path"])


def _event(event: Mapping[str, Any]) -> str:
    """Return an event in a line."""
    word = f", approved by {event['approved_by']}" if event["approved_by"] else ""
    note = f": {event['note']}" if event["note"] else ""
    return f"{event['at']} {event['event'].replace('_', ' ')} by {event['by']}{word}{note}"


def _line(key: str, value: object) -> str:
    return f"{key:<{_WIDTH}} {value}"
