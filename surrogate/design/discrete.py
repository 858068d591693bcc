"""Scales of values that are counted: whole numbers, and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SpaceError
from surrogate.design.scales import whole_number

LARGEST_INTEGER = 2**50
"""Integers beyond this are not told apart by a position on the unit interval."""


class Integer:
    """Whole numbers between two bounds, both included; each owns an equal part of the unit interval."""

    def __init__(self, low: int, high: int) -> None:
        """Take the bounds.

        Args:
            low: Smallest value.
            high: Largest value.

        Raises:
            ValueError: If a bound is no whole number, or is beyond ±2⁵⁰.
        """
        self.low, self.high = whole_number(low), whole_number(high)
        if max(abs(self.low), abs(self.high)) > LARGEST_INTEGER:
            raise ValueError("at most 2⁵⁰ in size on an integer scale")

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1

    def canonical(self, value: Any) -> int:
        """Return the int; see `Scale.canonical`."""
        return whole_number(value)

    def contains(self, value: Any) -> bool:
        """Return whether the value is within the bounds, both included."""
        return bool(self.low <= value <= self.high)

    def from_unit(self, unit: NDArray[np.float64]) -> list[Any]:
        """Map `[N]` numbers of [0, 1] to N ints."""
        steps = np.minimum(np.floor(unit * self.size).astype(np.int64), self.size - 1)
        return [self.low + step for step in steps.tolist()]

    def to_unit(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Map N ints to `[N]` float64, the middle of each one's part."""
        return (np.asarray([value - self.low for value in values], dtype=np.float64) + 0.5) / self.size

    def level(self, index: int, levels: int) -> int:
        """Return evenly spread whole number `index`; a single level is the middle."""
        if levels == 1:
            return self.low + (self.high - self.low) // 2
        return self.low + (2 * index * (self.high - self.low) + levels - 1) // (2 * (levels - 1))


class Categorical:
    """One of a few words; each owns an equal part of the unit interval, in the order in which they are declared."""

    def __init__(self, choices: Sequence[Any]) -> None:
        """Take the words.

        Args:
            choices: At least one word, none twice.

        Raises:
            ValueError: If there is none, one is no text, or one appears twice.
        """
        if not choices:
            raise ValueError("given as a list with at least one word")
        for choice in choices:
            if not isinstance(choice, str) or not choice.strip():
                raise ValueError(f"words in quotation marks, and {choice!r} was found")
        if len(set(choices)) != len(choices):
            twice = next(choice for choice in choices if list(choices).count(choice) > 1)
            raise ValueError(f"different from each other, and {twice!r} appears twice")
        self.choices = tuple(choices)

    def canonical(self, value: Any) -> str:
        """Return the word; see `Scale.canonical`. A word that is no choice is an error: it has no place."""
        if not isinstance(value, str) or value not in self.choices:
            raise ValueError(f"one of {', '.join(map(repr, self.choices))}")
        return str(value)

    def contains(self, value: Any) -> bool:
        """Return whether the value is one of the words."""
        return value in self.choices

    def from_unit(self, unit: NDArray[np.float64]) -> list[Any]:
        """Map `[N]` numbers of [0, 1] to N words."""
        size = len(self.choices)
        return [self.choices[min(int(place * size), size - 1)] for place in unit.tolist()]

    def to_unit(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Map N words to `[N]` float64, the middle of each one's part.

        Raises:
            SpaceError: If a word is no choice.
        """
        places = {choice: (index + 0.5) / len(self.choices) for index, choice in enumerate(self.choices)}
        try:
            return np.asarray([places[value] for value in values], dtype=np.float64)
        except KeyError as error:
            raise SpaceError(f"{error.args[0]!r} is not one of {', '.join(map(repr, self.choices))}.") from error

    def level(self, index: int, levels: int) -> str:
        """Return word number `index`; `levels` is the number of words."""
        del levels
        word: str = self.choices[index]
        return word
