"""Rows in batches: every rank takes the same number of steps, whatever the number of rows, and no row is left out.

All ranks draw the same order of all rows from the seed, and each takes its part of every batch. A batch that the rows
do not fill is padded with row 0 at weight 0; the gradients are sums over weighted rows divided by the weights of the
whole batch, so that padding changes nothing and two ranks with half a batch each do what one rank does with all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import TrainingError
from surrogate.models.protocols import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """One rank's part of consecutive batches.

    Attributes:
        index: `[steps, b]` int32, rows.
        weight: `[steps, b]` float32, 1 / (rows of the whole batch) for a row, 0 for padding.
    """

    index: NDArray[np.int32]
    weight: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How R rows are cut into batches over a number of ranks.

    Attributes:
        rows: Number of rows R.
        batch: Rows of a whole batch.
        ranks: Number of ranks.
    """

    rows: int
    batch: int
    ranks: int

    @classmethod
    def of(cls, rows: int, batch: int, ranks: int) -> BatchPlan:
        """Plan batches of at most `batch` rows.

        A batch larger than the data is cut to them, and batches are made as equal as they can be.

        Raises:
            TrainingError: If there are no rows.
        """
        if rows < 1:
            raise TrainingError("There is no row to train on: the training split is empty.")
        steps = -(-rows // min(batch, rows))
        return cls(rows, -(-rows // steps), ranks)

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return -(-self.rows // self.batch)

    @property
    def share(self) -> int:
        """Rows of one rank in a step, padding included."""
        return -(-self.batch // self.ranks)

    def cut(self, order: NDArray[np.int64], rank: int) -> Batches:
        """Return one rank's part of an epoch.

        Args:
            order: `[R]`, all rows in the order of this epoch; the same on every rank.
            rank: Which rank.
        """
        filled = np.full(self.steps * self.batch, -1, dtype=np.int64)
        filled[: self.rows] = order
        whole = np.full((self.steps, self.share * self.ranks), -1, dtype=np.int64)
        whole[:, : self.batch] = filled.reshape(self.steps, self.batch)
        real = whole >= 0
        weight = real / np.maximum(real.sum(axis=1, keepdims=True), 1)
        own = slice(rank * self.share, (rank + 1) * self.share)
        index = np.where(real, whole, 0)[:, own].astype(np.int32)
        return Batches(np.ascontiguousarray(index), np.ascontiguousarray(weight[:, own].astype(np.float32)))

    def epochs(self, seed: tuple[int, ...], first: int, count: int, rank: int) -> Batches:
        """Return one rank's part of epochs `first` … `first + count − 1`, one after the other.

        The order of an epoch depends on the seed and its number only, so that training can go on from any epoch.

        Args:
            seed: What fixes the orders.
            first: Number of the first epoch, from 0.
            count: Number of epochs.
            rank: Which rank.
        """
        parts = [
            self.cut(np.random.default_rng([*seed, epoch]).permutation(self.rows), rank)
            for epoch in range(first, first + count)
        ]
        return Batches(np.concatenate([part.index for part in parts]), np.concatenate([part.weight for part in parts]))

    def once(self, rank: int) -> Batches:
        """Return one rank's part of all rows in their own order, to evaluate them."""
        return self.cut(np.arange(self.rows, dtype=np.int64), rank)


def step_keys(seed: int, steps: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the seed of what a family draws in each step, `[S]` int32, not negative.

    Args:
        seed: The member's.
        steps: `[S]`, numbers of the steps from 0.
    """
    states = [np.random.SeedSequence([seed, step]).generate_state(1)[0] for step in steps.tolist()]
    return (np.asarray(states, dtype=np.uint32) >> 1).astype(np.int32)


def count_rows(rows: Rows) -> int:
    """Return the number of rows.

    Raises:
        TrainingError: If the arrays disagree about it, or there is none.
    """
    lengths = {name: len(array) for name, array in rows.items()}
    if len(set(lengths.values())) != 1:
        raise TrainingError(f"The model family gave arrays of different numbers of rows: {lengths}.")
    return next(iter(lengths.values()))


def check_finite(rows: Rows, what: str) -> None:
    """Refuse rows that hold NaN or infinity.

    Args:
        rows: The rows.
        what: Where they come from, for the sentence.

    Raises:
        TrainingError: Naming the array.
    """
    for name, array in rows.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TrainingError(
                f"The {what} rows hold numbers in '{name}' that are not finite after scaling. Look for inputs or "
                "outputs "
                "of extreme size in the data card."
            )
