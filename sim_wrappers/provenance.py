"""How a run came to be, as its run file and its shard keep it; none of it enters the dataset's hash."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sim_wrappers.protocol import RunRequest


def provenance(
    request: RunRequest,
    version: str,
    launch_line: Sequence[str],
    *,
    began: datetime,
    seconds: float | None,
    notes: Any,
) -> dict[str, Any]:
    """Return the facts of one execution; JSON-ready.

    Args:
        request: What was asked.
        version: Version of the simulation code.
        launch_line: What was started.
        began: When the execution began, with its time zone.
        seconds: Wall-clock seconds of the program.
        notes: What the adapter has to say of the run.
    """
    return {
        "run_id": request.run_id,
        "simulator": request.simulator,
        "simulator_version": version,
        "options": request.options,
        "inputs": request.inputs,
        "seed": request.seed,
        "attempt": request.attempt,
        "remedies": list(request.remedies),
        "resources": asdict(request.resources),
        "launch_line": list(launch_line),
        "host": platform.node(),
        "began": began.isoformat(),
        "seconds": seconds,
        "notes": notes,
    }
