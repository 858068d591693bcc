"""Which points a surrogate may be trusted at: the flag `in_domain` of every predicted row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Ragged, Values
from surrogate.design.space import InputSpace
from surrogate.models.domain import Domain, boxed, unit_coordinates
from surrogate.models.values import count_samples


def in_domain(space: InputSpace | None, domain: Domain | None, inputs: Mapping[str, Values]) -> NDArray[np.bool_]:
    """Return which rows lie in the declared space and within the reach of the training points.

    A space without a unit cube has no distances: there the space's own bounds decide alone. Without any space
    nothing is known against a point, and every row is in.

    Args:
        space: The declared space, or None.
        domain: Reach of the training points, or None.
        inputs: Checked inputs, name → `[N, ...]` or Ragged.

    Returns:
        `[N]` bool.
    """
    if space is None:
        return np.ones(count_samples(inputs), dtype=np.bool_)
    if domain is not None and boxed(space):
        return domain.contains(unit_coordinates(space, inputs))
    names = [column.name for column in space.columns]
    rows = range(count_samples(inputs))
    return np.asarray(
        [space.contains({name: _row(inputs[name], row) for name in names}) for row in rows], dtype=np.bool_
    )


def _row(values: Values, row: int) -> object:
    """Return one sample of a column: a Python scalar, or an array."""
    item = values[row]
    return item.item() if not isinstance(values, Ragged) and np.ndim(item) == 0 else item
