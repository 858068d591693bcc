"""Parsl's HighThroughputExecutor that survives the death of its interchange and tells broken blocks from lost ones.

Imported by `parsl_config` alone, so that describing a site loads no Parsl.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

import zmq
from parsl.executors import HighThroughputExecutor
from parsl.executors.errors import ExecutorError
from parsl.executors.high_throughput.errors import CommandClientTimeoutError
from parsl.jobs.errors import TooManyJobFailuresError
from parsl.jobs.states import JobState, JobStatus
from parsl.providers import LocalProvider

from surrogate.core.outcome import FailureKind

COMMAND_TIMEOUT_S = 5.0
START_LOOK_S = 0.2
BROKEN_AFTER = 3
POLL_S = 1.0
_TROUBLE = (JobState.FAILED, JobState.MISSING)


class InterchangeLostError(ExecutorError):
    """The interchange is gone: nothing that was submitted to it will answer."""


class ExecutorTroubleError(TooManyJobFailuresError):
    """Nothing more can be done on this site until a person mends it; the message is a sentence for that person."""


class BrokenBlocksError(ExecutorTroubleError):
    """Block after block ended before one of its workers had reported; the message ends with what the last one wrote."""


class LocalBlocks(LocalProvider):
    """Blocks on this machine, looked at every second instead of every five, and ended without `ps`."""

    @property
    def status_polling_interval(self) -> float:
        """Seconds between two looks."""
        return POLL_S

    def cancel(self, job_ids: Sequence[str]) -> list[bool]:
        """Ask the process groups of blocks to end.

        Args:
            job_ids: The blocks' jobs.

        Returns:
            True for each.
        """
        for job in job_ids:
            block = self.resources[job]
            block["cancelled"] = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(block["remote_pid"]), signal.SIGTERM)
        return [True] * len(job_ids)


class SupervisedExecutor(HighThroughputExecutor):
    """The executor with bounded waits.

    A command to a dead interchange blocks for ever in the original, and with it the shutdown.
    """

    _last_poll_time: float

    def start(self) -> None:
        """Start the interchange, and bound every later command to it."""
        super().start()
        self.command_client.run = functools.partial(self.command_client.run, timeout_s=COMMAND_TIMEOUT_S)

    def _start_local_interchange_process(self) -> None:
        """Start the interchange; one that dies on the way is noticed at once, where the original waits two minutes."""
        client = self.command_client
        ask, client.run = client.run, self._first_answer
        try:
            super()._start_local_interchange_process()
        finally:
            client.run = ask

    def _first_answer(self, message: object, max_retries: int = 0, timeout_s: float = 120.0) -> Any:
        """Return the interchange's answer to the first command.

        Raises:
            InterchangeLostError: If it ends meanwhile.
            CommandClientTimeoutError: If the time is up.
        """
        del max_retries
        socket, deadline, asked = self.command_client.zmq_socket, time.monotonic() + timeout_s, False
        while time.monotonic() < deadline:
            ready = socket.poll(1000.0 * START_LOOK_S, zmq.POLLIN if asked else zmq.POLLOUT)
            if ready and asked:
                return socket.recv_pyobj()
            if ready:
                socket.send_pyobj(message)
                asked = True
            elif not self.interchange_alive():
                raise InterchangeLostError(self, "its interchange ended before it had begun to work")
        raise CommandClientTimeoutError("Waiting for the first answer of the interchange")

    def poll_facade(self) -> None:
        """Look at the blocks when it is time; a clock that was set back does not put that off."""
        if time.time() < self._last_poll_time:
            self._last_poll_time = 0.0
        super().poll_facade()

    def interchange_alive(self) -> bool:
        """Tell whether the interchange still runs."""
        return self.interchange_proc is not None and self.interchange_proc.poll() is None

    def bury(self, block: str) -> None:
        """Tell the interchange that a block is gone, so that its runs are given to others at once.

        Args:
            block: Number of the block.
        """
        with contextlib.suppress(CommandClientTimeoutError):
            self.command_client.run(["BURY_BLOCK", block])

    def end_of(self, manager: str) -> tuple[FailureKind, str]:
        """Return how the block of a manager ended, where a scheduler says so, and a sentence; else an empty one.

        Args:
            manager: Name of the manager.
        """
        del manager
        return FailureKind.NODE_LOST, ""

    def retire(self, block: str) -> None:
        """Give a block nothing more to do; blocks without an end go on.

        Args:
            block: Number of the block.
        """

    def warn(self) -> bool:
        """Warn commands that they are to end; return whether anybody passes that on."""
        return False

    def give_up(self) -> None:
        """Fail everything that was submitted, and end the blocks, when the interchange is gone."""
        if not self.bad_state_is_set:
            self.set_bad_state_and_fail_all(InterchangeLostError(self, "its interchange is gone"))
        self.provider.cancel([self.blocks_to_job_id[block] for block, status in self._alive_blocks()])

    def _alive_blocks(self) -> list[tuple[str, JobStatus]]:
        """Return the blocks that had not ended when last looked at."""
        return [
            (block, status)
            for block, status in self.status_facade.items()
            if not status.terminal and block in self.blocks_to_job_id
        ]


def stop_when_broken(executor: SupervisedExecutor, status: Mapping[str, JobStatus]) -> None:
    """Refuse to go on when block after block ends before one of its workers has reported.

    A block that did work and was lost is another matter: it is replaced, however often that happens.

    Args:
        executor: The executor.
        status: Block → its state.
    """
    blocks = sorted(status, key=int)[-BROKEN_AFTER:]
    if len(blocks) < BROKEN_AFTER or any(status[block].state not in _TROUBLE for block in blocks):
        return
    if set(blocks).isdisjoint(executor.connected_blocks()):
        words = _last_words(status[blocks[-1]])
        executor.set_bad_state_and_fail_all(
            BrokenBlocksError(
                "The workers of the site end before they have done anything. Mend their environment. "
                f"The last one said: {words}"
            )
        )


def _last_words(status: JobStatus) -> str:
    """Return what a block wrote before it ended."""
    words = [status.stderr_summary or "", status.stdout_summary or "", status.message or ""]
    return next((word.strip() for word in words if word.strip()), "It wrote nothing.")
