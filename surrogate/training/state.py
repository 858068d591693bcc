"""Where the training of a member is: epochs, losses, the best so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from numpy.typing import NDArray

Weights = list[NDArray[Any]]
"""All variables of a network, in Keras's order."""


@dataclass(slots=True)
class History:
    """Losses of one member, one entry a look at the tune rows.

    Attributes:
        epoch: Epochs done.
        train: Mean loss over the steps since the look before.
        tune: Mean loss over the tune rows.
        rate: Learning rate of the last step.
    """

    epoch: list[int] = field(default_factory=list)
    train: list[float] = field(default_factory=list)
    tune: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """Where a member's training is, apart from the weights and the optimiser.

    Attributes:
        member: Number of the member.
        epoch: Epochs done.
        epochs: Epochs that it is planned for; fewer than configured when time is short.
        spent: Seconds spent on this member.
        best: Smallest tune loss so far.
        best_epoch: Epochs that were done then.
        history: Losses.
    """

    member: int
    epoch: int = 0
    epochs: int = 0
    spent: float = 0.0
    best: float = math.inf
    best_epoch: int = 0
    history: History = field(default_factory=History)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping; an infinite loss is None."""
        return {**asdict(self), "best": None if math.isinf(self.best) else self.best}


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A trained member.

    Attributes:
        weights: All variables of the network, at the smallest tune loss.
        state: Where its training ended.
    """

    weights: Weights
    state: State


def state_from_json(record: Mapping[str, Any]) -> State:
    """Rebuild a state from `to_json`."""
    best = math.inf if record["best"] is None else float(record["best"])
    return State(**{**record, "best": best, "history": History(**record["history"])})
