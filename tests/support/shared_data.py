"""Public data that tests want and the repository does not hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shared_data(name: str) -> Path:
    """Return a file or folder of the test data; the test is skipped where there is none.

    Args:
        name: Its path below `$SURROGATE_TEST_DATA`, or below ../shared/data beside the repository.
    """
    base = Path(os.environ.get("SURROGATE_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not (base / name).exists():
        pytest.skip(f"{base / name} does not exist; SURROGATE_TEST_DATA names the folder of test data.")
    return base / name
