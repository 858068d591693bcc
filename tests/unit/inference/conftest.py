"""A trained toy surrogate, once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.inference.predictor import Predictor
from tests.support import toy_surrogate as toy


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write_artifact(tmp_path_factory.mktemp("toy") / "artifact", toy.table(80, seed=1), toy.table(30, seed=2))


@pytest.fixture
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, family=toy.FAMILY)
