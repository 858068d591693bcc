"""The lease: one holder, numbers that only grow, dead holders succeeded, living ones respected."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from surrogate.core.claim import claims
from surrogate.core.errors import LockError
from surrogate.core.holder import Presence, process_start
from surrogate.core.lock import Lease, read_holder
from tests.support.leases import QUICK, names, only

HOLD = """
import sys, time
from pathlib import Path
from surrogate.core.lock import Lease
lease = Lease.acquire(Path(sys.argv[1]), "surrogate run other.toml")
print(lease.token, flush=True)
time.sleep(60)
"""


def start_holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip()
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def rewrite(path: Path, **changes: object) -> None:
    """Change fields of a claim's record as another process would have written them."""
    record = json.dumps({**json.loads(path.read_bytes().partition(b" ")[2]), **changes}).encode()
    path.write_bytes(b"%08x %b" % (zlib.crc32(record), record))


def elsewhere(folder: Path, **changes: object) -> Path:
    """Leave the claim of a holder on another host, which gives no sign of life by itself."""
    lease = Lease.acquire(folder, "surrogate run far.toml", background=False, **QUICK)
    path = only(folder)
    rewrite(path, boot_id="another", host="far", **changes)
    os.close(lease._handle)
    return path


def test_tokens_grow_and_the_number_survives_the_release(folder: Path) -> None:
    tokens = []
    for _ in range(3):
        with Lease.acquire(folder, "surrogate run a.toml") as lease:
            lease.check()
            tokens.append(lease.token)
    assert tokens == [1, 2, 3]
    assert names(folder) == ["00000003.released"]
    assert read_holder(folder) is None


def test_a_second_holder_is_told_who_since_when_and_what_to_do(folder: Path) -> None:
    with (
        Lease.acquire(folder, "surrogate run a.toml") as lease,
        pytest.raises(LockError, match=r"'surrogate run a\.toml' \(process \d+ of user .* on .*, since 20") as caught,
    ):
        Lease.acquire(folder, "surrogate run b.toml")
    assert f"kill -INT {lease.holder.pid}" in str(caught.value)


def test_a_released_lease_refuses_to_write(folder: Path) -> None:
    lease = Lease.acquire(folder, "a")
    lease.release()
    lease.release()
    with pytest.raises(LockError, match="was released"):
        lease.check()


def test_a_dead_holder_on_this_host_is_succeeded_at_once_even_as_a_zombie(folder: Path) -> None:
    process = start_holder(folder)
    with pytest.raises(LockError, match=f"process {process.pid}"):
        Lease.acquire(folder, "b")
    process.kill()
    while process_start(process.pid)[1] != "Z":
        pass
    with Lease.acquire(folder, "b", stale_s=1e6) as lease:
        assert lease.token == 2
    end(process)


def test_a_suspended_holder_is_respected_and_named(folder: Path) -> None:
    process = start_holder(folder)
    process.send_signal(signal.SIGSTOP)
    try:
        while process_start(process.pid)[1] != "T":
            pass
        with pytest.raises(LockError, match=f"suspended: let it go on with 'kill -CONT {process.pid}'"):
            Lease.acquire(folder, "b")
    finally:
        end(process)


def test_a_pid_that_is_used_again_is_not_mistaken_for_the_holder(folder: Path) -> None:
    lease = Lease.acquire(folder, "a", background=False)
    rewrite(only(folder), start_ticks=lease.holder.start_ticks - 1)
    with Lease.acquire(folder, "b") as second:
        assert second.token == 2
    with pytest.raises(LockError, match="taken over from this process, by: 'b'"):
        lease.check()
    lease.release()


def test_a_process_of_another_container_is_not_looked_for_here(folder: Path) -> None:
    lease = Lease.acquire(folder, "a", background=False)
    assert lease.holder.presence() is Presence.ALIVE
    rewrite(only(folder), namespace="pid:[1]")
    found = read_holder(folder)
    assert found is not None
    assert found[1] is Presence.ELSEWHERE
    lease.release()


