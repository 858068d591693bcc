"""What the members of an ensemble say together: mean and standard deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from surrogate.core.errors import TrainingError
from surrogate.core.schema import Values
from surrogate.models.values import flat, rebuild, same_layout


def combine(members: Sequence[Mapping[str, Values]]) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return the members' mean and standard deviation, output by output.

    The standard deviation is the unbiased one (ddof = 1) between members, and zero where there is one member only.
    It is accumulated by Welford's update (Technometrics 4, 1962), so that no stack of all members is held.

    Args:
        members: At least one member's outputs: name → `[N, *shape]`, or Ragged of N samples.

    Returns:
        (mean, std): each name → float64 values in the layout of the members.

    Raises:
        TrainingError: If there is no member, or two members disagree about a column's shape.
    """
    if not members:
        raise TrainingError("An ensemble without members predicts nothing.")
    mean: dict[str, Values] = {}
    std: dict[str, Values] = {}
    for name, first in members[0].items():
        centre = flat(first).astype(np.float64)
        spread = np.zeros_like(centre)
        for count, member in enumerate(members[1:], start=2):
            if name not in member or not same_layout(first, member[name]):
                raise TrainingError(f"Two members of one ensemble disagree about the shape of output '{name}'.")
            values = flat(member[name])
            step = values - centre
            centre += step / count
            spread += step * (values - centre)
        mean[name] = rebuild(first, centre)
        std[name] = rebuild(first, np.sqrt(spread / max(len(members) - 1, 1)))
    return mean, std
