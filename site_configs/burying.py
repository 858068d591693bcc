"""Parsl's interchange that is told which block is gone, and that takes a manager back that was only silent.

Imported in the interchange's process alone. A manager that was stopped for longer than its heartbeat (by a debugger, a
laptop's sleep, a file server that hung) is lost to Parsl for good: it stays unknown, and sits on its node without work
until it gives up by itself. What its workers do meanwhile is not lost: the driver finds it in the folders of the runs.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import zmq
from parsl.executors.high_throughput.interchange import Interchange

COMMAND = "BURY_BLOCK"


class BuryingInterchange(Interchange):
    """The interchange that knows which silent managers are dead."""

    command_channel: Any
    manager_sock: Any

    def __init__(self, **settings: Any) -> None:
        """Take Parsl's own settings."""
        super().__init__(**settings)
        self._silent: dict[bytes, tuple[Any, bool]] = {}

    def process_command(self, monitoring_radio: Any) -> None:
        """Answer one command, ours or one of Parsl's.

        Args:
            monitoring_radio: Parsl's, handed on.
        """
        if self.socks.get(self.command_channel) != zmq.POLLIN:
            return
        command = self.command_channel.recv_pyobj()
        if isinstance(command, list) and len(command) == 2 and command[0] == COMMAND:
            self._bury(command[1])
            self.command_channel.send_pyobj(None)
            return
        with self._reading_again("command_channel", command):
            super().process_command(monitoring_radio)

    def process_manager_socket_message(
        self, interesting_managers: set[bytes], monitoring_radio: Any, kill_event: threading.Event
    ) -> None:
        """Take in one message of a manager; one that was taken for dead is known again.

        Args:
            interesting_managers: Parsl's, managers to look at for work; handed on.
            monitoring_radio: Parsl's, handed on.
            kill_event: Parsl's, handed on.
        """
        if self.socks.get(self.manager_sock) != zmq.POLLIN:
            return
        parts = self.manager_sock.recv_multipart()
        name = parts[0]
        if name in self._silent:
            record, active = self._silent.pop(name)
            # What it had was given to others, or is waited for by the driver; its answers to that are not heard.
            record.update(tasks=[], active=active, last_heartbeat=time.time(), idle_since=time.time())
            self._ready_managers[name] = record
            interesting_managers.add(name)
        with self._reading_again("manager_sock", parts):
            super().process_manager_socket_message(interesting_managers, monitoring_radio, kill_event)

    def expire_bad_managers(self, interesting_managers: set[bytes], monitoring_radio: Any) -> None:
        """Count managers that have been silent for too long as lost, and remember those whose block may still be there.

        Args:
            interesting_managers: Parsl's, handed on.
            monitoring_radio: Parsl's, handed on.
        """
        before = {name: (record, record["active"]) for name, record in self._ready_managers.items()}
        super().expire_bad_managers(interesting_managers, monitoring_radio)
        for name in before.keys() - self._ready_managers.keys():
            if before[name][0]["last_heartbeat"]:
                self._silent[name] = before[name]

    def _bury(self, block: str) -> None:
        """Let the managers of a block be lost in this very round, for good."""
        for record in self._ready_managers.values():
            if record["block_id"] == block:
                # What has not been heard of since the epoch is expired.
                record["last_heartbeat"] = 0.0
        self._silent = {name: entry for name, entry in self._silent.items() if entry[0]["block_id"] != block}

    @contextlib.contextmanager
    def _reading_again(self, channel: str, message: Any) -> Iterator[None]:
        """Let Parsl read a message from a channel that was read from it already."""
        socket = getattr(self, channel)
        again = _Read(socket, message)
        setattr(self, channel, again)
        # Parsl finds its channel in the answers of the last poll.
        self.socks[again] = zmq.POLLIN
        try:
            yield
        finally:
            setattr(self, channel, socket)
            self.socks.pop(again, None)


class _Read:
    """A socket whose next message was read already and is read once more."""

    def __init__(self, socket: Any, message: Any) -> None:
        self._message = message
        self.send_pyobj, self.send_multipart = socket.send_pyobj, socket.send_multipart

    def recv_pyobj(self) -> Any:
        """Return the message, a Python object."""
        return self._message

    def recv_multipart(self) -> Any:
        """Return the message, in its parts."""
        return self._message
