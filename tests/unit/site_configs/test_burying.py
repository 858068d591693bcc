"""Parsl's interchange as ours: what a manager of workers and the driver say to it over real sockets."""

from __future__ import annotations

import pickle
import time

import pytest
import zmq

pytestmark = pytest.mark.parsl

NAME, BLOCK = b"manager", "4"


@pytest.fixture
def interchange(tmp_path):
    from parsl.executors.high_throughput.manager_selector import RandomManagerSelector

    from site_configs.burying import BuryingInterchange

    made = BuryingInterchange(
        client_address="127.0.0.1", interchange_address="127.0.0.1", client_ports=(1, 2, 3), worker_port=None,
        worker_port_range=(20000, 32000), hub_address=None, hub_zmq_port=None, heartbeat_threshold=10,
        logdir=str(tmp_path), logging_level=30, manager_selector=RandomManagerSelector(), poll_period=10,
        cert_dir=None, run_id="0", log_config=None, _check_python_mismatch=False,
    )  # fmt: skip
    yield made
    made.zmq_context.destroy(linger=0)


@pytest.fixture
def manager(interchange):
    """The socket of a manager that has registered and has one task."""
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.IDENTITY, NAME)
    socket.connect(f"tcp://127.0.0.1:{interchange.worker_port}")
    facts = {
        "type": "registration", "python_v": "3.11.0", "parsl_v": "0", "block_id": BLOCK, "start_time": time.time(),
        "worker_count": 2, "max_capacity": 2, "hostname": "here", "packages": {},
    }  # fmt: skip
    say(interchange, socket, facts)
    interchange._ready_managers[NAME]["tasks"].append(7)
    yield socket
    context.destroy(linger=0)


def say(interchange, socket, message) -> set[bytes]:
    """Send a message and let the interchange take it in; return the managers that it wants to look at."""
    socket.send(pickle.dumps(message))
    assert interchange.manager_sock.poll(10_000)
    interchange.socks = {interchange.manager_sock: zmq.POLLIN}
    interesting: set[bytes] = set()
    interchange.process_manager_socket_message(interesting, None, None)
    return interesting


def expire(interchange) -> None:
    interchange.expire_bad_managers(set(), None)
    assert not interchange._ready_managers


def test_a_manager_that_is_heard_of_again_gets_work_again(interchange, manager):
    interchange._ready_managers[NAME]["last_heartbeat"] -= 11.0
    expire(interchange)
    assert say(interchange, manager, {"type": "heartbeat"}) == {NAME}
    assert manager.poll(10_000), "its heartbeat is answered"
    record = interchange._ready_managers[NAME]
    assert (record["tasks"], record["active"], record["block_id"]) == ([], True, BLOCK)
    interchange.expire_bad_managers(set(), None)
    assert NAME in interchange._ready_managers
    # Task 7 was given up for it; what it answers to that is heard by nobody.
    assert say(interchange, manager, {"type": "result", "task_id": 7}) == set()


def test_one_that_was_held_stays_held(interchange, manager):
    interchange._ready_managers[NAME].update(active=False, last_heartbeat=1.0)
    expire(interchange)
    say(interchange, manager, {"type": "heartbeat"})
    assert not interchange._ready_managers[NAME]["active"]


def test_one_whose_block_is_gone_stays_lost(interchange, manager):
    interchange._bury(BLOCK)
    expire(interchange)
    assert say(interchange, manager, {"type": "heartbeat"}) == set()
    assert not interchange._ready_managers


def test_one_whose_block_turns_out_to_be_gone_is_forgotten(interchange, manager):
    interchange._ready_managers[NAME]["last_heartbeat"] -= 11.0
    expire(interchange)
    interchange._bury(BLOCK)
    assert say(interchange, manager, {"type": "heartbeat"}) == set()
