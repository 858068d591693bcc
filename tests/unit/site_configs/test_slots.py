"""Runs of any size share a block: no node is given twice, the first comes first, the dead are struck out."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_configs.resources import ResourceRequest
from site_configs.slots import NodeSize, Slots
from surrogate.core.errors import ResourceError

HOSTS = ("n1", "n2")
ONE, TWO, ACROSS = ResourceRequest(1, 1, 1), ResourceRequest(1, 2, 2), ResourceRequest(2, 2, 4)


@pytest.fixture
def slots(tmp_path):
    return Slots(tmp_path / "slots.json", HOSTS, NodeSize(2, 1000, 2))


def test_small_runs_fill_one_node_before_they_touch_the_next(slots):
    with slots.take(ONE) as first, slots.take(ONE) as second, slots.take(ONE) as third:
        assert (first.hosts, second.hosts, third.hosts) == (("n1",), ("n1",), ("n2",))


def test_gpus_are_given_by_number_and_never_twice(slots):
    size = ResourceRequest(1, 1, 1, gpus_per_rank=1)
    with slots.take(size) as first, slots.take(size) as second:
        assert (first.gpus, second.gpus) == (((0,),), ((1,),))
    with slots.take(size) as again:
        assert again.gpus == ((0,),)


def test_memory_counts(slots):
    half = ResourceRequest(1, 1, 1, memory_per_rank_mib=600)
    with slots.take(half) as first, slots.take(half) as second:
        assert first.hosts != second.hosts


def test_what_can_never_fit_is_refused_instead_of_waited_for(slots):
    for size in (ResourceRequest(3, 1, 3), ResourceRequest(1, 3, 3), ResourceRequest(1, 1, 1, gpus_per_rank=3)):
        with pytest.raises(ResourceError, match="can never fit"), slots.take(size):
            pass


def test_a_large_run_is_not_starved_by_small_ones_that_come_later(slots):
    order = []

    def work(name: str, size: ResourceRequest, seconds: float) -> None:
        with slots.take(size):
            order.append(name)
            time.sleep(seconds)

    threads = []
    for name, size in (("small", ONE), ("large", ACROSS), ("later", ONE), ("last", ONE)):
        threads.append(threading.Thread(target=work, args=(name, size, 0.3)))
        threads[-1].start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert order[:2] == ["small", "large"]


def test_the_share_of_a_killed_worker_comes_back(slots, tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from site_configs.slots import *; "
        "from site_configs.resources import ResourceRequest\n"
        f"with Slots(Path(sys.argv[1]), {HOSTS!r}, NodeSize(2, 1000, 2)).take(ResourceRequest(2, 2, 4)):\n"
        "    print('taken', flush=True); time.sleep(60)"
    )
    worker = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "slots.json")], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    assert worker.stdout.readline() == b"taken\n"
    worker.kill()
    worker.wait()
    worker.stdout.close()
    with slots.take(ACROSS) as place:
        assert place.hosts == HOSTS


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([ONE, TWO, ACROSS, ResourceRequest(2, 1, 2)]), min_size=1, max_size=8))
def test_no_core_is_given_twice(sizes):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slots.json"
        slots = Slots(path, HOSTS, NodeSize(2))

        def work(size: ResourceRequest) -> None:
            with slots.take(size):
                used = dict.fromkeys(HOSTS, 0)
                for entry in json.loads(path.read_text())["held"]:
                    for host in entry["hosts"]:
                        used[host] += entry["cores"]
                seen.append(max(used.values()))

        seen: list[int] = []
        threads = [threading.Thread(target=work, args=(size,)) for size in sizes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == len(sizes)
        assert max(seen) <= 2
        assert json.loads(path.read_text())["held"] == []
