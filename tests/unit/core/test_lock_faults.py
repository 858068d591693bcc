"""Leases on file systems that tear, fill up, lose answers or have no hard links; many contenders at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from surrogate.core import claim as claim_module
from surrogate.core.claim import read_claim
from surrogate.core.errors import LockError, StorageError
from surrogate.core.holder import Holder
from surrogate.core.lock import Lease
from tests.support.leases import QUICK, names, only


def test_every_flipped_byte_of_a_claim_leaves_its_living_holder_in_place(folder: Path) -> None:
    with Lease.acquire(folder, "a", heartbeat_s=0.01) as lease:
        path = only(folder)
        whole = path.read_bytes()
        for offset in range(len(whole)):
            damaged = bytearray(whole)
            damaged[offset] ^= 0x10
            path.write_bytes(damaged)
            assert read_claim(path, 1) == Holder(1, "")
        with pytest.raises(LockError, match="left no readable record"):
            Lease.acquire(folder, "b", heartbeat_s=0.01, stale_s=30)
        lease.check()


@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"00000000 {}"])
def test_a_claim_torn_by_a_power_cut_is_succeeded(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / "00000006.claim").write_bytes(content)
    with Lease.acquire(folder, "b", **QUICK) as lease:
        assert lease.token == 7


def test_many_contenders_one_winner_each_time(folder: Path) -> None:
    tokens: list[int] = []
    start = threading.Barrier(8)

    def contend() -> None:
        start.wait()
        for _ in range(5):
            try:
                lease = Lease.acquire(folder, "x", background=False)
            except LockError:
                continue
            tokens.append(lease.token)
            lease.check()
            lease.release()

    threads = [threading.Thread(target=contend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tokens
    assert len(set(tokens)) == len(tokens)


def test_a_slow_contender_cannot_take_a_number_that_was_used(folder: Path) -> None:
    folder.mkdir()
    (folder / "00000004.released").write_bytes(b"")
    assert not claim_module.make_claim(folder, Holder.here("slow", 5.0).numbered(4))
    assert not claim_module.make_claim(folder, Holder.here("slow", 5.0).numbered(3))
    assert names(folder) == ["00000004.released"]


def test_a_file_system_without_hard_links_is_served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    with Lease.acquire(folder, "a") as lease:
        lease.check()
        with pytest.raises(LockError):
            Lease.acquire(folder, "b")


def test_the_answer_to_a_link_that_was_lost_is_looked_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def lossy(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(os, "link", lossy)
    with Lease.acquire(folder, "a") as lease:
        assert lease.token == 1


def test_a_full_disk_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"disk is full.*Make room, then give the same command again"):
        Lease.acquire(folder, "a")
    assert names(folder) == []


def test_a_file_server_that_does_not_answer_refuses_the_commit_and_may_come_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lease.acquire(folder, "a", background=False) as lease:

        def broken(_: Path) -> list[str]:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(os, "listdir", broken)
            with pytest.raises(StorageError, match="Input/output error"):
                lease.check()
        lease.check()
