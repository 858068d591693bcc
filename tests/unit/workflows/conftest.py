"""A journal's folder, and the hold on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from surrogate.core.lock import Lease


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[Lease]:
    with Lease.acquire(tmp_path / "lock", "surrogate run a.toml", background=False) as held:
        yield held


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"
