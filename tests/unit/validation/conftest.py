"""A trained toy surrogate, once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.data.split import SplitConfig
from surrogate.inference.predictor import Predictor
from surrogate.validation.validate import validate
from surrogate.validation.validation import Validation
from tests.support import toy_surrogate as toy


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write_artifact(tmp_path_factory.mktemp("toy") / "artifact", toy.table(80, seed=1), toy.table(30, seed=2))


@pytest.fixture(scope="session")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, family=toy.FAMILY)


class QuickFamily(toy.ToyFamily):
    """The toy family without the baseline that takes seconds."""

    baselines = ("nearest_neighbour",)


@pytest.fixture(scope="session")
def quick(trained: Path) -> Predictor:
    return Predictor.load(trained, family=QuickFamily())


@pytest.fixture(scope="session")
def split() -> SplitConfig:
    return SplitConfig("salt", 0.2, 0.25, {"train": 10, "tune": 10, "holdout": 10})


@pytest.fixture(scope="session")
def validation(predictor: Predictor, split: SplitConfig, tmp_path_factory: pytest.TempPathFactory) -> Validation:
    return validate(
        predictor,
        toy.ToyDataset.of(acquired=12),
        split,
        version="v1",
        holdout_record=tmp_path_factory.mktemp("looks") / "holdout.json",
        resamples=100,
    )