def test_a_machine_that_was_started_again_has_ended_its_holder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surrogate.core.holder.machine", lambda: "this one")
    lease = Lease.acquire(folder, "a", background=False)
    rewrite(only(folder), boot_id="before")
    with Lease.acquire(folder, "b", stale_s=1e6) as second:
        assert second.token == 2
        for changes in ({"host": "twin"}, {"machine": "another"}, {"machine": ""}):
            rewrite(only(folder), **{"boot_id": "before", "machine": "this one", "host": second.holder.host, **changes})
            found = read_holder(folder)
            assert found is not None
            assert found[1] is Presence.ELSEWHERE
    os.close(lease._handle)


def test_what_killed_contenders_left_is_removed_when_it_is_old(folder: Path) -> None:
    folder.mkdir()
    old, new = folder / ".claim-far-1-a.part", folder / ".claim-far-2-b.part"
    old.touch()
    new.touch()
    os.utime(old, (1, 1))
    with Lease.acquire(folder, "a"):
        assert not old.exists()
        assert new.exists()


def test_a_process_that_hides_is_watched_instead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease.acquire(folder, "a", background=False)

    def hidden(pid: int) -> tuple[int, str]:
        raise PermissionError(pid)

    monkeypatch.setattr("surrogate.core.holder.process_start", hidden)
    assert lease.holder.presence() is Presence.ELSEWHERE
    monkeypatch.undo()
    lease.release()


@pytest.mark.parametrize("clock_s", [0, -86400, 86400], ids=["right", "set forward", "set back"])
def test_a_silent_holder_elsewhere_is_succeeded_whatever_the_clocks_say(folder: Path, clock_s: int) -> None:
    path = elsewhere(folder)
    when = path.stat().st_mtime_ns + clock_s * 10**9
    os.utime(path, ns=(when, when))
    told: list[str] = []
    with Lease.acquire(folder, "b", tell=told.append, **QUICK) as lease:
        assert lease.token == 2
    assert "heartbeat is watched" in told[0]


@pytest.mark.parametrize("clock_s", [0, -86400, 86400], ids=["right", "set forward", "set back"])
def test_a_beating_holder_elsewhere_is_respected_whatever_the_clocks_say(folder: Path, clock_s: int) -> None:
    path = elsewhere(folder)
    start = path.stat().st_mtime_ns + clock_s * 10**9
    os.utime(path, ns=(start, start))
    stop = threading.Event()

    def beat() -> None:
        count = 0
        while not stop.wait(0.02):
            count += 1
            os.utime(path, ns=(start + count, start + count))

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        with pytest.raises(LockError, match=r"far\.toml.* on far"):
            Lease.acquire(folder, "b", heartbeat_s=0.05, stale_s=10)
    finally:
        stop.set()
        thread.join()


def test_the_heartbeat_is_kept_up_in_the_background(folder: Path) -> None:
    with Lease.acquire(folder, "a", heartbeat_s=0.02):
        path = only(folder)
        os.utime(path, ns=(1, 1))
        for _ in range(1000):
            if path.stat().st_mtime_ns != 1:
                break
            threading.Event().wait(0.01)
        assert path.stat().st_mtime_ns > 1


def test_a_lock_that_was_removed_is_noticed_and_numbers_go_on(folder: Path) -> None:
    lease = Lease.acquire(folder, "a", background=False)
    only(folder).unlink()
    with pytest.raises(LockError, match="was removed while"):
        lease.check()
    with Lease.acquire(folder, "b", at_least=8) as second:
        assert second.token == 8
        second.raise_above(5)
        assert second.token == 8
        second.raise_above(40)
        assert second.token == 41
        second.check()
        assert list(claims(folder)) == [41]
    with pytest.raises(LockError):
        lease.check()
    lease.release()
    assert names(folder) == ["00000041.released"]
