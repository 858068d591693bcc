"""What Parsl's errors say of an execution that never came back: how the infrastructure lost it."""

from __future__ import annotations

from collections.abc import Callable

from surrogate.core.outcome import FailureKind


def loss_of(error: BaseException, end_of: Callable[[str], tuple[FailureKind, str]]) -> tuple[FailureKind, str] | None:
    """Return how an execution was lost by the infrastructure, or None when it failed of itself.

    Args:
        error: What its future raised.
        end_of: Returns what the scheduler says of the end of a manager's job: the kind of loss and a sentence, or an
            empty one.

    Returns:
        The kind of the loss and a sentence.
    """
    from parsl.executors.errors import BadStateException
    from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost

    if isinstance(error, WorkerLost):
        return FailureKind.NODE_LOST, f"The worker that executed the run died on host {error.hostname}."
    if isinstance(error, ManagerLost):
        kind, words = end_of(error.manager_id.decode(errors="replace"))
        return kind, words or f"The manager of the workers on host {error.hostname} was not heard of any more."
    if isinstance(error, BadStateException):
        return FailureKind.NODE_LOST, "Parsl ended while the run was with it."
    return None
