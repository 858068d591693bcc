"""The training program on MPI ranks with Horovod: one rank and two agree, faults end in sentences, work goes on."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from surrogate.core.shared_memory import segments_now, sweep_new
from surrogate.data.dataset import Dataset
from surrogate.inference.predictor import Predictor
from surrogate.training.progress import DISK_FULL, NAME, explain, read_progress
from tests.support.trainings import SPLIT, record, run_training, start_training, weights, write_dataset, write_training

pytestmark = [pytest.mark.train, pytest.mark.mpi, pytest.mark.slow]

REGISTERED = {"output_transform": "registered", "ask_along": "t"}
LONG = {"epochs": 100_000, "checkpoint_every_s": 0.01, "steps_per_call": 20}
SEGMENTS = segments_now()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("data") / "dataset")


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory, dataset) -> Path:
    out = tmp_path_factory.mktemp("one")
    job = write_training(out, dataset, 1, {"epochs": 120, "batch_size": 30}, options=REGISTERED)
    done = run_training(job, 1)
    assert done.returncode == 0, done.output
    return out


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory, dataset) -> Path:
    out = tmp_path_factory.mktemp("two")
    job = write_training(out, dataset, 2, {"epochs": 120, "batch_size": 30}, options=REGISTERED)
    done = run_training(job, 2, HOROVOD_TIMELINE=str(out / "timeline.json"))
    assert done.returncode == 0, done.output
    return out


def losses(out: Path) -> dict[str, np.ndarray]:
    found = record(out)["training"]["losses"][0]
    return {name: np.asarray(found[name]) for name in ("train", "tune")}


def wait_for(out: Path, event: str, process, seconds: float = 150) -> None:
    """Wait until the training has told of an event."""
    end = time.monotonic() + seconds
    while not any(found["event"] == event for found in read_progress(out)[0]):
        assert process.poll() is None, (out / "log.txt").read_text()
        assert time.monotonic() < end, f"no '{event}' in {seconds} s: {(out / 'log.txt').read_text()}"
        time.sleep(0.1)


def ranks_of(process) -> list[psutil.Process]:
    """Return the ranks that a launcher started."""
    children = psutil.Process(process.pid).children(recursive=True)
    ranks = [child for child in children if "surrogate.training.program" in " ".join(child.cmdline())]
    return sorted(ranks, key=lambda child: child.pid)


def ended_within(process, seconds: float) -> int:
    """Return the exit status of a training that must end; what is left of it is killed otherwise."""
    try:
        return process.wait(seconds)
    finally:
        for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            child.kill()
        process.kill()
        process.wait()
        sweep_new(SEGMENTS)


def test_one_rank_and_two_have_the_same_losses_and_they_fall(one_rank, two_ranks):
    alone, together = losses(one_rank), losses(two_ranks)
    for name in ("train", "tune"):
        np.testing.assert_allclose(together[name], alone[name], rtol=1e-4)
        assert alone[name][-1] < alone[name][0] / 10


def test_uneven_rows_are_all_trained_on(dataset, two_ranks):
    found = record(two_ranks)["training"]
    count = Dataset.open(dataset).counts(SPLIT)["train"].samples
    assert found["rows"] == 5 * count
    # Neither do the rows fill the last batch, nor does a batch divide over the ranks.
    assert found["batch"] * found["steps_per_epoch"] > found["rows"]
    assert found["batch"] % 2 == 1


def test_the_horovod_timeline_shows_the_allreduces(two_ranks):
    text = (two_ranks / "timeline.json").read_text().rstrip().rstrip(",")
    events = json.loads(text if text.endswith("]") else text + "]")
    names = [event.get("name", "") for event in events]
    assert sum(name == "MPI_ALLREDUCE" for name in names) >= record(two_ranks)["training"]["steps_per_epoch"] * 120
    assert record(two_ranks)["training"]["horovod"].startswith("horovod ")


def test_the_artifact_predicts_alike_in_both_runtimes(dataset, two_ranks):
    holdout = Dataset.open(dataset).load(SPLIT, "holdout")
    answers = [
        Predictor.load(two_ranks / "artifact", runtime=name).predict(holdout.inputs) for name in ("onnx", "tensorflow")
    ]
    np.testing.assert_allclose(answers[0].mean["u"], answers[1].mean["u"], atol=1e-4)
    truth = np.asarray(holdout.columns["u"])
    error = np.linalg.norm(answers[0].mean["u"] - truth) / np.linalg.norm(truth)
    assert error < 0.1
    assert ((answers[0].lower["u"] <= truth) & (truth <= answers[0].upper["u"])).mean() > 0.7


def test_a_finished_training_is_not_done_again(dataset, two_ranks):
    before = (two_ranks / "artifact" / "artifact.json").stat().st_mtime_ns
    assert run_training(two_ranks / "job.json", 1, timeout=60).returncode == 0
    assert (two_ranks / "artifact" / "artifact.json").stat().st_mtime_ns == before


def test_a_killed_rank_ends_the_job_and_the_next_start_goes_on_bit_by_bit(tmp_path, dataset, two_ranks):
    job = write_training(
        tmp_path, dataset, 2, {"epochs": 120, "batch_size": 30, "checkpoint_every_s": 1e-3}, options=REGISTERED
    )
    process = start_training(job, 2)
    wait_for(tmp_path, "checkpoint", process)
    ranks = ranks_of(process)
    assert len(ranks) == 2
    ranks[1].send_signal(signal.SIGKILL)
    status = ended_within(process, 60)
    assert status != 0
    assert not any(rank.is_running() for rank in ranks)
    sentence = str(explain(tmp_path, status))
    assert "one of its ranks was killed" in sentence or "does not answer" in sentence
    assert run_training(job, 2).returncode == 0, (tmp_path / "log.txt").read_text()
    events = [event for event in read_progress(tmp_path)[0] if event["event"] == "member"]
    assert events[-1]["epoch"] > 0
    for one, other in zip(weights(tmp_path), weights(two_ranks), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_rank_that_hangs_is_given_up(tmp_path, dataset):
    job = write_training(tmp_path, dataset, 2, {**LONG, "stall_seconds": 10})
    process = start_training(job, 2)
    wait_for(tmp_path, "epoch", process)
    ranks_of(process)[1].send_signal(signal.SIGSTOP)
    status = ended_within(process, 60)
    assert status != 0
    assert "Another rank of the training does not answer" in str(explain(tmp_path, status))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_ranks_that_are_asked_to_stop_leave_a_checkpoint(tmp_path, dataset, number):
    job = write_training(tmp_path, dataset, 2, LONG)
    process = start_training(job, 2)
    wait_for(tmp_path, "epoch", process)
    # One rank alone is asked: all agree.
    os.kill(ranks_of(process)[1].pid, number)
    assert ended_within(process, 60) == 75
    assert any(event["event"] == "drained" for event in read_progress(tmp_path)[0])
    assert list((tmp_path / "checkpoints").glob("checkpoint-*.ckpt"))


def test_programs_that_do_not_see_each_other_are_refused(tmp_path, dataset):
    job = write_training(tmp_path, dataset, 2)
    done = run_training(job, 1, timeout=60)
    assert done.returncode == 1
    assert "planned for 2 ranks, and its MPI world has 1" in done.output
    assert "planned for 2 ranks" in str(explain(tmp_path, done.returncode))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"family": "mpl"}, "no model family 'mpl'. Did you mean 'mlp'"),
        ({"options": {"depht": 2}}, "no options of the model family 'mlp': depht"),
        ({"options": {"ask_along": "time"}}, "asked along 'time'"),
        ({"stratum": "acquired"}, "0 samples to train"),
    ],
)
def test_a_job_that_cannot_be_done_ends_in_one_sentence(tmp_path, dataset, change, sentence):
    done = run_training(write_training(tmp_path, dataset, 1, **change), 1, timeout=100)
    assert done.returncode == 2
    assert sentence in done.output
    assert "Traceback" not in done.output


def test_another_dataset_than_planned_is_refused(tmp_path, dataset):
    done = run_training(write_training(tmp_path, dataset, 1, dataset_hash="0" * 64), 1, timeout=100)
    assert done.returncode == 1
    assert "was planned for the dataset 0000000000000000" in done.output


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_full_disk_ends_in_a_sentence(ranks, dataset, tmp_path):
    job = write_training(tmp_path, dataset, ranks)
    (tmp_path / NAME).symlink_to("/dev/full")
    done = run_training(job, ranks)
    assert done.returncode == DISK_FULL, done.output
    # A launcher may drop the last words of ranks that abort; the status says the same.
    assert ranks > 1 or "the disk is full" in done.output
    assert "Traceback" not in done.output
    assert "the disk is full" in str(explain(tmp_path, done.returncode))
