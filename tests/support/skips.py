"""In continuous integration a skipped test is a failed one, unless what it wants cannot be installed there."""

from __future__ import annotations

import os
from collections.abc import Mapping

MOUNT = "Mounting is the right of root, and a container may lack it."
# Data that is not part of the repository, rival programs that live in an environment of their own, a right.
EXCUSED = ("SURROGATE_TEST_DATA", "peer", MOUNT)


def in_ci(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this is a run of continuous integration."""
    return environment.get("CI", "").lower() in {"1", "true", "yes"}


def verdict_on_skip(reason: str) -> str | None:
    """Return why a skip with this reason is a failure, or None when it is excused."""
    if any(word in reason for word in EXCUSED):
        return None
    cause = reason.removeprefix("Skipped: ")
    return f"Nothing may be skipped in continuous integration, and this was: {cause} `make ci-deps` must bring it."
