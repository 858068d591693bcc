from __future__ import annotations

import sys

import pytest

from site_configs.parsl_config import parsl_config
from site_configs.resources import ResourceRequest
from site_configs.site import Site

pytestmark = pytest.mark.parsl


@pytest.fixture
def executor(tmp_path):
    size = ResourceRequest()
    made = parsl_config(Site(name="two", cores=2), tmp_path, [size]).executors[0]
    made.run_id, made.run_dir = "0", str(tmp_path)
    yield made
    made._result_queue_thread_exit.set()
    made._result_queue_thread.join(5.0)
    for socket in (made.outgoing_q.zmq_socket, made.incoming_q.results_receiver, made.command_client.zmq_socket):
        socket.close(linger=0)


@pytest.mark.timeout(60)
def test_an_interchange_that_dies_at_its_start_is_noticed_at_once(executor):
    from site_configs.executor import InterchangeLostError

    executor.interchange_launch_cmd = [sys.executable, "-c", "import sys; sys.stdin.buffer.read()"]
    with pytest.raises(InterchangeLostError, match="ended before it had begun"):
        executor.start()
    assert not executor.interchange_alive()
    executor.interchange_proc.wait()


def test_blocks_are_looked_at_although_the_clock_was_set_back(tmp_path, monkeypatch):
    made = parsl_config(Site(name="two", cores=2), tmp_path, [ResourceRequest()]).executors[0]
    looks = []
    monkeypatch.setattr(made, "status", lambda: looks.append(1) or {})
    made.poll_facade()
    made.poll_facade()
    assert len(looks) == 1
    made._last_poll_time += 3600.0
    made.poll_facade()
    assert len(looks) == 2
