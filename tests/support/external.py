"""A small program that a campaign describes, for tests of the simulator `external`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surrogate.design.parameters import Parameter, ParameterSpace

FOLDER = Path(__file__).parent / "decay"

SPACE = ParameterSpace((Parameter("rate", 0.1, 1.0, unit="1/s"), Parameter("amount", 1.0, 5.0, unit="mol")))


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
