"""The job file: written, read, refused."""

from __future__ import annotations

import json

import pytest

from surrogate.core.errors import ConfigError, IntegrityError, SplitError
from surrogate.training.config import TrainConfig
from surrogate.training.job import TrainingJob, read_job, write_job
from tests.support.trainings import SPLIT


def job(**changes):
    return TrainingJob(**{"dataset": "../dataset", "split": SPLIT.to_json(), "family": "mlp", **changes})


def test_a_job_comes_back_with_absolute_paths(tmp_path):
    path = tmp_path / "training" / "job.json"
    write_job(path, job(options={"width": 8}, train=TrainConfig(ranks=2)))
    found = read_job(path)
    assert found.out == str(path.parent)
    assert found.dataset.endswith("training/../dataset")
    assert found.split_config() == SPLIT
    assert found.train.ranks == 2


def test_the_key_names_what_decides_the_result():
    same = [job(), job(out="/elsewhere"), job(dataset="/d"), job(train=TrainConfig(checkpoint_every_s=1, walltime_s=9))]
    assert len({each.key() for each in same}) == 1
    other = [job(), job(seed=1), job(members=2), job(options={"width": 8}), job(train=TrainConfig(epochs=7))]
    assert len({each.key() for each in other}) == 5


def test_an_unknown_key_is_refused(tmp_path):
    path = tmp_path / "job.json"
    path.write_text(json.dumps({**job().model_dump(mode="json"), "famly": "x"}))
    with pytest.raises(ConfigError, match="describes no training: famly"):
        read_job(path)


def test_a_newer_layout_is_refused(tmp_path):
    path = tmp_path / "job.json"
    path.write_text(json.dumps({**job().model_dump(mode="json"), "format": 9}))
    with pytest.raises(ConfigError, match="layout 9"):
        read_job(path)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00"])
def test_damaged_files_are_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "job.json"
    path.write_text(content)
    with pytest.raises((ConfigError, IntegrityError), match=str(path)):
        read_job(path)


def test_a_split_that_leaves_nothing_is_refused():
    with pytest.raises(SplitError):
        job(split={"salt": "s", "tune": 0.5, "holdout": 0.5}).split_config()
