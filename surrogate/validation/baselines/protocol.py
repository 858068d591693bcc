"""What a baseline must offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from surrogate.core.schema import SampleTable, Values
from surrogate.design.space import InputSpace


@dataclass(frozen=True, slots=True, eq=False)
class BaselineAnswer:
    """What a baseline says about N points.

    Attributes:
        mean: Output name → `[N, *shape]` float64, in the output's unit.
        std: Standard deviation that it claims, same shapes; zeros when it claims none.
        how: How it was fitted, as half a sentence for the report.
    """

    mean: dict[str, Values]
    std: dict[str, Values]
    how: str


class Baseline(Protocol):
    """A simple predictor."""

    @property
    def name(self) -> str:
        """Name in gates and reports."""
        ...

    @property
    def title(self) -> str:
        """What people call it."""
        ...

    def why_not(self, train: SampleTable, space: InputSpace | None) -> str | None:
        """Return why it cannot be fitted to such columns, as a sentence, or None when it can."""
        ...

    def fit(
        self, train: SampleTable, space: InputSpace | None, seed: int
    ) -> Callable[[Mapping[str, Values]], BaselineAnswer]:
        """Fit it on training rows and return what answers inputs (name → `[N, *shape]`)."""
        ...
