"""Joining ranks: one process needs nothing, a wrong world is refused."""

from __future__ import annotations

import os
import sys

import pytest

from surrogate.core.errors import TrainingError
from surrogate.training import distributed


def test_one_process_needs_no_horovod(monkeypatch):
    monkeypatch.setitem(sys.modules, "horovod", None)
    group = distributed.join(1)
    assert (group.rank, group.size, group.library) == (0, 1, None)
    assert group.sums({"a": 1.5}) == {"a": 1.5}
    assert group.share_bytes(b"x") == b"x"
    assert group.sum_gradients((1, 2)) == [1, 2]
    group.close()


def test_a_world_of_another_size_is_refused(monkeypatch):
    monkeypatch.setattr(distributed, "_mpi_size", lambda: 1)
    with pytest.raises(TrainingError, match=r"planned for 2 ranks, and its MPI world has 1.*own mpiexec"):
        distributed.join(2)


def test_without_horovod_several_ranks_are_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(distributed, "_mpi_size", lambda: 2)
    monkeypatch.setitem(sys.modules, "horovod", None)
    with pytest.raises(TrainingError, match=r"`surrogate build-horovod`, or train with ranks = 1"):
        distributed.join(2)


def test_settings_of_the_user_stay(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("HOROVOD_", "OMP_", "OPENBLAS_", "KERAS_", "TF_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOROVOD_CYCLE_TIME", "3")
    distributed.prepare_environment(60, 2)
    assert os.environ["HOROVOD_CYCLE_TIME"] == "3"
    assert os.environ["HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"] == "240"
    assert os.environ["OMP_NUM_THREADS"] == "2"
    for name in ("HOROVOD_STALL_CHECK_TIME_SECONDS", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name)


def test_a_lost_rank_becomes_a_sentence_and_other_errors_stay():
    with (
        pytest.raises(TrainingError, match="Another rank of the training does not answer"),
        distributed.lost_ranks(45),
    ):
        raise RuntimeError("Horovod has been shut down.")
    with pytest.raises(ValueError, match="other"), distributed.lost_ranks(45):
        raise ValueError("other")
    with pytest.raises(TrainingError, match="Horovod is not built"), distributed.lost_ranks(45):
        raise TrainingError("Horovod is not built.")
