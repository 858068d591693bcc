"""Parsl's interchange with one more command: a block whose job is over is lost at once, not when its silence shows.

Imported in the interchange's process alone.
"""

from __future__ import annotations

from typing import Any

import zmq
from parsl.executors.high_throughput.interchange import Interchange

COMMAND = "BURY_BLOCK"


class BuryingInterchange(Interchange):
    """The interchange that can be told which block is gone."""

    command_channel: Any

    def process_command(self, monitoring_radio: Any) -> None:
        """Answer one command, ours or one of Parsl's.

        Args:
            monitoring_radio: Parsl's, handed on.
        """
        if self.socks.get(self.command_channel) != zmq.POLLIN:
            return
        peeked = _Peeked(self.command_channel)
        command = peeked.recv_pyobj()
        if isinstance(command, list) and len(command) == 2 and command[0] == COMMAND:
            for manager in self._ready_managers.values():
                if manager["block_id"] == command[1]:
                    # What has not been heard of since the epoch is expired in this very round.
                    manager["last_heartbeat"] = 0.0
            self.command_channel.send_pyobj(None)
            return
        channel, self.command_channel = self.command_channel, peeked
        # Parsl finds its channel in the answers of the last poll.
        self.socks[peeked] = zmq.POLLIN
        try:
            super().process_command(monitoring_radio)
        finally:
            self.command_channel = channel
            self.socks.pop(peeked, None)


class _Peeked:
    """A socket whose next message was read already and is read once more."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket, self._read = socket, False
        self._message: Any = None

    def recv_pyobj(self) -> Any:
        """Return the message."""
        if not self._read:
            self._message, self._read = self._socket.recv_pyobj(), True
        return self._message

    def send_pyobj(self, reply: Any) -> None:
        """Send the reply."""
        self._socket.send_pyobj(reply)
