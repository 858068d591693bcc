"""Nothing assumes regression on fixed shapes: a classifier over ragged sequences goes the whole way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surrogate.core.identity import run_id
from surrogate.core.schema import Ragged
from surrogate.data.admission import admit
from surrogate.data.dataset import Dataset, DatasetWriter
from surrogate.data.run_file import write_run_file
from surrogate.inference.predictor import Predictor
from surrogate.models import catalog
from surrogate.registry.record import Lineage
from surrogate.registry.store import Registry
from surrogate.validation.gate import Gate
from surrogate.validation.validate import validate
from tests.support.sequence_family import SCHEMA, install, samples
from tests.support.trainings import SPLIT, record, run_training, write_training

pytestmark = [pytest.mark.train, pytest.mark.mpi, pytest.mark.slow]

RUNS = 50


@pytest.fixture(scope="module")
def distribution(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site-packages")
    install(folder)
    return folder


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    """Runs of several ragged samples each, admitted and packed."""
    folder = tmp_path_factory.mktemp("campaign")
    writer = DatasetWriter(folder / "dataset", SCHEMA, samples_per_shard=64)
    for number in range(RUNS):
        identity = run_id("sequences", "1", {}, {"number": number})
        path = folder / f"{identity}.h5"
        write_run_file(path, SCHEMA, samples(number), (), {}, durable=False)
        judged = admit(path, SCHEMA)
        assert judged.ok, judged.reason
        writer.add_run(identity, path, content=judged.content)
    writer.flush()
    return folder / "dataset"


@pytest.fixture(scope="module")
def trained(tmp_path_factory, dataset, distribution) -> Path:
    out = tmp_path_factory.mktemp("training")
    train = {"epochs": 60, "batch_size": 16, "learning_rate": 0.03}
    job = write_training(out, dataset, 2, train, family="sequence_classifier", options={"width": 8}, members=2)
    done = run_training(job, 2, PYTHONPATH=f"{Path(__file__).parents[2]}:{distribution}")
    assert done.returncode == 0, done.output
    return out


def test_it_is_trained_validated_gated_and_promoted(tmp_path, monkeypatch, dataset, distribution, trained):
    monkeypatch.syspath_prepend(str(distribution))
    assert "sequence_classifier" in catalog.families()
    found = record(trained)
    assert found["domain"] is None
    assert [len(losses["epoch"]) > 0 for losses in found["training"]["losses"]] == [True, True]

    opened = Dataset.open(dataset)
    registry = Registry(tmp_path / "registry")
    version = registry.add(trained / "artifact", Lineage("sequences", opened.hash))
    predictor = Predictor.load(trained / "artifact")
    gate = Gate.of({"error_rate": {"max": 0.25}, "surprise_mean": {"max": 0.8}})
    judged = validate(
        predictor, opened, SPLIT, version=version, holdout_record=tmp_path / "holdout.json", gate=gate, resamples=50
    )
    verdict = judged.judge(gate)
    assert set(verdict.metrics) == {"error_rate", "surprise_mean", "surprise_max"}
    assert verdict.passed, verdict.metrics
    registry.promote(version, verdict)
    assert registry.current("sequences") == version

    # Sequences longer than any that was trained on are answered; the likelier class is the right one where it is plain.
    clear = Ragged.from_list([np.tile([2.0, -2.0], (40, 1)), np.tile([-2.0, 2.0], (2, 1))])
    assert (predictor.predict({"sequence": clear}).mean["first"] > 0.5).tolist() == [True, False]
