"""Any executable, described in the campaign file alone: command, templates, files, outputs, errors.

The adapter is loaded when `SIMULATOR` is first asked for: its models cost more to import than many a run needs.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Load the adapter when it is first asked for."""
    if name == "SIMULATOR":
        from sim_wrappers.external.adapter import SIMULATOR

        return SIMULATOR
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
