"""The one form that all benchmarks have.

Progress goes to stderr. The last line of stdout is a JSON object with the figures, the peer's from the same run, the
ratio and the versions; the same object goes to docs/benchmarks/NAME.json. `python -m tests.benchmarks.form` renders
docs/benchmarks/README.md from those files.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
_START = time.monotonic()


@dataclass(frozen=True)
class Figure:
    """One figure of a benchmark.

    Attributes:
        value: A number, a text, a list of numbers (one entry a repeat or seed), or a mapping of such.
        unit: Its unit; `1` for a ratio.
        meaning: What it is and how it was measured, as a phrase.
    """

    value: Any
    unit: str
    meaning: str


def progress(words: str) -> None:
    """Say how far a benchmark is."""
    print(f"[{time.monotonic() - _START:7.1f} s] {words}", file=sys.stderr, flush=True)


def versions(*distributions: str) -> dict[str, str]:
    """Return the versions of Python, of this project and of further distributions; `absent` where there is none."""
    found = {"python": platform.python_version()}
    for name in ("surrogate-hpc", *distributions):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def machine() -> dict[str, Any]:
    """Return what the benchmark ran on."""
    from site_configs.machine import count_cores, count_memory_mib

    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cores": count_cores(),
        "memory_gib": round(count_memory_mib() / 1024, 1),
        "processor": model or platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
        # On a busy machine `chrt -r 1 make bench-NAME` keeps the others out of the figures.
        "scheduling": "real-time" if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO) else "usual",
    }


def publish(
    name: str,
    title: str,
    figures: Mapping[str, Figure],
    *,
    how: str,
    target: str = "",
    distributions: Sequence[str] = (),
    on: Mapping[str, Any] | None = None,
    details: Mapping[str, Any] | None = None,
    folder: Path = FOLDER,
) -> dict[str, Any]:
    """Write a benchmark's file and its last line.

    Args:
        name: NAME of `make bench-NAME`.
        title: What was compared, as a title.
        figures: Key → figure; the keys are those of the JSON object.
        how: How it was measured, what is on each side; Markdown.
        target: What was aimed at, as a phrase.
        distributions: Distributions whose versions matter.
        on: `machine()` as it was before the benchmark; now when None.
        details: Key → what else the JSON object holds; the page does not show it.
        folder: Where the file goes.

    Returns:
        The JSON object.
    """
    record: dict[str, Any] = {
        "name": name,
        "title": title,
        **{key: figure.value for key, figure in figures.items()},
        "versions": versions(*distributions),
        "units": {key: figure.unit for key, figure in figures.items()},
        "meanings": {key: figure.meaning for key, figure in figures.items()},
        "how": how,
        "target": target,
        "machine": dict(on) if on is not None else machine(),
        "measured_on": time.strftime("%Y-%m-%d"),
        **(details or {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    beside = folder / f".{name}.part"
    beside.write_text(text, encoding="utf-8")
    beside.replace(folder / f"{name}.json")
    progress(f"{folder / (name + '.json')} is written")
    print(json.dumps(record, ensure_ascii=False, allow_nan=False), flush=True)
    return record


def render(folder: Path = FOLDER) -> str:
    """Return the page of all benchmarks, in Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "This page is made from the JSON files beside it (`python -m tests.benchmarks.form`). Each was written by",
        "`make bench-NAME`, with the peer's figure from the same run on the same machine.",
    ]
    for path in sorted(folder.glob("*.json")):
        lines += ["", *_section(json.loads(path.read_text(encoding="utf-8")))]
    return "\n".join(lines) + "\n"


def _section(record: Mapping[str, Any]) -> list[str]:
    """Return one benchmark's part of the page."""
    lines = [f"## {record['title']} (`make bench-{record['name']}`)", ""]
    lines += ["| figure | value | unit | what it is |", "|---|---|---|---|"]
    for key, unit in record["units"].items():
        lines.append(f"| `{key}` | {_shown(record[key])} | {unit} | {record['meanings'][key]} |")
    if record["target"]:
        lines += ["", f"Target: {record['target']}"]
    lines += ["", record["how"].strip(), ""]
    place = record["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    lines.append(
        f"Measured on {record['measured_on']}: {place['processor']}, {place['cores']} cores, "
        f"{place['memory_gib']} GiB, {place['system']}, load {place['load_before']} before, "
        f"{place.get('scheduling', 'usual')} scheduling. {packages}."
    )
    return lines


def _shown(value: Any) -> str:
    """Return a figure as it stands in a table."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(one)}" for key, one in value.items())
    return str(value)


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(render(), encoding="utf-8")
    progress(f"{FOLDER / 'README.md'} is rendered")
