"""Small campaigns of the scripted simulator, driven through the command line as a person would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

SMALL = """
schema_version = 1
name = "small"
seed = 3
[simulator]
name = "scripted"
[simulator.options]
ledger = "{ledger}"
seconds = {seconds}
{options}
[design]
runs = {runs}
[split]
tune = 0.2
holdout = 0.3
minimum = {{ train = 8, tune = 3, holdout = 5 }}
[resources]
ranks = 1
walltime = 60
[model]
members = {members}
[train]
epochs = {epochs}
ranks = {ranks}
batch_size = 32
[gate.metrics]
"{metric}" = {{ max = {limit} }}
"""

DEFAULTS: dict[str, Any] = {
    "seconds": 0.0, "options": "", "runs": 40, "members": 1, "epochs": 100, "ranks": 1,
    "metric": "relative_l2_median", "limit": 10.0,
}  # fmt: skip


def write_campaign(folder: Path, **values: Any) -> Path:
    """Write a small campaign; its ledger is `ledger.txt` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "small.toml"
    path.write_text(SMALL.format(ledger=folder / "ledger.txt", **{**DEFAULTS, **values}))
    return path


def command(*words: str | Path) -> list[str]:
    """Return the command line of `surrogate`."""
    return [sys.executable, "-m", "workflows.cli", *(str(word) for word in words)]


def surrogate(*words: str | Path, timeout_s: float = 240.0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `surrogate` to its end."""
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=timeout_s, check=False, env=dict(os.environ), **options
    )


def one_sentence(ended: subprocess.CompletedProcess[str]) -> str:
    """Return what a failed command said, after a check that it is one line of text without a traceback."""
    assert "Traceback" not in ended.stderr + ended.stdout
    lines = [line for line in ended.stderr.splitlines() if line.startswith("surrogate: ")]
    assert len(lines) == 1, ended.stderr
    assert lines[0].rstrip().endswith((".", ":", "`", ")")) or "surrogate resume" in lines[0], lines[0]
    return lines[0]


def executions(folder: Path) -> dict[str, list[str]]:
    """Return run id → `start` and `end` in the order in which they happened, from the ledger."""
    ledger = folder / "ledger.txt"
    found: dict[str, list[str]] = defaultdict(list)
    if ledger.is_file():
        for line in ledger.read_text().splitlines():
            run, _, what = line.split()
            found[run].append(what)
    return dict(found)


def json_of(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the one JSON object on stdout."""
    value: dict[str, Any] = json.loads(ended.stdout)
    return value
