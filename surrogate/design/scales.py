"""How one input's values lie on the unit interval: the Scale protocol, linear and log10 scales.

Every scale maps the unit interval onto *canonical* values (12 significant digits, see `surrogate.core.identity`) and
back, so that `from_unit(to_unit(value)) == value` for every canonical value within the bounds.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surrogate.core.identity import canonical_float

LARGEST_BOUND = 1e300
SMALLEST_NUMBER = 1e-300
"""Real scales stay this far from where double precision ends."""


class Scale(Protocol):
    """One input's values and their places on the unit interval. Its values are float, int or str."""

    def canonical(self, value: Any) -> Any:
        """Return the value in its type and rounded; being out of bounds is no error.

        Raises:
            ValueError: If the value is not of the type; the message completes `must be …`.
        """
        ...

    def contains(self, value: Any) -> bool:
        """Return whether a canonical value is within the bounds."""
        ...

    def from_unit(self, unit: NDArray[np.float64]) -> list[Any]:
        """Map `[N]` numbers of [0, 1] to N canonical values."""
        ...

    def to_unit(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Map N canonical values to `[N]` float64; what is out of bounds leaves [0, 1]."""
        ...

    def level(self, index: int, levels: int) -> Any:
        """Return value number `index` of `levels` evenly spread ones that include both bounds."""
        ...


def finite_number(value: Any) -> float:
    """Return a number as a float.

    Args:
        value: int, float or a NumPy scalar of either; text and truth values are refused.

    Raises:
        ValueError: If it is none of these or not finite.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")  # noqa: TRY004 - the message is the caller's half sentence
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError("a finite number") from error
    if not math.isfinite(number):
        raise ValueError("a finite number")
    return number


def is_count(value: Any) -> bool:
    """Return whether a value is an int of at least 1 (a truth value is none)."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def whole_number(value: Any) -> int:
    """Return a whole number as an int; a float without fraction, such as 3.0, is one.

    Raises:
        ValueError: If it is not.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        number = finite_number(value)
    except ValueError as error:
        raise ValueError("a whole number") from error
    if not number.is_integer():
        raise ValueError("a whole number")
    return int(number)


class Linear:
    """Values spread evenly between two bounds.

    Values have 12 significant digits. Where the interval reaches below zero they have no more than 14 digits of the
    larger bound as well, and everywhere what is 300 orders of magnitude below it is zero: a finer distance from zero
    has no place of its own on the unit interval.
    """

    def __init__(self, low: float, high: float) -> None:
        """Take the bounds.

        Args:
            low: Smallest value, in the input's unit.
            high: Largest value, in the input's unit.

        Raises:
            ValueError: If a bound is no finite number, or is beyond ±1e300, or both are closer to zero than 1e-300.
        """
        low, high = finite_number(low), finite_number(high)
        size = max(abs(low), abs(high))
        if size > LARGEST_BOUND:
            raise ValueError("between −1e300 and 1e300")
        if 0 < size < SMALLEST_NUMBER:
            raise ValueError("at least 1e-300 in size")
        self._smallest = max(SMALLEST_NUMBER, size * SMALLEST_NUMBER)
        self._decimals = 13 - math.floor(math.log10(size)) if low < 0 and size > 0 else None
        self.low = self.canonical(low)
        self.high = self.canonical(high)

    def canonical(self, value: Any) -> float:
        """Return the rounded float; see `Scale.canonical`."""
        number = finite_number(value)
        if self._decimals is not None:
            number = round(number, self._decimals)
        if abs(number) < self._smallest:
            return 0.0
        return canonical_float(number)

    def contains(self, value: Any) -> bool:
        """Return whether the value is within the bounds, both included."""
        return bool(self.low <= value <= self.high)

    def from_unit(self, unit: NDArray[np.float64]) -> list[Any]:
        """Map `[N]` numbers of [0, 1] to N floats."""
        values = np.clip(self.low + unit * (self.high - self.low), self.low, self.high)
        return [self.canonical(value) for value in values.tolist()]

    def to_unit(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Map N floats to `[N]` float64."""
        return (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)

    def level(self, index: int, levels: int) -> float:
        """Return evenly spread value number `index`; a single level is the middle."""
        place = index / (levels - 1) if levels > 1 else 0.5
        value: float = self.from_unit(np.asarray([place]))[0]
        return value


class Log10:
    """Values whose logarithm is spread evenly between two positive bounds.

    Logarithm and power differ in the last bit from one machine to the next. Where that could decide the twelfth digit,
    the value is computed in decimal arithmetic instead, which is the same everywhere.
    """

    def __init__(self, low: float, high: float) -> None:
        """Take the bounds.

        Args:
            low: Smallest value, above 0, in the input's unit.
            high: Largest value, in the input's unit.

        Raises:
            ValueError: If a bound is not a finite number above 0, or is beyond 1e±300.
        """
        self.low, self.high = self.canonical(low), self.canonical(high)
        if min(self.low, self.high) <= 0:
            raise ValueError("above 0 on a log10 scale")
        if min(self.low, self.high) < SMALLEST_NUMBER or max(self.low, self.high) > LARGEST_BOUND:
            raise ValueError("between 1e-300 and 1e300 on a log10 scale")
        self._start = math.log10(self.low)
        self._length = math.log10(self.high) - self._start
        self._doubt = 2e-15 * (abs(self._start) + abs(self._start + self._length) + 2)

    def canonical(self, value: Any) -> float:
        """Return the rounded float; see `Scale.canonical`."""
        return canonical_float(finite_number(value))

    def contains(self, value: Any) -> bool:
        """Return whether the value is within the bounds, both included."""
        return bool(self.low <= value <= self.high)

    def from_unit(self, unit: NDArray[np.float64]) -> list[Any]:
        """Map `[N]` numbers of [0, 1] to N floats."""
        values = np.clip(10.0 ** (self._start + unit * self._length), self.low, self.high)
        return [self._settle(value, place) for value, place in zip(values.tolist(), unit.tolist(), strict=True)]

    def _settle(self, value: float, place: float) -> float:
        below, above = canonical_float(value * (1 - self._doubt)), canonical_float(value * (1 + self._doubt))
        if below == above:
            return above
        with decimal.localcontext(decimal.Context(prec=40)):
            part = decimal.Decimal(place)
            logarithm = decimal.Decimal(self.low).ln() * (1 - part) + decimal.Decimal(self.high).ln() * part
            exact = float(logarithm.exp())
        return canonical_float(min(max(exact, self.low), self.high))

    def to_unit(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Map N floats to `[N]` float64; a value that is not above 0 becomes −inf."""
        numbers = np.asarray(values, dtype=np.float64)
        positive = numbers > 0
        logarithms = np.log10(np.where(positive, numbers, 1.0))
        return np.where(positive, (logarithms - self._start) / self._length, -np.inf)

    def level(self, index: int, levels: int) -> float:
        """Return value number `index`, evenly spread in the logarithm; a single level is the middle."""
        place = index / (levels - 1) if levels > 1 else 0.5
        value: float = self.from_unit(np.asarray([place]))[0]
        return value
