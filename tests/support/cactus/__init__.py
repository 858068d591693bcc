"""A stand-in for the Einstein Toolkit, and options that run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surrogate.design.parameters import Parameter, ParameterSpace

FOLDER = Path(__file__).parent
SPACE = ParameterSpace((Parameter("mass_ratio", 1.0, 2.0),))


def standin(per_restart: float = 2000.0, **changes: Any) -> dict[str, Any]:
    """Return options of the stand-in, with absolute paths.

    Args:
        per_restart: Simulated time after which it stops and wants to be restarted.
        changes: Of the options.
    """
    options: dict[str, Any] = {
        "command": [str(FOLDER / "standin")],
        "parfile": str(FOLDER / "standin.par"),
        "values": {"per_restart": per_restart},
        "before": 300.0,
        "after": 60.0,
        "junk": 50.0,
    }
    return {**options, **changes}
