"""Artifacts, once a session, and an empty registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.registry.store import Registry
from tests.support import toy_surrogate as toy


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("artifacts")
    return [
        toy.write_artifact(
            folder / f"a{degree}", toy.table(40, seed=1), toy.table(20, seed=2), degree=degree, members=2
        )
        for degree in (1, 2, 3)
    ]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry")
