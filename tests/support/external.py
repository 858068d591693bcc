"""A small program that a campaign describes, for tests of the simulator `external`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surrogate.design.parameters import Parameter, ParameterSpace

FOLDER = Path(__file__).parent / "decay"

SPACE = ParameterSpace((Parameter("rate", 0.1, 1.0, unit="1/s"), Parameter("amount", 1.0, 5.0, unit="mol")))

CAMPAIGN = """
schema_version = 1
name = "decay"
simulator.name = "external"
inputs.rate = { low = 0.1, high = 1.0, unit = "1/s" }
inputs.amount = { low = 1.0, high = 5.0, unit = "mol" }
design.runs = 64
gate.metrics.relative_l2_median.max = 0.5

[simulator.options]
command = ["awk", "-f", "decay.awk"]
stdin = "case.txt"
files = ["decay.awk"]
template = [{ source = "case.txt.in", target = "case.txt" }]
values.steps = 4
coordinates.t = { start = 0.0, stop = 4.0, count = 5, unit = "s" }
outputs.left = { file = "curve.txt", column = 2, dims = ["t"], unit = "mol" }
"""
"""A campaign file for a copy of `FOLDER`."""


def decay(**changes: Any) -> dict[str, Any]:
    """Return options of the decay program, complete with absolute paths, with changes."""
    options: dict[str, Any] = {
        "command": ["awk", "-f", "decay.awk"],
        "stdin": "case.txt",
        "files": [{"source": str(FOLDER / "decay.awk")}],
        "template": [{"source": str(FOLDER / "case.txt.in"), "target": "case.txt"}],
        "values": {"steps": 4},
        "end_marker": "DECAY: done",
        "coordinates": {"t": {"start": 0.0, "stop": 4.0, "count": 5, "unit": "s"}},
        "outputs": {
            "left": {"file": "curve.txt", "column": 2, "dims": ["t"], "unit": "mol", "low": 0.0, "high": 5.0},
            "half": {"pattern": r"half-life = (\S+)", "unit": "s", "low": 0.0},
        },
    }
    return {**options, **changes}
